import NotibotProtocol
import Testing

struct NotificationTests {
  struct Vector: Decodable, CustomTestStringConvertible {
    struct Fields: Decodable {
      var app: String
      var title: String
      var text: String
      var timestamp: UInt32

      var notification: DisplayNotification {
        .init(app: app, title: title, text: text, timestamp: timestamp)
      }
    }

    var name: String
    var json: String
    var fields: Fields?
    var refused: String?
    var write: Fields?
    var isCut: Bool?

    var testDescription: String { name }
  }

  static let vectors: [Vector] = Vectors.load("notifications")

  @Test(arguments: vectors.filter { $0.fields != nil })
  func `is accepted`(vector: Vector) throws {
    let read = try DisplayNotification(parsing: [UInt8](hex: vector.json))
    let expected = try #require(vector.fields).notification
    #expect(read.hasSameScalars(as: expected))
    #expect(read.timestamp == expected.timestamp)
  }

  @Test(arguments: vectors.filter { $0.refused != nil })
  func `is refused with the reason`(vector: Vector) {
    let bytes = [UInt8](hex: vector.json)
    let error = #expect(throws: NotificationError.self) { try DisplayNotification(parsing: bytes) }
    #expect(error.map { String("\($0.reason.caseName)") } == vector.refused)
    #expect(error.map { (0...bytes.count).contains($0.offset) } == true)
  }

  @Test(arguments: vectors.filter { $0.write != nil })
  func `is written byte for byte`(vector: Vector) throws {
    let notification = try #require(vector.write).notification
    var bytes: [UInt8] = [0x12]
    let cut = notification.encode(into: &bytes)
    #expect(bytes == [0x12] + [UInt8](hex: vector.json))
    #expect((cut == .fields) == vector.isCut)
    #expect(notification.encoded() == [UInt8](hex: vector.json))
  }

  @Test func `U+0000 is written as U+FFFD, which cuts nothing`() throws {
    let notification = DisplayNotification(app: "a\0b", title: "", text: "\0", timestamp: 0)
    var bytes: [UInt8] = []
    #expect(notification.encode(into: &bytes) == .nothing)
    let read = try DisplayNotification(parsing: bytes)
    #expect(read == DisplayNotification(app: "a\u{FFFD}b", title: "", text: "\u{FFFD}", timestamp: 0))
    let long = DisplayNotification(
      app: "a\0b", title: "", text: String(repeating: "\0", count: 400), timestamp: 0)
    #expect(try DisplayNotification(parsing: long.encoded()).text.utf8.count <= 512)
    // Short enough for 512 bytes, and still too long for their own limits when they are written.
    let nulls = { (count: Int) in String(repeating: "\0", count: count) }
    let app = DisplayNotification(app: nulls(64), title: "", text: "", timestamp: 0)
    #expect(
      try DisplayNotification(parsing: app.encoded()).app == String(repeating: "\u{FFFD}", count: 20) + "…")
    let title = DisplayNotification(app: "", title: nulls(128), text: "", timestamp: 0)
    #expect(
      try DisplayNotification(parsing: title.encoded()).title == String(repeating: "\u{FFFD}", count: 41)
        + "…")
  }

  @Test func `JSON before the cut can be long, and is otherwise checked as strictly`() throws {
    let long = String(repeating: "x", count: 600)
    let json = #"{"app":"\#(long)","title":"\#(long)","text":"\#(long)","timestamp":1}"#
    let read = try DisplayNotification(parsingDetailed: Array(json.utf8))
    #expect(read == DisplayNotification(app: long, title: long, text: long, timestamp: 1))
    for (old, new, reason) in [
      ("\"title\"", "\"app\"", NotificationError.Reason.repeatedKey),
      (":1}", ":1.0}", .notAWholeNumber(key: "timestamp")),
      (":1}", ":1}x", .trailingBytes), (":1}", ":1,\"z\":[[[[[[[[[[[[1]]]]]]]]]]]]}", .tooDeep),
    ] {
      let error = #expect(throws: NotificationError.self) {
        try DisplayNotification(parsingDetailed: Array(json.replacing(old, with: new).utf8))
      }
      #expect(error?.reason == reason)
    }
  }

  @Test func `10 000 nested arrays are refused by length, and without that limit by depth`() {
    let deep = Array((#"{"a":"# + String(repeating: "[", count: 10_000)).utf8)
    #expect(throws: NotificationError(.tooLong(lengthBytes: 10_005), at: 512)) {
      try DisplayNotification(parsing: deep)
    }
    #expect(throws: NotificationError(.tooDeep, at: 12)) {
      try DisplayNotification(parsing: Array(deep[..<500]))
    }
  }

  @Test func `an error has its reason and position`() {
    let error = NotificationError(.missingKey("title"), at: 17)
    #expect(error.description == "the key 'title' is missing (at byte 18)")
  }

  @Test func `every cut of the sample is refused`() throws {
    let sample = try #require(NotificationTests.vectors.first)
    let bytes = [UInt8](hex: sample.json)
    for length in 0..<bytes.count {
      #expect(throws: NotificationError.self) { try DisplayNotification(parsing: Array(bytes[..<length])) }
    }
  }

  @Test(arguments: [31, 32, 33] as [UInt64])
  func `one changed byte never traps, and an accepted result is within its limits`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let samples = NotificationTests.vectors.filter { $0.fields != nil }.map { [UInt8](hex: $0.json) }
    for _ in 0..<20_000 {
      var bytes = samples[Int.random(in: samples.indices, using: &generator)]
      bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
      guard let read = try? DisplayNotification(parsing: bytes) else { continue }
      #expect(read.app.utf8.count <= 64 && read.title.utf8.count <= 128, "seed \(seed)")
    }
  }
}

extension DisplayNotification {
  /// Whether the strings are the same scalar by scalar; `==` takes composed and decomposed letters
  /// for one.
  func hasSameScalars(as other: DisplayNotification) -> Bool {
    app.unicodeScalars.elementsEqual(other.app.unicodeScalars)
      && title.unicodeScalars.elementsEqual(other.title.unicodeScalars)
      && text.unicodeScalars.elementsEqual(other.text.unicodeScalars)
  }
}

extension NotificationError.Reason {
  /// The case without its associated values.
  var caseName: String {
    switch self {
    case .tooLong: "tooLong"
    case .invalidUTF8: "invalidUTF8"
    case .byteOrderMark: "byteOrderMark"
    case .notAnObject: "notAnObject"
    case .unexpectedEnd: "unexpectedEnd"
    case .unexpectedByte: "unexpectedByte"
    case .controlCharacter: "controlCharacter"
    case .badEscape: "badEscape"
    case .loneSurrogate: "loneSurrogate"
    case .nullCharacter: "nullCharacter"
    case .tooDeep: "tooDeep"
    case .trailingBytes: "trailingBytes"
    case .repeatedKey: "repeatedKey"
    case .missingKey: "missingKey"
    case .wrongType: "wrongType"
    case .valueTooLong: "valueTooLong"
    case .notAWholeNumber: "notAWholeNumber"
    case .numberOutOfRange: "numberOutOfRange"
    case .valueNotAllowed: "valueNotAllowed"
    case .tooManyValues: "tooManyValues"
    }
  }
}

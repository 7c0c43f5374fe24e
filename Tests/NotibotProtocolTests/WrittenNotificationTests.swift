import NotibotProtocol
import Testing

/// Parsing the keys of NTF-20.
struct WrittenNotificationTests {
  /// A notification's JSON with further members behind the four.
  static func json(_ members: String) -> [UInt8] {
    Array(#"{"app":"a","title":"b","text":"c","timestamp":1\#(members)}"#.utf8)
  }

  static func read(_ members: String) throws -> WrittenNotification {
    try WrittenNotification(parsing: json(members), keys: .all)
  }

  static func refusal(of members: String) -> NotificationError.Reason? {
    do {
      _ = try WrittenNotification(parsing: json(members), keys: .all)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test func `the four keys alone have no identity and default details`() throws {
    let read = try Self.read("")
    #expect(read.identity == nil)
    #expect(read.notification == DisplayNotification(app: "a", title: "b", text: "c", timestamp: 1))
    #expect(read.notification.details.level == .active)
  }

  @Test func `every key is read`() throws {
    let read = try Self.read(
      #","id":4294967295,"rev":65535,"ev":"m","lvl":3,"cat":255,"grp":"g","act":["x","y"],"exp":5,"fl":3,"src":1"#
    )
    #expect(
      read.identity == NotificationIdentity(id: .max, revision: .max, change: .modified, source: 1))
    let details = read.notification.details
    #expect(details.level == .critical)
    #expect(details.category == 255)
    #expect(details.group == "g")
    #expect(details.actions == ["x", "y"])
    #expect(details.expires == 5)
    #expect(details.flags == 3)
  }

  @Test(
    arguments: [
      (#","id":1"#, NotificationIdentity(id: 1)),
      (#","id":1,"rev":0,"ev":"a""#, NotificationIdentity(id: 1)),
      (#","src":4294967295,"ev":"r","id":9"#, NotificationIdentity(id: 9, change: .removed, source: .max)),
      (#","i\u0064":1,"\u0065v":"\u0072""#, NotificationIdentity(id: 1, change: .removed)),
      (#", "rev" : 7 , "id" : 3 "#, NotificationIdentity(id: 3, revision: 7)),
    ])
  func `an identity is read in any order, with escapes and white space`(
    members: String, identity: NotificationIdentity
  ) throws {
    #expect(try Self.read(members).identity == identity)
  }

  @Test func `ev added is allowed without an identity`() throws {
    #expect(try Self.read(#","ev":"a""#).identity == nil)
  }

  @Test(arguments: [#","rev":0"#, #","rev":1"#, #","src":7"#, #","ev":"m""#, #","ev":"r""#])
  func `keys of an identity are refused without id`(members: String) {
    #expect(Self.refusal(of: members) == .missingKey("id"))
  }

  @Test(arguments: ["id", "rev", "lvl", "cat", "exp", "fl", "src"])
  func `an invalid number is refused`(key: String) {
    // With an id, so that nothing else is wrong.
    let id = key == "id" ? "" : #","id":1"#
    for value in [#""1""#, "true", "null", "[1]", "{}"] {
      #expect(
        Self.refusal(of: #"\#(id),"\#(key)":\#(value)"#) == .wrongType(key: key), "\(key) \(value)")
    }
    for value in ["-1", "-0", "1.0", "1e0"] {
      #expect(
        Self.refusal(of: #"\#(id),"\#(key)":\#(value)"#) == .notAWholeNumber(key: key), "\(key) \(value)")
    }
    #expect(Self.refusal(of: #"\#(id),"\#(key)":10x"#) != nil)
    #expect(Self.refusal(of: #"\#(id),"\#(key)":"#) != nil)
  }

  @Test(
    arguments: [
      ("id", 1, 4_294_967_295), ("rev", 0, 65_535), ("lvl", 0, 3), ("cat", 0, 255), ("exp", 0, 4_294_967_295),
      ("fl", 0, 255), ("src", 1, 4_294_967_295),
    ] as [(String, UInt64, UInt64)])
  func `a number has its range`(key: String, lowest: UInt64, highest: UInt64) {
    let id = key == "id" ? "" : #","id":1"#
    for value in [lowest, highest] { #expect(Self.refusal(of: #"\#(id),"\#(key)":\#(value)"#) == nil) }
    for value in [highest + 1, 99_999_999_999] {
      #expect(Self.refusal(of: #"\#(id),"\#(key)":\#(value)"#) == .numberOutOfRange(key: key))
    }
    if lowest == 1 {
      #expect(Self.refusal(of: #"\#(id),"\#(key)":0"#) == .numberOutOfRange(key: key))
    }
  }

  @Test(arguments: ["A", "", "ar", "x", "added", "\u{E4}"])
  func `an unknown ev is refused`(value: String) {
    #expect(Self.refusal(of: #","id":1,"ev":"\#(value)""#) == .valueNotAllowed(key: "ev"))
  }

  @Test(arguments: ["1", "null", "[]", "true"])
  func `strings are strings`(value: String) {
    #expect(Self.refusal(of: #","id":1,"ev":\#(value)"#) == .wrongType(key: "ev"))
    #expect(Self.refusal(of: #","grp":\#(value)"#) == .wrongType(key: "grp"))
  }

  @Test func `grp is at most 16 bytes, counted after unescaping`() throws {
    let sixteen = String(repeating: #"\u00e9"#, count: 8)
    #expect(try Self.read(#","grp":"\#(sixteen)""#).notification.details.group == "éééééééé")
    #expect(Self.refusal(of: #","grp":"\#(sixteen)x""#) == .valueTooLong(key: "grp", lengthBytes: 17))
  }

  @Test func `act is at most 4 strings of at most 24 bytes`() throws {
    let long = String(repeating: "x", count: 24)
    let read = try Self.read(#","act" : [ "\#(long)" , "" , "\"\\\n\u00e9\ud83d\ude00" , "d" ] "#)
    #expect(read.notification.details.actions == [long, "", "\"\\\n\u{E9}\u{1F600}", "d"])
    #expect(try Self.read(#","act":[]"#).notification.details.actions == [])
    #expect(Self.refusal(of: #","act":["\#(long)x"]"#) == .valueTooLong(key: "act", lengthBytes: 25))
    #expect(Self.refusal(of: #","act":["","","","",""]"#) == .tooManyValues(key: "act"))
    #expect(Self.refusal(of: #","act":["","","","",1]"#) == .tooManyValues(key: "act"))
  }

  @Test(
    arguments: [
      (#""x""#, .wrongType(key: "act")), ("{}", .wrongType(key: "act")), ("null", .wrongType(key: "act")),
      ("[1]", .wrongType(key: "act")), (#"["a",null]"#, .wrongType(key: "act")),
      (#"[["a"]]"#, .wrongType(key: "act")), (#"["a",]"#, .wrongType(key: "act")),
      (#"["a" "b"]"#, .unexpectedByte(0x22)), (#"["a"}"#, .unexpectedByte(0x7D)),
      (#"["\ud800"]"#, .loneSurrogate), (#"["\u0000"]"#, .nullCharacter),
    ] as [(String, NotificationError.Reason)])
  func `an act that is not a list of labels is refused`(value: String, reason: NotificationError.Reason) {
    #expect(Self.refusal(of: #","act":\#(value)"#) == reason)
  }

  @Test(arguments: ["id", "rev", "ev", "lvl", "cat", "grp", "act", "exp", "fl", "src"])
  func `a key twice is refused`(key: String) {
    let value = ["ev": #""a""#, "grp": #""g""#, "act": "[]"][key] ?? "1"
    let escaped = #"\u00\#(String(key.utf8.first ?? 0, radix: 16))\#(key.dropFirst())"#
    #expect(Self.refusal(of: #","\#(key)":\#(value),"\#(escaped)":\#(value)"#) == .repeatedKey)
  }

  @Test(arguments: [
    #","id":0,"rev":-1,"ev":"x""#, #","src":"me""#, #","rev":1"#, #","act":[1,2,3,4,5,6],"grp":{}"#,
    #","lvl":4,"cat":256,"fl":null,"exp":1.5"#, #","id":1,"ev":"r""#,
  ])
  func `optional keys that are not in use are ignored`(members: String) throws {
    let read = try WrittenNotification(parsing: Self.json(members), keys: .four)
    let plain = WrittenNotification(
      notification: DisplayNotification(app: "a", title: "b", text: "c", timestamp: 1))
    #expect(read == plain)
  }

  @Test func `an unknown key is ignored among those of NTF-20`() throws {
    let read = try Self.read(#","Id":2,"ID":"x","id":1,"levels":[[]],"":0"#)
    #expect(read.identity == NotificationIdentity(id: 1))
  }

  @Test func `JSON before the cut can be long, and is otherwise checked as strictly`() throws {
    let long = String(repeating: "x", count: 600)
    let json = Self.json(#","id":1,"grp":"\#(long)","act":["\#(long)"]"#)
    let read = try WrittenNotification(parsingUncut: json, keys: .all)
    #expect(read.notification.details.group == long)
    #expect(read.notification.details.actions == [long])
    #expect(throws: NotificationError.self) {
      try WrittenNotification(parsingUncut: Self.json(#","id":0"#), keys: .all)
    }
    #expect(throws: NotificationError.self) { try WrittenNotification(parsing: json, keys: .all) }
  }

  @Test(arguments: [71, 72] as [UInt64])
  func `one changed byte never traps, and an accepted result is within its limits`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let sample = Self.json(
      #","id":12,"rev":3,"ev":"m","lvl":2,"cat":9,"grp":"gr","act":["x\n","\u00e9"],"exp":77,"fl":1,"src":99"#
    )
    for _ in 0..<20_000 {
      var bytes = sample
      bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
      guard let read = try? WrittenNotification(parsing: bytes, keys: .all) else { continue }
      let details = read.notification.details
      #expect(details.group.utf8.count <= 16 && details.actions.count <= 4, "seed \(seed)")
      #expect(read.identity?.id != 0 && read.identity?.source != 0, "seed \(seed)")
    }
  }
}

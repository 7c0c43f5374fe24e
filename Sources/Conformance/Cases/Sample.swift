import SuiteWire

/// Notifications as literal JSON, except for the text that distinguishes them.
package enum Sample {
  /// A time of day, in seconds since 1970-01-01 UTC.
  package static let noon: UInt64 = 1_800_000_000

  /// A notification with a text; the text must need no escaping.
  package static func json(_ text: String) -> [UInt8] {
    Array("{\"app\":\"Rig\",\"title\":\"Suite\",\"text\":\"\(text)\",\"timestamp\":1234567890}".utf8)
  }

  /// A notification with a text that is already escaped.
  package static func text(_ escaped: String) -> String { String(decoding: json(escaped), as: UTF8.self) }

  /// A notification without identity that expires.
  package static func plain(expires: UInt64) -> [UInt8] {
    Array(
      "{\"app\":\"Rig\",\"title\":\"Suite\",\"text\":\"plain\",\"timestamp\":1234567890,\"exp\":\(expires)}"
        .utf8)
  }

  /// Text in which each byte of UTF-8 occurs, except for 0 and line ends: ASCII, then each byte
  /// that continues a character, and each that begins one.
  package static let everyByte: String = {
    var points = Array(0x01...0xBF).filter { $0 != 0x0A && $0 != 0x0D }
    points += stride(from: 0xC0, to: 0x800, by: 0x40)
    points += stride(from: 0x800, to: 0xD000, by: 0x1000)
    points += [0xD7FF, 0xE000, 0xF000] + stride(from: 0x10000, to: 0x110000, by: 0x40000)
    return String(String.UnicodeScalarView(points.compactMap { UnicodeScalar($0) }))
  }()

  /// The same characters, the last one first.
  package static let everyByteReversed = String(String.UnicodeScalarView(everyByte.unicodeScalars.reversed()))

  /// A notification of exactly `length` bytes, at least 64.
  package static func json(length: Int) -> [UInt8] {
    json(String(repeating: "x", count: max(0, length - json("").count)))
  }

  /// A notification with an identity; `more` are additional members, each with a comma before it.
  package static func json(id: UInt32, _ text: String = "identified", more: String = "") -> [UInt8] {
    let four = "\"app\":\"Rig\",\"title\":\"Suite\",\"text\":\"\(text)\",\"timestamp\":1234567890"
    return Array("{\(four),\"id\":\(id)\(more)}".utf8)
  }

  /// The removal of a notification, as a host writes it (NTF-24).
  package static func removal(id: UInt32, more: String = "") -> [UInt8] {
    let four = "\"app\":\"\",\"title\":\"\",\"text\":\"\",\"timestamp\":0"
    return Array("{\(four),\"id\":\(id),\"ev\":\"r\"\(more)}".utf8)
  }

  /// Whether a notification of Data reports that something happened to an item (NTF-11). Keys can
  /// be in any order.
  package static func isEvent(_ json: String, _ event: String, item: UInt32, action: UInt8? = nil) -> Bool {
    let members = EventMembers.parse(json)
    return members["\"ev\""] == "\"\(event)\"" && members["\"item\""] == "\(item)"
      && (action.map { members["\"act\""] == "\($0)" } ?? true)
  }
}

/// The members of a flat JSON object, as a notification of Data is one (NTF-11): in any order, with
/// white space and escapes anywhere. Values of other kinds are skipped.
package struct EventMembers {
  private let bytes: [UInt8]
  private var index = 0

  /// The members with their strings in quotes, unescaped; numbers as they are written. Empty if the
  /// text is not an object.
  package static func parse(_ json: String) -> [String: String] {
    var parser = EventMembers(bytes: Array(json.utf8))
    return parser.object() ?? [:]
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private mutating func object() -> [String: String]? {
    var members: [String: String] = [:]
    guard skip("{") else { return nil }
    while !skip("}") {
      guard members.isEmpty || skip(","), let key = string(), skip(":"), let value = value() else {
        return nil
      }
      members[key] = value
    }
    skipSpace()
    return index == bytes.count ? members : nil
  }

  private mutating func skipSpace() {
    while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
  }

  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  /// A string with its quotes, or the bytes up to the end of another value.
  private mutating func value() -> String? {
    skipSpace()
    if index < bytes.count, bytes[index] == UInt8(ascii: "\"") { return string() }
    let start = index
    var depth = 0
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        guard string() != nil else { return nil }
        continue
      case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), 0x20, 0x09, 0x0A, 0x0D:
        if depth == 0 { return index > start ? String(decoding: bytes[start..<index], as: UTF8.self) : nil }
        if [UInt8(ascii: "]"), UInt8(ascii: "}")].contains(bytes[index]) { depth -= 1 }
      case _: break
      }
      index += 1
    }
    return nil
  }

  private mutating func string() -> String? {
    guard skip("\"") else { return nil }
    var text = [UInt8(ascii: "\"")]
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      text.append(byte)
      if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\") else { continue }
      guard let character = escaped() else { return nil }
      text.removeLast()
      text += Array(String(character).utf8)
    }
    return nil
  }

  /// The character after a backslash; half a surrogate pair is U+FFFD.
  private mutating func escaped() -> Unicode.Scalar? {
    guard index < bytes.count else { return nil }
    let letter = Unicode.Scalar(bytes[index])
    index += 1
    let short: [Unicode.Scalar: Unicode.Scalar] = [
      "b": "\u{08}", "f": "\u{0C}", "n": "\n", "r": "\r", "t": "\t", "\"": "\"", "\\": "\\", "/": "/",
    ]
    guard letter == "u" else { return short[letter] }
    guard index + 4 <= bytes.count,
      let number = UInt32(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16)
    else { return nil }
    index += 4
    return Unicode.Scalar(number) ?? "\u{FFFD}"
  }
}

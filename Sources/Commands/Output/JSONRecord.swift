import SerialLink

/// One line of NDJSON, encoded by hand: a console at 3 Mbaud has 5000 lines per second.
struct JSONRecord {
  private var members: [(key: String, value: String)] = []

  mutating func add(_ key: String, _ value: String) { members.append((key, Self.quoted(value))) }

  mutating func add(_ key: String, _ value: String?) {
    if let value { add(key, value) }
  }

  mutating func add(_ key: String, _ value: some BinaryInteger) { members.append((key, "\(value)")) }

  mutating func add(_ key: String, _ value: Bool) { members.append((key, value ? "true" : "false")) }

  mutating func add(_ key: String, _ values: [String]) {
    members.append((key, "[" + values.map(Self.quoted).joined(separator: ",") + "]"))
  }

  /// A value that is JSON already.
  mutating func add(_ key: String, json: String) { members.append((key, json)) }

  /// The document, keys sorted, without a line end.
  func document() -> String {
    let sorted = members.sorted { $0.key < $1.key }
    return "{" + sorted.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
  }

  /// A JSON string without control sequences for a terminal.
  static func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy {
      $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && 0x20...0x7E ~= $0
    }
    if isPlain { return "\"\(text)\"" }
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += #"\""#
      case "\\": result += #"\\"#
      case let hidden where hidden.isHidden:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      case _: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

/// `text` as a JSON string, with its quotes. What controls a terminal, breaks a line or changes the
/// direction of text is escaped.
package func jsonString(_ text: String) -> String {
  var result = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": result += "\\\""
    case "\\": result += "\\\\"
    case "\n": result += "\\n"
    case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}"..."\u{202E}",
      "\u{2066}"..."\u{2069}", "\u{FEFF}":
      let digits = String(scalar.value, radix: 16)
      result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    case _: result.unicodeScalars.append(scalar)
    }
  }
  return result + "\""
}

extension JSONValue {
  /// The value on one line, keys in alphabetical order.
  package var line: String {
    switch self {
    case .null: "null"
    case .bool(let value): String(value)
    case .number(let value): whole.map { String($0) } ?? String(value)
    case .longNumber(let digits): digits
    case .string(let text): jsonString(text)
    case .array(let values): "[" + values.map(\.line).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { jsonString($0.key) + ":" + $0.value.line }
        .joined(separator: ",") + "}"
    }
  }

  /// A whole number; exact below 2⁵³.
  package static func whole(_ value: some BinaryInteger) -> JSONValue { .number(Double(value)) }
}

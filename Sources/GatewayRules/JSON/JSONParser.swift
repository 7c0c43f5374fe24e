/// Parses one JSON document of UTF-8; recursion is limited by `JSONValue.depthLimit`.
struct JSONParser {
  private let bytes: [UInt8]
  private let isLenient: Bool
  private var offset = 0

  init(_ bytes: [UInt8], isLenient: Bool) {
    self.bytes = bytes
    self.isLenient = isLenient
  }

  mutating func document() throws(InputProblem) -> JSONValue {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
    let value = try value(depth: 0)
    skipWhitespace()
    guard offset == bytes.count || isLenient else { throw problem("not JSON") }
    return value
  }

  private mutating func value(depth: Int) throws(InputProblem) -> JSONValue {
    skipWhitespace()
    switch peek() {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    case _: return try number()
    }
  }

  private mutating func object(depth: Int) throws(InputProblem) -> JSONValue {
    guard depth < JSONValue.depthLimit else { throw problem("nested too deep") }
    offset += 1
    var members: [String: JSONValue] = [:]
    skipWhitespace()
    if skip(UInt8(ascii: "}")) { return .object(members) }
    while true {
      skipWhitespace()
      let start = offset
      let key = try string()
      skipWhitespace()
      try expect(UInt8(ascii: ":"))
      let value = try value(depth: depth + 1)
      guard members.updateValue(value, forKey: key) == nil || isLenient else {
        throw InputProblem("a key stands twice", at: start)
      }
      skipWhitespace()
      if skip(UInt8(ascii: "}")) { return .object(members) }
      try expect(UInt8(ascii: ","))
    }
  }

  private mutating func array(depth: Int) throws(InputProblem) -> JSONValue {
    guard depth < JSONValue.depthLimit else { throw problem("nested too deep") }
    offset += 1
    var values: [JSONValue] = []
    skipWhitespace()
    if skip(UInt8(ascii: "]")) { return .array(values) }
    while true {
      values.append(try value(depth: depth + 1))
      skipWhitespace()
      if skip(UInt8(ascii: "]")) { return .array(values) }
      try expect(UInt8(ascii: ","))
    }
  }

  private mutating func string() throws(InputProblem) -> String {
    try expect(UInt8(ascii: "\""))
    var text: [UInt8] = []
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        offset += 1
        text += Array(String(Character(try escape())).utf8)
      case 0..<0x20: throw problem("not JSON")
      case _:
        text.append(byte)
        offset += 1
      }
    }
    throw problem("not JSON")
  }

  private mutating func escape() throws(InputProblem) -> Unicode.Scalar {
    guard let letter = peek() else { throw problem("not JSON") }
    offset += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try unicodeEscape()
    case _: throw problem("not JSON")
    }
  }

  private mutating func unicodeEscape() throws(InputProblem) -> Unicode.Scalar {
    let first = try codeUnit()
    guard UTF16.isLeadSurrogate(first), offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"),
      bytes[offset + 1] == UInt8(ascii: "u")
    else { return first == 0 ? "\u{FFFD}" : Unicode.Scalar(first) ?? "\u{FFFD}" }
    let afterFirst = offset
    offset += 2
    let second = try codeUnit()
    guard UTF16.isTrailSurrogate(second) else {
      offset = afterFirst
      return "\u{FFFD}"
    }
    let value = 0x1_0000 + (UInt32(first) - 0xD800) << 10 + UInt32(second) - 0xDC00
    return Unicode.Scalar(value) ?? "\u{FFFD}"
  }

  private mutating func codeUnit() throws(InputProblem) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek(), let digit = hexDigit(byte) else { throw problem("not JSON") }
      value = value << 4 | UInt16(digit)
      offset += 1
    }
    return value
  }

  private mutating func number() throws(InputProblem) -> JSONValue {
    let start = offset
    _ = skip(UInt8(ascii: "-"))
    if !skip(UInt8(ascii: "0")) { try digits() }
    if skip(UInt8(ascii: ".")) { try digits() }
    if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
      _ = skip(UInt8(ascii: "+")) || skip(UInt8(ascii: "-"))
      try digits()
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    let isWhole = text.utf8.allSatisfy { isDigit($0) || $0 == UInt8(ascii: "-") }
    guard let value = Double(text), value.isFinite, !isWhole || abs(value) < JSONValue.wholeLimit else {
      return .longNumber(text)
    }
    return .number(value)
  }

  private mutating func digits() throws(InputProblem) {
    guard let first = peek(), isDigit(first) else { throw problem("not JSON") }
    while let byte = peek(), isDigit(byte) { offset += 1 }
  }

  private mutating func literal(
    _ word: String, _ value: JSONValue
  ) throws(InputProblem) -> JSONValue {
    for byte in word.utf8 { try expect(byte) }
    return value
  }

  private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private func peek() -> UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func skip(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    offset += 1
    return true
  }

  private mutating func expect(_ byte: UInt8) throws(InputProblem) {
    guard skip(byte) else { throw problem("not JSON") }
  }

  private mutating func skipWhitespace() {
    while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
  }

  private func problem(_ reason: String) -> InputProblem { InputProblem(reason, at: offset) }
}

/// The value of an ASCII hexadecimal digit.
func hexDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  case _: nil
  }
}

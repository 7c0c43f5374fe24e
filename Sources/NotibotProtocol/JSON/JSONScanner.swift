/// The tokens of JSON over bytes that are known to be UTF-8. Source: RFC 8259.
struct JSONScanner {
  typealias Text = JSONObjectReader.Text
  typealias Key = JSONObjectReader.Key

  private let bytes: [UInt8]
  private(set) var offset = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isAtEnd: Bool { offset == bytes.count }

  static func isDigit(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "0") < 10
  }

  /// The byte at this position, or nil at the end.
  func peek() -> UInt8? {
    offset < bytes.count ? bytes[offset] : nil
  }

  /// Skips `byte` if it is at this position.
  @inline(__always)
  mutating func skip(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    offset += 1
    return true
  }

  /// Skips `byte`, which must be at this position.
  @inline(__always)
  mutating func expect(_ byte: UInt8) throws(NotificationError) {
    guard skip(byte) else { throw unexpected() }
  }

  mutating func skipWhitespace() {
    while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
  }

  /// Skips a string and checks it.
  mutating func text() throws(NotificationError) -> Text {
    try expect(UInt8(ascii: "\""))
    let start = offset
    var hasEscapes = false
    while true {
      offset = bytes.span.bytes.firstSpecialInString(from: offset)
      guard offset < bytes.count else { throw unexpected() }
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        offset += 1
        return Text(range: start..<(offset - 1), hasEscapes: hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        _ = try escape()
      case 0..<0x20:
        throw NotificationError(.controlCharacter, at: offset)
      default:
        offset += 1
      }
    }
  }

  /// Skips an escape, and returns its scalar.
  private mutating func escape() throws(NotificationError) -> Unicode.Scalar {
    let start = offset
    offset += 1
    guard let letter = peek() else { throw unexpected() }
    offset += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): break
    default: throw NotificationError(.badEscape, at: start)
    }
    let first = try codeUnit(escapeAt: start)
    guard first != 0 else { throw NotificationError(.nullCharacter, at: start) }
    if let scalar = Unicode.Scalar(first) { return scalar }
    // A surrogate: a high one with a low one behind it, or nothing.
    guard UTF16.isLeadSurrogate(first), skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) else {
      throw NotificationError(.loneSurrogate, at: start)
    }
    let second = try codeUnit(escapeAt: start)
    guard UTF16.isTrailSurrogate(second),
      let scalar = Unicode.Scalar(0x1_0000 + (UInt32(first) - 0xD800) << 10 + UInt32(second) - 0xDC00)
    else { throw NotificationError(.loneSurrogate, at: start) }
    return scalar
  }

  /// Skips four hexadecimal digits.
  private mutating func codeUnit(escapeAt start: Int) throws(NotificationError) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek() else { throw unexpected() }
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw NotificationError(.badEscape, at: start)
      }
      value = value << 4 | UInt16(digit)
      offset += 1
    }
    return value
  }

  /// Skips a number and checks it; returns its digits if it consists of digits only.
  mutating func number() throws(NotificationError) -> Range<Int>? {
    let isNegative = skip(UInt8(ascii: "-"))
    let start = offset
    if !skip(UInt8(ascii: "0")) { try digits() }
    let end = offset
    if skip(UInt8(ascii: ".")) { try digits() }
    if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
      _ = skip(UInt8(ascii: "+")) || skip(UInt8(ascii: "-"))
      try digits()
    }
    return isNegative || offset != end ? nil : start..<end
  }

  /// Skips one digit or more.
  private mutating func digits() throws(NotificationError) {
    guard let first = peek(), JSONScanner.isDigit(first) else { throw unexpected() }
    while let byte = peek(), JSONScanner.isDigit(byte) { offset += 1 }
  }

  /// The value of digits, or nil above 4294967295.
  func value(of digits: Range<Int>) -> UInt32? {
    guard digits.count <= 10 else { return nil }
    var value: UInt64 = 0
    for index in digits { value = value * 10 + UInt64(bytes[index] - UInt8(ascii: "0")) }
    return UInt32(exactly: value)
  }

  /// Skips a value and checks it. `depth` objects and arrays are open around it.
  mutating func skipValue(depth: Int) throws(NotificationError) {
    var open: [UInt8] = []  // The closing bytes of the open objects and arrays, at most 8.
    repeat {
      skipWhitespace()
      switch peek() {
      case UInt8(ascii: "\""): _ = try text()
      case UInt8(ascii: "t"): try literal("true")
      case UInt8(ascii: "f"): try literal("false")
      case UInt8(ascii: "n"): try literal("null")
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        guard depth + open.count < NotificationLimits.depth else {
          throw NotificationError(.tooDeep, at: offset)
        }
        if try enter(&open) { continue }
      default: _ = try number()
      }
      try leave(&open)
    } while !open.isEmpty
  }

  /// Opens an object or array; true if a value follows, false if it is empty.
  private mutating func enter(_ open: inout [UInt8]) throws(NotificationError) -> Bool {
    let isObject = skip(UInt8(ascii: "{"))
    if !isObject { try expect(UInt8(ascii: "[")) }
    let closing = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
    skipWhitespace()
    if skip(closing) { return false }
    open.append(closing)
    if isObject { try memberName() }
    return true
  }

  /// After a value: skips closing bytes, up to and including the comma before the next value.
  private mutating func leave(_ open: inout [UInt8]) throws(NotificationError) {
    while let closing = open.last {
      skipWhitespace()
      if skip(closing) {
        open.removeLast()
        continue
      }
      try expect(UInt8(ascii: ","))
      skipWhitespace()
      if closing == UInt8(ascii: "}") { try memberName() }
      return
    }
  }

  private mutating func memberName() throws(NotificationError) {
    _ = try text()
    skipWhitespace()
    try expect(UInt8(ascii: ":"))
  }

  private mutating func literal(_ word: StaticString) throws(NotificationError) {
    for byte in word.description.utf8 { try expect(byte) }
  }

  /// The error for the byte at this position.
  private func unexpected() -> NotificationError {
    guard let byte = peek() else { return NotificationError(.unexpectedEnd, at: offset) }
    return NotificationError(.unexpectedByte(byte), at: offset)
  }
}

extension JSONScanner {
  /// The unescaped string of `text`.
  func string(of text: Text) -> String {
    String(decoding: text.hasEscapes ? unescaped(text)[...] : bytes[text.range], as: UTF8.self)
  }

  /// Skips a key and checks it.
  mutating func key() throws(NotificationError) -> Key {
    let text = try text()
    guard text.hasEscapes else {
      return Key(text: text, count: text.range.count, head: bytes.span.bytes.head(of: text.range))
    }
    let letters = unescaped(text)
    return Key(text: text, count: letters.count, head: letters.span.bytes.head(of: letters.indices))
  }

  /// Whether two keys have the same unescaped characters.
  func areEqual(_ left: Key, _ right: Key) -> Bool {
    left.head == right.head && left.count == right.count
      && (left.count <= 8 || unescaped(left.text) == unescaped(right.text))
  }

  /// Whether a key is `name` when unescaped.
  @inline(__always)
  func isKey(_ key: Key, equalTo name: StaticString) -> Bool {
    guard key.count == name.utf8CodeUnitCount else { return false }
    return name.withUTF8Buffer { letters in
      var head: UInt64 = 0
      for index in 0..<min(8, letters.count) { head |= UInt64(letters[index]) << UInt64(8 * index) }
      guard key.head == head, letters.count > 8 else { return key.head == head }
      guard !key.text.hasEscapes else { return unescaped(key.text).elementsEqual(letters) }
      return letters.indices.dropFirst(8).allSatisfy { bytes[key.text.range.lowerBound + $0] == letters[$0] }
    }
  }

  /// The unescaped bytes of a string whose escapes `text()` has checked, so that none of them
  /// throws here.
  private func unescaped(_ text: Text) -> [UInt8] {
    guard text.hasEscapes else { return Array(bytes[text.range]) }
    var scanner = self
    scanner.offset = text.range.lowerBound
    var result: [UInt8] = []
    result.reserveCapacity(text.range.count)
    while scanner.offset < text.range.upperBound {
      if bytes[scanner.offset] == UInt8(ascii: "\\"), let scalar = try? scanner.escape() {
        result.append(contentsOf: Character(scalar).utf8)
      } else {
        result.append(bytes[scanner.offset])
        scanner.offset += 1
      }
    }
    return result
  }
}

/// Reads the members of one JSON object in order, in one pass, without recursion and within limits.
///
/// After `nextKey()` gave a key, take its value by exactly one of `string(key:)`,
/// `strings(key:limit:)`, `wholeNumber(key:)`, `wholeNumberIfAny()` and `skipValue()`. Refuses what
/// NTF-4 refuses. Source: RFC 8259; PROTOCOL.md NTF-4.
struct JSONObjectReader {
  /// A string between its quotes, checked.
  struct Text {
    var range: Range<Int>
    var hasEscapes: Bool
  }

  /// A key, and what its unescaped bytes are.
  struct Key {
    var text: Text
    var count: Int
    /// The first eight, the first one least significant; zeros behind a shorter one.
    var head: UInt64
  }

  private var scanner: JSONScanner
  private var keys: [Key] = []
  /// A bit for each key; two keys can have the same.
  private var bits: UInt64 = 0

  /// Checks size and UTF-8, and enters the object.
  init(
    _ bytes: [UInt8], limitBytes: Int = NotificationLimits.jsonBytes
  ) throws(NotificationError) {
    guard bytes.count <= limitBytes else {
      throw NotificationError(.tooLong(lengthBytes: bytes.count), at: limitBytes)
    }
    do {
      _ = try UTF8Span(validating: bytes.span)
    } catch {
      throw NotificationError(.invalidUTF8, at: error.byteOffsets.lowerBound)
    }
    guard bytes.count < 3 || bytes[0] != 0xEF || bytes[1] != 0xBB || bytes[2] != 0xBF else {
      throw NotificationError(.byteOrderMark, at: 0)
    }
    scanner = JSONScanner(bytes)
    scanner.skipWhitespace()
    guard scanner.skip(UInt8(ascii: "{")) else { throw NotificationError(.notAnObject, at: scanner.offset) }
    keys.reserveCapacity(8)
  }

  /// The reader's position, in bytes.
  var offset: Int { scanner.offset }

  /// The next key, or nil after the last one, if only white space follows the object.
  mutating func nextKey() throws(NotificationError) -> Key? {
    scanner.skipWhitespace()
    if scanner.skip(UInt8(ascii: "}")) {
      scanner.skipWhitespace()
      guard scanner.isAtEnd else { throw NotificationError(.trailingBytes, at: scanner.offset) }
      return nil
    }
    if !keys.isEmpty {
      try scanner.expect(UInt8(ascii: ","))
      scanner.skipWhitespace()
    }
    let start = scanner.offset
    let key = try scanner.key()
    let bit: UInt64 = 1 << ((key.head &* 0x9E37_79B9_7F4A_7C15) >> 58)
    guard bits & bit == 0 || !keys.contains(where: { scanner.areEqual($0, key) }) else {
      throw NotificationError(.repeatedKey, at: start)
    }
    bits |= bit
    keys.append(key)
    scanner.skipWhitespace()
    try scanner.expect(UInt8(ascii: ":"))
    scanner.skipWhitespace()
    return key
  }

  /// Whether a key that `nextKey()` gave is `name`, also when it is written with escapes.
  @inline(__always)
  func key(_ key: Key, is name: StaticString) -> Bool {
    scanner.isKey(key, equalTo: name)
  }

  /// The string at this position.
  mutating func string(key: String) throws(NotificationError) -> String {
    guard scanner.peek() == UInt8(ascii: "\"") else {
      throw NotificationError(.wrongType(key: key), at: offset)
    }
    return scanner.string(of: try scanner.text())
  }

  /// The number at this position: digits only, at most 4294967295.
  mutating func wholeNumber(key: String) throws(NotificationError) -> UInt32 {
    let start = offset
    guard let first = scanner.peek(), first == UInt8(ascii: "-") || JSONScanner.isDigit(first) else {
      throw NotificationError(.wrongType(key: key), at: start)
    }
    let digits = try scanner.number()
    guard let digits else { throw NotificationError(.notAWholeNumber(key: key), at: start) }
    guard let value = scanner.value(of: digits) else {
      throw NotificationError(.numberOutOfRange(key: key), at: start)
    }
    return value
  }

  /// The number at this position if `wholeNumber(key:)` accepts it; any other value is skipped and
  /// checked.
  mutating func wholeNumberIfAny() throws(NotificationError) -> UInt32? {
    guard let first = scanner.peek(), first == UInt8(ascii: "-") || JSONScanner.isDigit(first) else {
      try skipValue()
      return nil
    }
    return try scanner.number().flatMap { scanner.value(of: $0) }
  }

  /// The array of at most `limit` strings at this position.
  mutating func strings(key: String, limit: Int) throws(NotificationError) -> [String] {
    let start = offset
    guard scanner.skip(UInt8(ascii: "[")) else { throw NotificationError(.wrongType(key: key), at: start) }
    var strings: [String] = []
    scanner.skipWhitespace()
    if scanner.skip(UInt8(ascii: "]")) { return strings }
    while true {
      guard strings.count < limit else { throw NotificationError(.tooManyValues(key: key), at: offset) }
      strings.append(try string(key: key))
      scanner.skipWhitespace()
      if scanner.skip(UInt8(ascii: "]")) { return strings }
      try scanner.expect(UInt8(ascii: ","))
      scanner.skipWhitespace()
    }
  }

  /// Skips the value at this position, and checks it.
  mutating func skipValue() throws(NotificationError) {
    try scanner.skipValue(depth: 1)
  }
}

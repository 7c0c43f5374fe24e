extension RawSpan {
  /// The byte at `offset`, which must be inside.
  func byte(at offset: Int) -> UInt8 {
    // Sound for any byte: UInt8 has no invalid bit pattern, and the load checks its bounds.
    unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }

  /// The eight bytes from `offset` on as a number, the first one least significant.
  func littleEndianWord(at offset: Int) -> UInt64 {
    // Sound for any bytes: UInt64 has no invalid bit pattern, and the load checks its bounds.
    UInt64(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// The first eight bytes of `range` as a number, the first one least significant; beyond its end
  /// zeros.
  func head(of range: Range<Int>) -> UInt64 {
    guard range.count < 8 else { return littleEndianWord(at: range.lowerBound) }
    guard range.lowerBound &+ 8 > byteCount else {
      return littleEndianWord(at: range.lowerBound) & (1 << UInt64(8 * range.count) &- 1)
    }
    return range.reversed().reduce(0) { $0 << 8 | UInt64(byte(at: $1)) }
  }

  /// The offset of the first zero in `range`, or the range's end when there is none. Looks at eight
  /// bytes at a time.
  func firstZero(in range: Range<Int>) -> Int {
    var offset = range.lowerBound
    while offset &+ 8 <= range.upperBound {
      let zeros = zeroBytes(of: littleEndianWord(at: offset))
      if zeros != 0 { return offset &+ zeros.trailingZeroBitCount >> 3 }
      offset &+= 8
    }
    while offset < range.upperBound, byte(at: offset) != 0 { offset &+= 1 }
    return offset
  }

  /// The offset of the first byte from `start` on that ends a run of plain characters in a JSON
  /// string (`"`, `\`, or below 0x20), or `byteCount` when there is none. Looks at eight bytes at a
  /// time.
  func firstSpecialInString(from start: Int) -> Int {
    let quotes = 0x0101_0101_0101_0101 &* UInt64(UInt8(ascii: "\""))
    let backslashes = 0x0101_0101_0101_0101 &* UInt64(UInt8(ascii: "\\"))
    var offset = start
    while offset &+ 8 <= byteCount {
      let word = littleEndianWord(at: offset)
      // The lowest set bit is right in each term; a borrow can only set bits above it.
      let controls = (word &- 0x2020_2020_2020_2020) & ~word & 0x8080_8080_8080_8080
      let found = controls | zeroBytes(of: word ^ quotes) | zeroBytes(of: word ^ backslashes)
      if found != 0 { return offset &+ found.trailingZeroBitCount >> 3 }
      offset &+= 8
    }
    while offset < byteCount {
      let byte = byte(at: offset)
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return offset }
      offset &+= 1
    }
    return offset
  }
}

/// A word whose lowest set bit is bit 7 of the first zero byte of `word`; zero when `word` has no
/// zero byte.
func zeroBytes(of word: UInt64) -> UInt64 {
  (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
}

extension [UInt8] {
  /// A copy of `bytes`, made in one go.
  package init(copying bytes: RawSpan) {
    self = unsafe bytes.withUnsafeBytes { [UInt8]($0) }
  }

  /// Appends a copy of `bytes`, made in one go.
  package mutating func append(copying bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { append(contentsOf: $0) }
  }
}

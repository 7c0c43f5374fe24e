extension Collection where Element == UInt8, Index == Int {
  /// The little-endian number of this type at an offset from the start; `nil` beyond the end.
  func number<Number: FixedWidthInteger & UnsignedInteger>(
    _ type: Number.Type = Number.self, at offset: Int
  ) -> Number? {
    let width = Number.bitWidth / 8
    guard offset >= 0, count >= width, offset <= count - width else { return nil }
    var number: Number = 0
    for position in 0..<width {
      number |= Number(self[startIndex + offset + position]) << Number(8 * position)
    }
    return number
  }

  /// The text up to the first zero in a field; sanitise before printing.
  func text(at offset: Int, limit: Int) -> String {
    guard offset >= 0, offset < count else { return "" }
    let field = self[(startIndex + offset)..<(startIndex + Swift.min(count, offset + limit))]
    return String(decoding: field.prefix { $0 != 0 }, as: UTF8.self)
  }
}

/// The constants of RFC 1951, 3.2.5 to 3.2.7.
enum DeflateTables {
  /// A value with further bits after its symbol.
  struct Range: Sendable {
    let base: Int
    let extraBits: Int
  }

  /// The lengths of the symbols from 257 on.
  static let lengths: [Range] = {
    var ranges = (0..<8).map { Range(base: 3 + $0, extraBits: 0) }
    var base = 11
    for extraBits in 1...5 {
      for _ in 0..<4 {
        ranges.append(Range(base: base, extraBits: extraBits))
        base += 1 << extraBits
      }
    }
    ranges[27] = Range(base: 227, extraBits: 5)
    ranges.append(Range(base: 258, extraBits: 0))
    return ranges
  }()

  static let distances: [Range] = {
    var ranges = (0..<4).map { Range(base: 1 + $0, extraBits: 0) }
    var base = 5
    for extraBits in 1...13 {
      for _ in 0..<2 {
        ranges.append(Range(base: base, extraBits: extraBits))
        base += 1 << extraBits
      }
    }
    return ranges
  }()

  /// The order of the code lengths of the code lengths.
  static let lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  static let fixedLiterals = table(
    [UInt8](repeating: 8, count: 144) + [UInt8](repeating: 9, count: 112) + [UInt8](repeating: 7, count: 24)
      + [UInt8](repeating: 8, count: 8))
  static let fixedDistances = table([UInt8](repeating: 5, count: 32))

  private static func table(_ lengths: [UInt8]) -> HuffmanTable {
    guard let table = HuffmanTable(lengths: lengths[...]) else {
      preconditionFailure("the fixed codes of RFC 1951 are complete")
    }
    return table
  }
}

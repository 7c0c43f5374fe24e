/// A prefix code of DEFLATE, as a table indexed by the next bits. Source: RFC 1951, 3.2.2.
struct HuffmanTable: Equatable, Sendable {
  static let lengthLimitBits = 15

  /// The number of bits that select an entry.
  private let indexBits: Int
  /// Symbol times 16 plus the length of its code; 0 for bits that are no code.
  private var entries: [UInt16]

  /// - Parameter lengths: the length of each symbol's code in bits, 0...15; 0 for an unused symbol.
  /// - Returns: nil if there are more codes than fit, or none is complete.
  init?(lengths: ArraySlice<UInt8>) {
    var counts = [Int](repeating: 0, count: Self.lengthLimitBits + 1)
    for length in lengths { counts[Int(length)] += 1 }
    counts[0] = 0
    indexBits = counts.lastIndex { $0 > 0 } ?? 1
    entries = [UInt16](repeating: 0, count: 1 << indexBits)
    var next = [Int](repeating: 0, count: Self.lengthLimitBits + 2)
    var left = 1
    var code = 0
    for length in 1...Self.lengthLimitBits {
      left = left << 1 - counts[length]
      guard left >= 0 else { return nil }
      code = (code + counts[length - 1]) << 1
      next[length] = code
    }
    // One code of one bit is the only incomplete set that encoders make.
    guard left == 0 || counts[1...].reduce(0, +) <= 1 else { return nil }
    for (symbol, length) in lengths.enumerated() where length > 0 {
      let bits = Int(length)
      var index = Self.reversed(next[bits], bits: bits)
      next[bits] += 1
      while index < entries.count {
        entries[index] = UInt16(symbol << 4 | bits)
        index += 1 << bits
      }
    }
  }

  /// The symbol at the start of `bits`, and the length of its code; nil if that is no code.
  func symbol(in bits: UInt64) -> (symbol: Int, lengthBits: Int)? {
    let entry = Int(entries[Int(bits & UInt64(entries.count - 1))])
    return entry == 0 ? nil : (entry >> 4, entry & 15)
  }

  private static func reversed(_ code: Int, bits: Int) -> Int {
    var result = 0
    for bit in 0..<bits where code & (1 << bit) != 0 { result |= 1 << (bits - 1 - bit) }
    return result
  }
}

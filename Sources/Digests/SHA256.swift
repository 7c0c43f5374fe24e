/// SHA-256. Source: FIPS 180-4.
package struct SHA256: Sendable {
  /// Bytes of a digest.
  package static let lengthBytes = 32

  private static let rounds: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]

  private var state: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
  ]
  private var words = [UInt32](repeating: 0, count: 64)

  private init() {}

  /// The digest of all bytes.
  package static func digest(_ bytes: some Collection<UInt8>) -> [UInt8] { digest(of: Array(bytes)) }

  /// The digest of all bytes, or of those in a range, which must lie in them.
  package static func digest(of bytes: [UInt8], in range: Range<Int>? = nil) -> [UInt8] {
    var hash = SHA256()
    HashedBlocks.each(of: bytes, in: range ?? 0..<bytes.count, lengthIsBigEndian: true) { hash.compress($0) }
    return hash.state.flatMap { $0.bigEndianBytes }
  }

  private mutating func compress(_ block: UnsafePointer<UInt8>) {
    words.withUnsafeMutableBufferPointer { words in
      for index in 0..<16 {
        let byte = block + 4 &* index
        words[index] =
          UInt32(byte[0]) &<< 24 | UInt32(byte[1]) &<< 16 | UInt32(byte[2]) &<< 8 | UInt32(byte[3])
      }
      for index in 16..<64 {
        let (first, second) = (words[index &- 15], words[index &- 2])
        let low = first.turned(by: 25) ^ first.turned(by: 14) ^ first &>> 3
        let high = second.turned(by: 15) ^ second.turned(by: 13) ^ second &>> 10
        words[index] = words[index &- 16] &+ low &+ words[index &- 7] &+ high
      }
      var (a, b, c, d) = (state[0], state[1], state[2], state[3])
      var (e, f, g, h) = (state[4], state[5], state[6], state[7])
      Self.rounds.withUnsafeBufferPointer { rounds in
        for index in 0..<64 {
          let sum = e.turned(by: 26) ^ e.turned(by: 21) ^ e.turned(by: 7)
          let first = h &+ sum &+ ((e & f) ^ (~e & g)) &+ rounds[index] &+ words[index]
          let sum2 = a.turned(by: 30) ^ a.turned(by: 19) ^ a.turned(by: 10)
          let second = sum2 &+ ((a & b) ^ (a & c) ^ (b & c))
          h = g
          g = f
          f = e
          e = d &+ first
          d = c
          c = b
          b = a
          a = first &+ second
        }
      }
      for (index, value) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= value }
    }
  }
}

/// The blocks of 64 bytes that MD5 and SHA-256 compress, with their padding.
enum HashedBlocks {
  static func each(
    of bytes: [UInt8], in range: Range<Int>, lengthIsBigEndian: Bool,
    _ compress: (UnsafePointer<UInt8>) -> Void
  ) {
    let whole = range.lowerBound + range.count / 64 * 64
    var tail = Array(bytes[whole..<range.upperBound]) + [0x80]
    tail += [UInt8](repeating: 0, count: (120 - tail.count) % 64)
    let bits = UInt64(range.count) &* 8
    tail += (0..<8).map { UInt8(truncatingIfNeeded: bits >> UInt64(8 * (lengthIsBigEndian ? 7 - $0 : $0))) }
    for (part, blocks) in [(bytes, range.lowerBound..<whole), (tail, 0..<tail.count)] {
      part.withUnsafeBufferPointer { part in
        guard let start = part.baseAddress else { return }
        for offset in stride(from: blocks.lowerBound, to: blocks.upperBound, by: 64) {
          compress(start + offset)
        }
      }
    }
  }
}

extension UInt32 {
  /// Rotated to the left by 1 to 31 bits.
  @inline(__always)
  func turned(by count: UInt32) -> UInt32 { self &<< count | self &>> (32 &- count) }

  var bigEndianBytes: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> $0) } }

  var littleEndianBytes: [UInt8] { [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: self >> $0) } }
}

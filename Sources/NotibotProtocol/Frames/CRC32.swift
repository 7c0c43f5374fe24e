/// CRC-32/ISO-HDLC, as zlib and the ESP ROM compute it. Source: PROTOCOL.md FRM-3.
package enum CRC32 {
  /// The CRC of `bytes`.
  package static func checksum(_ bytes: RawSpan) -> UInt32 {
    ~update(0xFFFF_FFFF, with: bytes)
  }

  /// The CRC of `bytes`.
  package static func checksum(_ bytes: [UInt8]) -> UInt32 {
    checksum(bytes.span.bytes)
  }

  /// Slice-by-8: eight independent table look-ups for eight bytes.
  private static func update(_ register: UInt32, with bytes: RawSpan) -> UInt32 {
    let table = tables.span
    let count = bytes.byteCount
    var register = register
    var offset = 0
    while offset &+ 8 <= count {
      let word = bytes.littleEndianWord(at: offset) ^ UInt64(register)
      // Sound without checks of the bounds: no sum of a multiple of 256 and a byte reaches 2048.
      register =
        unsafe table[unchecked: 1792 + Int(word & 0xFF)]
        ^ table[unchecked: 1536 + Int(word >> 8 & 0xFF)]
        ^ table[unchecked: 1280 + Int(word >> 16 & 0xFF)]
        ^ table[unchecked: 1024 + Int(word >> 24 & 0xFF)]
        ^ table[unchecked: 768 + Int(word >> 32 & 0xFF)]
        ^ table[unchecked: 512 + Int(word >> 40 & 0xFF)]
        ^ table[unchecked: 256 + Int(word >> 48 & 0xFF)]
        ^ table[unchecked: Int(word >> 56)]
      offset &+= 8
    }
    while offset < count {
      register = register >> 8 ^ table[Int((register ^ UInt32(bytes.byte(at: offset))) & 0xFF)]
      offset &+= 1
    }
    return register
  }

  /// Eight tables of 256: entry `256 * t + b` is the register after byte `b` and then `t` zero
  /// bytes.
  private static let tables: [UInt32] = {
    var tables = [UInt32](repeating: 0, count: 8 * 256)
    for byte in 0..<256 {
      tables[byte] = (0..<8).reduce(UInt32(byte)) { register, _ in
        register & 1 == 1 ? register >> 1 ^ 0xEDB8_8320 : register >> 1
      }
    }
    for index in 256..<tables.count {
      let previous = tables[index - 256]
      tables[index] = previous >> 8 ^ tables[Int(previous & 0xFF)]
    }
    return tables
  }()
}

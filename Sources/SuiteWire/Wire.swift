/// Byte arithmetic of the wire, written as in PROTOCOL.md and no faster than a case needs.
package enum Wire {
  /// A 32-bit number as eight digits.
  package static func hexNumber(_ number: UInt64) -> String {
    let digits = String(UInt32(truncatingIfNeeded: number), radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }

  /// Least significant byte first.
  package static func u16(_ value: UInt16) -> [UInt8] {
    [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
  }

  /// Least significant byte first.
  package static func u32(_ value: UInt32) -> [UInt8] {
    u16(UInt16(truncatingIfNeeded: value)) + u16(UInt16(truncatingIfNeeded: value >> 16))
  }

  /// Least significant byte first.
  package static func u64(_ value: UInt64) -> [UInt8] {
    u32(UInt32(truncatingIfNeeded: value)) + u32(UInt32(truncatingIfNeeded: value >> 32))
  }

  /// The u16 at an offset; 0 beyond the end.
  package static func word(_ bytes: [UInt8], at offset: Int) -> UInt16 {
    guard offset + 1 < bytes.count else { return 0 }
    return UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8
  }

  /// The little-endian number in the bytes; at most eight of them count.
  package static func number(_ bytes: [UInt8]) -> UInt64 {
    bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// CRC-32/ISO-HDLC, bit by bit. Source: PROTOCOL.md FRM-3.
  package static func crc(_ bytes: [UInt8]) -> UInt32 {
    var register: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
      register ^= UInt32(byte)
      for _ in 0..<8 {
        register = register & 1 == 1 ? register >> 1 ^ 0xEDB8_8320 : register >> 1
      }
    }
    return register ^ 0xFFFF_FFFF
  }

  /// COBS of the bytes, without zeros around. Source: PROTOCOL.md FRM-2.
  package static func stuffed(_ bytes: [UInt8]) -> [UInt8] {
    var encoded: [UInt8] = []
    var block: [UInt8] = []
    var isOpen = true
    for byte in bytes {
      isOpen = true
      if byte == 0 {
        encoded += [UInt8(block.count + 1)] + block
        block = []
        continue
      }
      block.append(byte)
      if block.count == 254 {
        encoded += [255] + block
        block = []
        isOpen = false
      }
    }
    return isOpen ? encoded + [UInt8(block.count + 1)] + block : encoded
  }

  /// The decoded bytes of a COBS encoding; nil if a block is cut short or contains a zero.
  package static func unstuffed(_ encoded: [UInt8]) -> [UInt8]? {
    var decoded: [UInt8] = []
    var index = 0
    while index < encoded.count {
      let code = Int(encoded[index])
      guard code > 0, index + code <= encoded.count else { return nil }
      decoded += encoded[(index + 1)..<(index + code)]
      index += code
      if code < 255, index < encoded.count { decoded.append(0) }
    }
    return decoded
  }

  /// Header and payload in their form on the wire: followed by the CRC, stuffed, with a zero before
  /// and after. The header can be invalid.
  package static func sealed(_ headerAndPayload: [UInt8]) -> [UInt8] {
    [0] + stuffed(headerAndPayload + u32(crc(headerAndPayload))) + [0]
  }

  /// The bitmap of a NAK that names these numbers (LNK-33); each is above `ack`, by 64 at most.
  package static func bitmap(of numbers: some Sequence<Int>, beyond ack: Int) -> UInt64 {
    numbers.reduce(0) { $0 | 1 << UInt64($1 - ack - 1) }
  }

  /// The bytes of a string of hexadecimal digits; white space is skipped. For literals of the suite
  /// only.
  package static func literal(_ digits: String) -> [UInt8] {
    let nibbles = digits.compactMap { $0.hexDigitValue }
    return stride(from: 0, to: nibbles.count - 1, by: 2).map { UInt8(nibbles[$0] << 4 | nibbles[$0 + 1]) }
  }

  /// An Error Response without its handle, any other PDU unchanged: for errors whose handle no rule
  /// specifies.
  package static func withoutHandle(_ pdu: [UInt8]) -> [UInt8] {
    pdu.count == 5 && pdu[0] == 0x01 ? [pdu[0], pdu[1], pdu[4]] : pdu
  }

  /// The bytes in hexadecimal, cut after `limit` of them.
  package static func hex(_ bytes: some Sequence<UInt8>, limit: Int = .max) -> String {
    let all = Array(bytes)
    let shown = all.prefix(limit).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    return all.count > limit ? "\(shown)… (\(all.count) bytes)" : shown
  }
}

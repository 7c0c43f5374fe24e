import Conformance
import SuiteWire

extension SymmetricMutant {
  static let framing: [SymmetricMutant] = [
    sealed("crc-seed", "The CRC begins at 0", AlteredCRC(seed: 0)),
    sealed("crc-polynomial", "The CRC has the polynomial of CRC-32C", AlteredCRC(polynomial: 0x82F6_3B78)),
    sealed("crc-final-xor", "The CRC is not inverted at its end", AlteredCRC(finalXOR: 0)),
    sealed("crc-big-endian", "The CRC is sent most significant byte first", AlteredCRC(isBigEndian: true)),
    SymmetricMutant(
      "crc-without-header", "The CRC is that of the payload alone", "FRM-3", device: "FRM-1/literal-syn",
      host: "FRM-3/host-every-bit-flip",
      sealing { AlteredCRC().bytes(of: Array($0.dropFirst(8))) }),
    SymmetricMutant(
      "cobs-253", "A block ends after 253 bytes", "FRM-2", device: "FRM-2/block-of-254",
      host: "FRM-2/host-long-frames",
      SymmetricCodec(
        encode: { body in AlteredCOBS.stuffed(body + Wire.u32(Wire.crc(body))) },
        decode: { candidate in
          AlteredCOBS.unstuffed(candidate).flatMap { SymmetricCodec.soundBody(Wire.stuffed($0)) }
        })),
    SymmetricMutant(
      "length-with-crc", "The payload length counts the CRC", "FRM-5", device: "FRM-5/length-disagrees",
      host: "FRM-6/host-text-whole",
      SymmetricCodec(
        onSend: { body in withLength(body) { $0 &+ 4 } }, onReceive: { body in withLength(body) { $0 &- 4 } })
    ),
    SymmetricMutant(
      "header-big-endian", "Length and session are sent most significant byte first", "LNK-1",
      device: "LNK-1/synack-layout", host: "LNK-6/host-syn",
      SymmetricCodec(onSend: swappedHeader, onReceive: swappedHeader)),
    SymmetricMutant(
      "direction", "The direction bit is set from the host", "LNK-1", device: "LNK-1/synack-layout",
      host: "LNK-6/host-syn",
      SymmetricCodec(onSend: otherDirection, onReceive: otherDirection)),
  ]

  private static func sealed(_ name: String, _ what: String, _ crc: AlteredCRC) -> SymmetricMutant {
    SymmetricMutant(
      name, what, "FRM-3", device: "FRM-1/literal-syn", host: "FRM-3/host-every-bit-flip",
      sealing { crc.bytes(of: $0) })
  }

  /// Another CRC of header and payload.
  private static func sealing(_ crc: @escaping @Sendable ([UInt8]) -> [UInt8]) -> SymmetricCodec {
    SymmetricCodec(
      encode: { Wire.stuffed($0 + crc($0)) },
      decode: { candidate in
        guard let decoded = Wire.unstuffed(candidate), decoded.count >= 12 else { return nil }
        let body = Array(decoded.dropLast(4))
        return crc(body) == Array(decoded.suffix(4)) ? body : nil
      })
  }

  private static func withLength(_ body: [UInt8], _ change: (UInt16) -> UInt16) -> [UInt8] {
    [body[0]] + Wire.u16(change(Wire.word(body, at: 1))) + body.dropFirst(3)
  }

  private static func swappedHeader(_ body: [UInt8]) -> [UInt8] {
    [body[0], body[2], body[1], body[4], body[3]] + body.dropFirst(5)
  }

  private static func otherDirection(_ body: [UInt8]) -> [UInt8] { [body[0] ^ 8] + body.dropFirst() }
}

/// A CRC of 32 bits that can differ from FRM-3's.
private struct AlteredCRC: Sendable {
  var seed: UInt32 = 0xFFFF_FFFF
  var polynomial: UInt32 = 0xEDB8_8320
  var finalXOR: UInt32 = 0xFFFF_FFFF
  var isBigEndian = false

  func bytes(of message: [UInt8]) -> [UInt8] {
    var register = seed
    for byte in message {
      register ^= UInt32(byte)
      for _ in 0..<8 { register = register & 1 == 1 ? register >> 1 ^ polynomial : register >> 1 }
    }
    let bytes = Wire.u32(register ^ finalXOR)
    return isBigEndian ? bytes.reversed() : bytes
  }
}

/// COBS whose longest block has 253 bytes, with the code 254.
private enum AlteredCOBS {
  static let blockLimitBytes = 253

  static func stuffed(_ bytes: [UInt8]) -> [UInt8] {
    var encoded: [UInt8] = []
    var block: [UInt8] = []
    var isOpen = true
    for byte in bytes {
      isOpen = true
      if byte != 0 { block.append(byte) }
      guard byte == 0 || block.count == blockLimitBytes else { continue }
      encoded += [UInt8(block.count + 1)] + block
      block = []
      isOpen = byte == 0
    }
    return isOpen ? encoded + [UInt8(block.count + 1)] + block : encoded
  }

  static func unstuffed(_ encoded: [UInt8]) -> [UInt8]? {
    var decoded: [UInt8] = []
    var index = 0
    while index < encoded.count {
      let code = Int(encoded[index])
      guard code > 0, code <= blockLimitBytes + 1, index + code <= encoded.count else { return nil }
      decoded += encoded[(index + 1)..<(index + code)]
      index += code
      if code <= blockLimitBytes, index < encoded.count { decoded.append(0) }
    }
    return decoded
  }
}

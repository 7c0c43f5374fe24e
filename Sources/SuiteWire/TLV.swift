/// TLVs as the cases write and parse them. Source: PROTOCOL.md LNK-5.
package struct TLV: Equatable, Sendable {
  package var type: UInt8
  package var value: [UInt8]

  package init(_ type: UInt8, _ value: [UInt8]) {
    self.type = type
    self.value = value
  }

  package var bytes: [UInt8] { [type, UInt8(truncatingIfNeeded: value.count)] + value }

  package static let magic = TLV(0x81, [0x4E, 0x42, 0x4F, 0x54])
  package static func nonce(_ nonce: UInt64) -> TLV { TLV(0x82, Wire.u64(nonce)) }
  package static func versions(_ lowest: UInt8, _ highest: UInt8) -> TLV { TLV(0x83, [lowest, highest]) }
  package static func version(_ chosen: UInt8) -> TLV { TLV(0x84, [chosen]) }
  package static func features(_ bits: UInt32) -> TLV { TLV(0x05, Wire.u32(bits)) }
  package static func limits(frames: UInt8, requests: UInt8, mtu: UInt16, bytes: UInt32) -> TLV {
    TLV(0x06, [frames, requests] + Wire.u16(mtu) + Wire.u32(bytes))
  }
  package static func source(_ source: UInt32) -> TLV { TLV(0x07, Wire.u32(source)) }
  package static func clock(_ seconds: UInt64, zoneMinutes: Int16 = 0) -> TLV {
    TLV(0x09, Wire.u64(seconds) + Wire.u16(UInt16(bitPattern: zoneMinutes)))
  }
  package static func bootID(_ id: UInt32) -> TLV { TLV(0x0A, Wire.u32(id)) }
  package static func profileHash(_ hash: UInt32) -> TLV { TLV(0x12, Wire.u32(hash)) }
  package static func reason(_ reason: UInt8) -> TLV { TLV(0x14, [reason]) }

  /// How long the value of each type is that LNK-5 lists; 0: a text. Further bytes are of a later
  /// version.
  private static let lengths: [UInt8: Int] = [
    0x81: 4, 0x82: 8, 0x83: 2, 0x84: 1, 0x05: 4, 0x06: 8, 0x07: 4, 0x08: 4, 0x09: 10, 0x0A: 4, 0x0B: 4,
    0x0C: 1, 0x0D: 8, 0x0E: 6, 0x0F: 0, 0x10: 0, 0x11: 0, 0x12: 4, 0x13: 2, 0x14: 1, 0x15: 1,
  ]

  /// The little-endian number in the value, without the bytes of later versions.
  fileprivate var number: UInt64 { Wire.number(Array(value.prefix(Self.lengths[type] ?? 8))) }

  /// The TLVs that LNK-5 does not list for a frame, or lists with another length. Those of later
  /// versions are among them.
  package static func strange(_ tlvs: [TLV], in kind: WireFrame.Kind) -> [TLV] {
    let listed: Set<UInt8> =
      switch kind {
      case .syn: [0x83, 0x07, 0x08, 0x09]
      case .synAck: [0x84, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12, 0x13]
      case .hello, .data, .ack, .nak, .udata, .ping, .pong, .rst, .fin: []
      }
    return tlvs.filter { tlv in
      // Unknown ones are ignored unless they are critical (LNK-7).
      guard let least = lengths[tlv.type] else { return tlv.type & 0x80 != 0 }
      guard listed.union([0x81, 0x82, 0x05, 0x06]).contains(tlv.type) else { return true }
      return tlv.value.count < least
    }
  }

  /// The TLVs of a payload; nil if one exceeds its end.
  package static func parse(_ payload: [UInt8]) -> [TLV]? {
    var found: [TLV] = []
    var index = 0
    while index < payload.count {
      guard index + 1 < payload.count else { return nil }
      let end = index + 2 + Int(payload[index + 1])
      guard end <= payload.count else { return nil }
      found.append(TLV(payload[index], Array(payload[(index + 2)..<end])))
      index = end
    }
    return found
  }
}

extension [TLV] {
  /// The concatenated TLVs.
  package var payload: [UInt8] { flatMap(\.bytes) }

  /// The value of the first TLV of a type.
  package func value(of type: UInt8) -> [UInt8]? { first { $0.type == type }?.value }

  /// The little-endian number in the first TLV of a type.
  package func number(of type: UInt8) -> UInt64? { first { $0.type == type }?.number }
}

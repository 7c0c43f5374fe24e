/// The sender of a frame. Source: PROTOCOL.md section 2, header byte 0 bit 3.
package enum Direction: UInt8, Hashable, Sendable {
  case fromHost = 0
  case fromDevice = 1
}

/// The type of a frame. The raw value is the number on the wire, 1–11; 0 and 12–15 are undefined.
/// Source: PROTOCOL.md section 2.
package enum FrameType: UInt8, CaseIterable, Hashable, Sendable {
  case hello = 1
  case syn = 2
  case synack = 3
  case data = 4
  case ack = 5
  case nak = 6
  case udata = 7
  case ping = 8
  case pong = 9
  case rst = 10
  case fin = 11

  /// Whether the protocol permits this side to send this type, as checked by FRM-7. Types with one
  /// direction are recognised as text by the header; an echo of the others only by its CRC.
  package func isPossible(_ direction: Direction) -> Bool {
    switch self {
    case .hello, .synack: direction == .fromDevice
    case .syn: direction == .fromHost
    case .data, .ack, .nak, .udata, .ping, .pong, .rst, .fin: true
    }
  }
}

/// The channel of a frame's payload, 0–7; values without a name are legal on the wire.
/// Source: PROTOCOL.md section 2, LNK-4.
package struct Channel: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt8

  /// The channel of the lowest three bits of `rawValue`.
  package init(rawValue: UInt8) {
    self.rawValue = rawValue & 7
  }

  package static let link = Channel(rawValue: 0)
  package static let log = Channel(rawValue: 1)
  package static let rig = Channel(rawValue: 2)
  package static let att = Channel(rawValue: 4)
}

/// The eight bytes in front of a payload, without its length. Source: PROTOCOL.md section 2.
package struct FrameHeader: Hashable, Sendable {
  package var type: FrameType
  package var direction: Direction
  package var channel: Channel
  /// 0 = none.
  package var session: UInt16
  /// The number of a DATA frame, modulo 256; 0 in other frames.
  package var sequence: UInt8
  /// The next DATA number that the sender expects in order.
  package var ack: UInt8
  /// How many frames from `ack` on the peer is permitted to send, 0–64; larger values are kept
  /// unchanged.
  package var credit: UInt8

  package init(
    type: FrameType, direction: Direction, channel: Channel = .link, session: UInt16 = 0,
    sequence: UInt8 = 0, ack: UInt8 = 0, credit: UInt8 = 0
  ) {
    self.type = type
    self.direction = direction
    self.channel = channel
    self.session = session
    self.sequence = sequence
    self.ack = ack
    self.credit = credit
  }

  /// The eight bytes on the wire as a number, the first one least significant.
  func word(payloadLengthBytes: Int) -> UInt64 {
    let first = UInt64(type.rawValue << 4 | direction.rawValue << 3 | channel.rawValue)
    let numbers = UInt64(sequence) | UInt64(ack) << 8 | UInt64(credit) << 16
    return first | UInt64(payloadLengthBytes) << 8 | UInt64(session) << 24 | numbers << 40
  }

  /// The header in the first eight of `bytes`, and the payload length that it claims; nil when
  /// there are fewer bytes or the type is undefined.
  static func parse(_ bytes: [UInt8]) -> (header: FrameHeader, payloadLengthBytes: Int)? {
    guard bytes.count >= WireLimits.headerLengthBytes, let type = FrameType(rawValue: bytes[0] >> 4) else {
      return nil
    }
    let header = FrameHeader(
      type: type, direction: bytes[0] & 8 == 0 ? .fromHost : .fromDevice,
      channel: Channel(rawValue: bytes[0]),
      session: UInt16(bytes[3]) | UInt16(bytes[4]) << 8, sequence: bytes[5], ack: bytes[6], credit: bytes[7])
    return (header, Int(bytes[1]) | Int(bytes[2]) << 8)
  }
}

extension FrameHeader: CustomStringConvertible {
  package var description: String {
    let arrow = direction == .fromHost ? "host>device" : "device>host"
    return "\(type.name) \(arrow) channel \(channel.rawValue) session \(hex(session))"
      + " seq \(sequence) ack \(ack) credit \(credit)"
  }
}

extension FrameType {
  /// The specification's word for this type.
  package var name: String {
    switch self {
    case .hello: "HELLO"
    case .syn: "SYN"
    case .synack: "SYNACK"
    case .data: "DATA"
    case .ack: "ACK"
    case .nak: "NAK"
    case .udata: "UDATA"
    case .ping: "PING"
    case .pong: "PONG"
    case .rst: "RST"
    case .fin: "FIN"
    }
  }
}

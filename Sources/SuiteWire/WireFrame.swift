/// A frame as the cases write and parse it, with the suite's own plain COBS and CRC: the codec that
/// the host and the emulator share would otherwise be its own witness. Source: PROTOCOL.md FRM-1 to
/// FRM-5, LNK-1.
package struct WireFrame: Hashable, Sendable {
  /// The type numbers of PROTOCOL.md chapter 2.
  package enum Kind: UInt8, Sendable {
    case hello = 1
    case syn, synAck, data, ack, nak, udata, ping, pong, rst, fin

    /// Its name in PROTOCOL.md.
    package var name: String {
      switch self {
      case .hello: "HELLO"
      case .syn: "SYN"
      case .synAck: "SYNACK"
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

  /// The sender of the frame: the direction bit of the header.
  package enum Sender: Equatable, Sendable {
    case host
    case device

    package var other: Sender { self == .host ? .device : .host }
  }

  package var kind: Kind
  package var sender: Sender
  /// 0 link, 1 log, 2 rig, 4 ATT.
  package var channel: UInt8 = 0
  package var session: UInt16 = 0
  package var seq: UInt8 = 0
  package var ack: UInt8 = 0
  package var credit: UInt8 = 0
  package var payload: [UInt8] = []

  /// Header and payload, before the CRC.
  package var decoded: [UInt8] {
    let first = kind.rawValue << 4 | (sender == .device ? 8 : 0) | channel
    return [first] + Wire.u16(UInt16(payload.count)) + Wire.u16(session) + [seq, ack, credit] + payload
  }

  /// The frame on the wire, with both zeros.
  package var bytes: [UInt8] { Wire.sealed(decoded) }

  /// The frame in a candidate, the bytes between two zeros; nil when the candidate is not a valid
  /// frame.
  package init?(candidate: [UInt8]) {
    guard let decoded = Wire.unstuffed(candidate), decoded.count >= 12, decoded.count <= 540 else {
      return nil
    }
    let body = Array(decoded.dropLast(4))
    guard Wire.u32(Wire.crc(body)) == Array(decoded.suffix(4)) else { return nil }
    guard let kind = Kind(rawValue: body[0] >> 4), Wire.u16(Wire.word(body, at: 1)) == Array(body[1..<3]),
      Int(Wire.word(body, at: 1)) == body.count - 8
    else { return nil }
    self.init(
      kind: kind, sender: body[0] & 8 == 0 ? .host : .device, channel: body[0] & 7,
      session: Wire.word(body, at: 3), seq: body[5], ack: body[6], credit: body[7],
      payload: Array(body.dropFirst(8)))
  }

  package init(
    kind: Kind, sender: Sender, channel: UInt8 = 0, session: UInt16 = 0, seq: UInt8 = 0, ack: UInt8 = 0,
    credit: UInt8 = 0, payload: [UInt8] = []
  ) {
    self.kind = kind
    self.sender = sender
    self.channel = channel
    self.session = session
    self.seq = seq
    self.ack = ack
    self.credit = credit
    self.payload = payload
  }
}

extension WireFrame.Kind: CustomStringConvertible, CustomDebugStringConvertible {
  package var description: String { name }
  package var debugDescription: String { name }
}

extension WireFrame: CustomStringConvertible {
  package var description: String {
    var text = "\(kind) session \(session)"
    if kind == .data || kind == .udata { text += " channel \(channel)" }
    if kind == .data { text += " seq \(seq)" }
    text += " ack \(ack) credit \(credit)"
    return payload.isEmpty ? text : text + " payload \(Wire.hex(payload, limit: 48))"
  }
}

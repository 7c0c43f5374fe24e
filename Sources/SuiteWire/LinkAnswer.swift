/// An RST, a SYNACK or an ACK, by what distinguishes it from others that may come with it.
package enum LinkAnswer: Hashable, CustomStringConvertible {
  /// Session 0 and a nonce if it answers a SYN. Source: LNK-18 to LNK-20.
  case rst(session: UInt16, nonce: UInt64? = nil, reason: UInt64)
  case synAck(session: UInt16, nonce: UInt64)
  /// That of a FIN has nothing else that distinguishes it from others (LNK-24).
  case ack(session: UInt16)

  /// Nil for a frame of another type.
  package init?(_ frame: WireFrame) {
    let tlvs = TLV.parse(frame.payload) ?? []
    let nonce = tlvs.number(of: 0x82)
    switch frame.kind {
    case .rst: self = .rst(session: frame.session, nonce: nonce, reason: tlvs.number(of: 0x14) ?? 0)
    case .synAck: self = .synAck(session: frame.session, nonce: nonce ?? 0)
    case .ack: self = .ack(session: frame.session)
    case .hello, .syn, .data, .nak, .udata, .ping, .pong, .fin: return nil
    }
  }

  package var description: String {
    switch self {
    case .rst(let session, let nonce, let reason):
      "RST \(reason) of \(nonce.map { "nonce \($0)" } ?? "session \(session)")"
    case .synAck(let session, let nonce): "SYNACK of nonce \(nonce), session \(session)"
    case .ack(let session): "ACK of session \(session)"
    }
  }
}

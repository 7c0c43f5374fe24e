/// The minimal state of a session that a case opened: numbers for headers, and the limits that the
/// peer announced. It retransmits nothing and judges nothing.
package struct ProbeSession: Equatable, Sendable {
  package var id: UInt16 = 0
  package var nonce: UInt64 = 0
  /// The TLVs of the peer's SYNACK (or SYN, if the case plays the device).
  package var announced: [TLV] = []
  /// The next DATA seq to send.
  package var nextSeq: UInt8 = 0
  /// The next DATA seq expected from the peer.
  package var expectedSeq: UInt8 = 0
  /// The credit put into headers.
  package var credit: UInt8 = 64
  /// The largest ATT PDU of this session, in bytes, after Exchange MTU.
  package var mtu = 23
  /// Frames that the peer has granted beyond `nextSeq`.
  package var room: Int = 0

  /// The device's boot id.
  package var bootID: UInt64? { announced.number(of: 0x0A) }
  package var features: UInt64 { announced.number(of: 0x05) ?? 0 }
  /// DATA frames that the peer accepts beyond the last handled one; default: 4 (LNK-6).
  package var peerFrames: Int { Int(announced.value(of: 0x06)?.first ?? 4) }
  /// ATT requests that the peer accepts at once; default: 1.
  package var peerRequests: Int { Int(announced.value(of: 0x06)?.dropFirst().first ?? 1) }
  /// The largest ATT PDU that the peer accepts; default: 23.
  package var peerMTU: Int { announced.value(of: 0x06).map { Int(Wire.word($0, at: 2)) } ?? 23 }
  /// Decoded bytes of DATA frames that the peer accepts beyond the last handled one.
  package var peerBytes: Int {
    announced.value(of: 0x06).map { Int(Wire.number(Array($0.dropFirst(4)))) } ?? 2160
  }

  /// Takes the result of an Exchange MTU; only the first one of a session counts (ATT-8).
  mutating func observe(answer: [UInt8], to pdu: [UInt8]) {
    guard mtu == 23, pdu.count == 3, pdu[0] == 0x02, answer.count == 3, answer[0] == 0x03 else { return }
    mtu = max(23, Int(min(Wire.word(pdu, at: 1), Wire.word(answer, at: 1))))
  }

  /// Takes the window from a frame of the peer.
  package mutating func observe(_ frame: WireFrame) {
    guard frame.session == id, frame.kind != .udata, frame.kind != .rst else { return }
    // Serial arithmetic: numbers are modulo 256.
    let outstanding = Int(nextSeq &- frame.ack)
    guard outstanding <= 128 else { return }
    room = max(room, Int(min(frame.credit, 64)) - outstanding)
  }
}

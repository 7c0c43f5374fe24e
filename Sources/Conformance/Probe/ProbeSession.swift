package import SuiteWire

/// The LIMITS of a SYN or SYNACK, unchecked; the defaults if it has none (LNK-6).
package struct PeerLimits: Equatable, Sendable {
  /// DATA frames that the peer accepts beyond the last handled one.
  package private(set) var frames = 4
  /// ATT requests that it accepts at once.
  package private(set) var requests = 1
  /// The largest ATT PDU that it accepts.
  package private(set) var mtu = 23
  /// Decoded bytes of DATA frames that it accepts beyond the last handled one.
  package private(set) var bytes = 2160

  /// Bytes beyond the eighth are of a later version.
  package init(_ tlvs: [TLV]) {
    guard let value = tlvs.value(of: 0x06), value.count >= 8 else { return }
    (frames, requests) = (Int(value[0]), Int(value[1]))
    mtu = Int(Wire.word(value, at: 2))
    bytes = Int(Wire.number(Array(value[4..<8])))
  }

  /// Records a finding for each limit that is not within its range (LNK-8).
  package func expectInRange(_ probe: Probe, file: String = #fileID, line: Int = #line) {
    let expect = { probe.expect($0, $1, file: file, line: line) }
    expect((2...64).contains(frames), "frames is \(frames)")
    expect(bytes >= 1080, "bytes is \(bytes)")
    expect((23...528).contains(mtu), "mtu is \(mtu)")
    expect(
      (1...32).contains(requests) && requests * 2 <= frames, "requests is \(requests) with \(frames) frames")
  }
}

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

  package init(id: UInt16 = 0, nonce: UInt64 = 0, announced: [TLV] = []) {
    (self.id, self.nonce, self.announced) = (id, nonce, announced)
  }

  /// The device's boot id.
  package var bootID: UInt64? { announced.number(of: 0x0A) }
  package var features: UInt64 { announced.number(of: 0x05) ?? 0 }
  /// The announced limits, brought into their ranges (LNK-8): cases calculate with them.
  package var peerFrames: Int { PeerLimits(announced).frames.clamped(to: 2...64) }
  package var peerRequests: Int { PeerLimits(announced).requests.clamped(to: 1...32) }
  package var peerMTU: Int { PeerLimits(announced).mtu.clamped(to: 23...528) }
  /// At most as many as the frames of the largest window have.
  package var peerBytes: Int { PeerLimits(announced).bytes.clamped(to: 1080...64 * 540) }

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

extension Int {
  fileprivate func clamped(to range: ClosedRange<Int>) -> Int {
    Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
  }
}

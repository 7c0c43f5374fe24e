package import NotibotProtocol
package import SuiteWire

/// Sessions step by step: every frame sent here is built from the rules, and none is sent
/// automatically.
extension Probe {
  /// A nonce that no other case uses.
  package func makeNonce() -> UInt64 { identities.next() }

  /// The TLVs of a usual SYN: pipelining offered, 64 frames, 8 requests, MTU 517, 64 KiB.
  package static func synTLVs(
    nonce: UInt64, features: UInt32 = 1, frames: UInt8 = 64, requests: UInt8 = 8, mtu: UInt16 = 517,
    bytes: UInt32 = 65536
  ) -> [TLV] {
    [
      .magic, .nonce(nonce), .versions(1, 1), .features(features),
      .limits(frames: frames, requests: requests, mtu: mtu, bytes: bytes),
    ]
  }

  /// A SYN with any payload.
  package func syn(_ tlvs: [TLV]) -> WireFrame {
    WireFrame(kind: .syn, sender: .host, payload: tlvs.payload)
  }

  /// Opens a bearer: a session as `openSession` does, or another connection if that is what the
  /// line carries.
  ///
  /// - Parameters: those of `openSession`; a connection has no SYN.
  /// - Throws: as `openSession`; `RigTrouble` if a SYN is requested of a connection, or it cannot
  ///   be made.
  package func open(
    _ tlvs: [TLV]? = nil, isAcknowledged: Bool = true, attempts: Int = 8, file: String = #fileID,
    line: Int = #line
  ) async throws {
    switch bearer {
    case .session:
      try await openSession(
        tlvs, isAcknowledged: isAcknowledged, attempts: attempts, file: file, line: line)
    case .connection(let connection):
      guard tlvs == nil else {
        throw RigTrouble("a connection has no SYN", remedy: "the case needs a session, and should declare it")
      }
      try await connection.reconnect()
      discardReceived()
      session = connection.session
    }
  }

  /// Opens a session according to LNK-11 and LNK-15: SYN, repeated every 500 ms, the SYNACK with
  /// its nonce, an ACK.
  ///
  /// - Parameters:
  ///   - tlvs: the TLVs of the SYN; default: usual ones. Its NONCE is the session's.
  ///   - isAcknowledged: whether the ACK that completes it is sent.
  ///   - attempts: the number of SYNs that can stay unanswered.
  /// - Throws: a finding if there is no SYNACK.
  @discardableResult
  package func openSession(
    _ tlvs: [TLV]? = nil, isAcknowledged: Bool = true, attempts: Int = 8, file: String = #fileID,
    line: Int = #line
  ) async throws -> WireFrame {
    let tlvs = tlvs ?? Self.synTLVs(nonce: makeNonce())
    let nonce = tlvs.number(of: 0x82) ?? 0
    let synFrame = syn(tlvs)
    for _ in 0..<attempts {
      try await write(synFrame)
      let deadline = now + .milliseconds(500)
      while let reply = try await nextFrame(until: deadline) {
        guard reply.kind == .synAck, let announced = TLV.parse(reply.payload),
          announced.number(of: 0x82) == nonce
        else { continue }
        session = ProbeSession(id: reply.session, nonce: nonce, announced: announced)
        session.credit = tlvs.value(of: 0x06)?.first.map { min(max($0, 2), 64) } ?? 4
        session.observe(reply)
        if isAcknowledged { try await write(frame(.ack)) }
        return reply
      }
    }
    throw CaseEnd.fault(
      "no SYNACK with the SYN's nonce after \(attempts) SYNs, 500 ms apart", file: file, line: line)
  }

  /// Opens a bearer and exchanges MTU 517, so that a whole notification fits in a Write Request if
  /// the device accepts it.
  package func openWide(_ tlvs: [TLV]? = nil, file: String = #fileID, line: Int = #line) async throws {
    try await open(tlvs, file: file, line: line)
    let reply = try await request([0x02, 0x05, 0x02], file: file, line: line)
    guard reply.count == 3, reply.first == 0x03 else {
      throw CaseEnd.fault("Exchange MTU gives [\(Wire.hex(reply))]", file: file, line: line)
    }
  }

  /// A frame of the open session with its current ack and credit.
  package func frame(_ kind: WireFrame.Kind, channel: UInt8 = 0, payload: [UInt8] = []) -> WireFrame {
    WireFrame(
      kind: kind, sender: role, channel: channel, session: session.id, ack: session.expectedSeq,
      credit: session.credit, payload: payload)
  }

  /// A DATA frame with the given number; the next number does not change.
  package func data(_ payload: [UInt8], channel: UInt8 = 4, seq: UInt8) -> WireFrame {
    let payload = channel == 4 ? handles.sent(payload) : payload
    var data = frame(.data, channel: channel, payload: payload)
    data.seq = seq
    return data
  }

  /// Sends DATA with the next number.
  @discardableResult
  package func sendData(_ payload: [UInt8], channel: UInt8 = 4) async throws -> WireFrame {
    let frame = data(payload, channel: channel, seq: session.nextSeq)
    // Wrap-around is the rule: numbers are modulo 256.
    session.nextSeq &+= 1
    session.room -= 1
    try await write(frame)
    return frame
  }

  /// Sends a PING and returns every frame received before its PONG and shortly after it: a device
  /// is allowed to let PONG overtake DATA. Immediate answers to earlier frames are among them.
  package func fence(file: String = #fileID, line: Int = #line) async throws -> [WireFrame] {
    try await write(frame(.ping))
    let deadline = now + Self.patience
    var before: [WireFrame] = []
    while let frame = try await nextFrame(until: deadline) {
      if frame.kind == .pong, frame.session == session.id {
        let behind = try await frames(for: settleTime)
        behind.forEach { session.observe($0) }
        return before + behind
      }
      session.observe(frame)
      before.append(frame)
    }
    throw CaseEnd.fault("a PING of the live session is not answered", file: file, line: line)
  }

  /// Reads the count and returns every frame except ACKs and retransmitted DATA that was received
  /// before the answer: a fence for frames that could be answered with PONG.
  package func requestFence(file: String = #fileID, line: Int = #line) async throws -> [WireFrame] {
    try await awaitRoom(file: file, line: line)
    try await sendData([0x0A, 3, 0])
    let deadline = now + Self.patience
    var before: [WireFrame] = []
    while let reply = try await nextFrame(until: deadline) {
      session.observe(reply)
      // A device whose resend timer was faster than an ACK retransmits its answer (LNK-51).
      let isOld = reply.kind == .data && (1...127).contains(session.expectedSeq &- reply.seq)
      guard reply.kind != .ack, !isOld else { continue }
      guard reply.kind == .data, reply.seq == session.expectedSeq else {
        before.append(reply)
        continue
      }
      session.expectedSeq &+= 1
      try await write(frame(.ack))
      if reply.channel == 4, reply.payload.first == 0x0B { return before }
      before.append(reply)
    }
    throw CaseEnd.fault("a Read Request of Count is not answered", file: file, line: line)
  }

  /// Whether the session is live: its PING is answered with PONG. A PING of a dead one is answered
  /// with RST (LNK-20).
  package func isSessionLive() async throws -> Bool {
    let reply = try await ask(frame(.ping), "PONG or RST") {
      ($0.kind == .pong || $0.kind == .rst) && $0.session == session.id
    }
    return reply.kind == .pong
  }

  /// Sends a frame until an answer that `matches` is received, at most 6 times, 300 ms apart: the
  /// device can have used up its ten RSTs per second (LNK-20) in an earlier case.
  package func ask(
    _ question: WireFrame, _ what: String, file: String = #fileID, line: Int = #line,
    where matches: (WireFrame) -> Bool
  ) async throws -> WireFrame {
    for _ in 0..<6 {
      try await write(question)
      let deadline = now + .milliseconds(300)
      while let reply = try await nextFrame(until: deadline) {
        if matches(reply) { return reply }
      }
    }
    throw CaseEnd.fault("no \(what) after 6 times", file: file, line: line)
  }

  // MARK: Attribute PDUs

  /// The next PDU from the peer in order; acknowledges it, answers PINGs, skips everything else.
  ///
  /// - Returns: nil if none was received in time.
  package func nextPDU(until deadline: Instant) async throws -> [UInt8]? {
    while let frame = try await nextData(until: deadline) {
      if frame.channel == 4 { return frame.payload }
    }
    return nil
  }

  /// The next DATA frame from the peer in order, of any channel; acknowledges it, answers PINGs,
  /// skips everything else.
  ///
  /// - Returns: nil if none was received in time.
  package func nextData(until deadline: Instant) async throws -> WireFrame? {
    while let frame = try await nextFrame(until: deadline) {
      session.observe(frame)
      guard frame.session == session.id else { continue }
      if frame.kind == .ping { try await write(self.frame(.pong, payload: [session.expectedSeq])) }
      guard frame.kind == .data, frame.seq == session.expectedSeq else { continue }
      session.expectedSeq &+= 1
      try await write(self.frame(.ack))
      return frame
    }
    return nil
  }

  /// Sends one request and returns its answer. Earlier notifications are added to `notifications`
  /// in order.
  ///
  /// - Throws: a finding if there is no answer.
  @discardableResult
  package func request(
    _ pdu: [UInt8], notifications: inout [[UInt8]], file: String = #fileID, line: Int = #line
  ) async throws -> [UInt8] {
    try await awaitRoom(file: file, line: line)
    try await sendData(pdu)
    let deadline = now + answerLimit
    while let reply = try await nextPDU(until: deadline) {
      if reply.first != 0x1B {
        session.observe(answer: reply, to: pdu)
        return reply
      }
      notifications.append(reply)
    }
    throw CaseEnd.fault("request \(Wire.hex(pdu, limit: 16)) is not answered", file: file, line: line)
  }

  /// Sends one request and returns its answer; earlier notifications are skipped.
  @discardableResult
  package func request(_ pdu: [UInt8], file: String = #fileID, line: Int = #line) async throws -> [UInt8] {
    var skipped: [[UInt8]] = []
    return try await request(pdu, notifications: &skipped, file: file, line: line)
  }

  /// Waits until the peer's credit allows one more DATA frame.
  package func awaitRoom(file: String = #fileID, line: Int = #line) async throws {
    let deadline = now + Self.patience
    while session.room <= 0 {
      guard let frame = try await nextFrame(until: deadline) else {
        throw CaseEnd.fault("the peer grants no credit", file: file, line: line)
      }
      session.observe(frame)
    }
  }

  /// The count as the device reports it (NTF-10).
  package func readCount(file: String = #fileID, line: Int = #line) async throws -> Int {
    let reply = try await request([0x0A, 3, 0], file: file, line: line)
    guard reply.count == 3, reply[0] == 0x0B else {
      throw CaseEnd.fault("reading Count gives [\(Wire.hex(reply))]", file: file, line: line)
    }
    return Int(Wire.word(reply, at: 1))
  }

}

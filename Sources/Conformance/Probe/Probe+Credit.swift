import NotibotProtocol
import SuiteWire

/// What a device sends only as far as the probe grants credit, and what stays unacknowledged.
extension Probe {
  /// Opens a session in which the device is not allowed to send any DATA yet.
  ///
  /// - Parameter tlvs: those of the SYN; default: usual ones.
  func openShut(_ tlvs: [TLV]? = nil) async throws {
    try await open(tlvs, isAcknowledged: false)
    session.credit = 0
    try await write(frame(.ack))
  }

  /// The same with these features.
  func openShut(features: UInt32) async throws {
    try await openShut(Self.synTLVs(nonce: makeNonce(), features: features))
  }

  /// Opens a session with both subscriptions in which the device sends only what `grant`
  /// and `requestAlone` allow.
  func openShutSubscribed(as source: UInt32, features: UInt32 = deliveryFeatures) async throws {
    let tlvs = Self.synTLVs(nonce: makeNonce(), features: features)
    try await openShut(tlvs + [.source(source), .clock(Sample.noon)])
    for request in ["02 0502", "12 0400 0100", "12 0700 0100"] {
      _ = try await requestAlone(Wire.literal(request))
    }
  }

  /// Opens a session as `openShutSubscribed` does, at noon, when `prepare` has written what expires
  /// from a second later on. The subscriptions have to be there by then: if the machine is too slow
  /// for that, it is done again.
  ///
  /// - Parameter prepare: writes notifications and returns the `src` of the session.
  func openShutAtNoon(
    features: UInt32 = deliveryFeatures, prepare: (UInt64) async throws -> UInt32
  ) async throws {
    for _ in 0..<5 {
      let source = try await prepare(Sample.noon)
      let start = now
      try await openShutSubscribed(as: source, features: features)
      if now - start < .milliseconds(900) { break }
    }
  }

  /// Grants the device the maximum credit.
  func grantAll() async throws {
    session.credit = 64
    try await write(frame(.ack))
  }

  /// Grants the device credit for `frames` more DATA frames, and none after that.
  func grant(_ frames: UInt8) async throws {
    session.credit = frames
    try await write(frame(.ack))
    session.credit = 0
  }

  /// Sends a request, and grants credit for its answer alone: what else it causes waits.
  func requestAlone(_ pdu: [UInt8]) async throws -> [UInt8] {
    try await awaitRoom()
    try await grant(1)
    return try await request(pdu)
  }

  /// The first frame that `matches`, a DATA frame that follows an unacknowledged one.
  ///
  /// - Throws: `CaseEnd.skip` if the device first waits for an acknowledgement, as it may (LNK-43).
  func awaitFurther(
    _ what: String, file: String = #fileID, line: Int = #line, where matches: (WireFrame) -> Bool
  ) async throws -> WireFrame {
    do {
      return try await awaitFrame(what, file: file, line: line, where: matches)
    } catch CaseEnd.finding(let finding) {
      session.expectedSeq &+= 1
      try await write(frame(.ack))
      do { _ = try await awaitFrame(what, where: matches) } catch CaseEnd.finding {
        throw CaseEnd.finding(finding)
      }
      throw CaseEnd.skip("the device sends too few DATA frames without an acknowledgement")
    }
  }

  /// Sends requests, each after the previous one's answer, and acknowledges none of the answers.
  func unacknowledgedAnswers(_ count: Int) async throws -> [WireFrame] {
    var answers: [WireFrame] = []
    for index in 0..<count {
      // Wrap-around is the rule: numbers are modulo 256.
      let number = session.expectedSeq &+ UInt8(index)
      try await sendData([0x0A, 3, 0])
      answers.append(try await awaitFurther("answer \(index)") { $0.kind == .data && $0.seq == number })
    }
    return answers
  }

  /// Sends requests at once and acknowledges none of the answers, which it returns.
  func answersTogether(_ count: Int) async throws -> [WireFrame] {
    var requests: [UInt8] = []
    for index in 0..<count {
      // Wrap-around is the rule: numbers are modulo 256.
      requests += data([0x0A, 3, 0], seq: session.nextSeq &+ UInt8(index)).bytes
    }
    session.nextSeq &+= UInt8(count)
    session.room -= count
    try await write(requests)
    var answers: [WireFrame] = []
    for index in 0..<count {
      let number = session.expectedSeq &+ UInt8(index)
      answers.append(try await awaitFurther("answer \(number)") { $0.kind == .data && $0.seq == number })
    }
    return answers
  }

  /// The DATA frames that the device has handled, modulo 256.
  func handled() async throws -> UInt8 {
    try await write(frame(.ping))
    let pong = try await awaitFrame(.pong)
    session.observe(pong)
    return try require(pong.payload.first, "PONG without payload")
  }

  /// Sends reads until one of them waits, because nothing is acknowledged or there is no credit for
  /// the answers. Returns how many DATA frames the device has handled.
  func fillRequests() async throws -> UInt8 {
    while session.nextSeq < 100 {
      try await awaitRoom()
      try await sendData([0x0A, 3, 0])
      guard try await !handlesAll(within: .milliseconds(100)) else { continue }
      let count = try await handled()
      if count != session.nextSeq { return count }
    }
    throw CaseEnd.skip("the device has room for the answers to \(session.nextSeq) requests")
  }
}

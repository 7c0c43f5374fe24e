import NotibotProtocol

/// Checks a peer and its line after a case that failed, with questions whose answers are always the
/// same: PING and the SYN of the live session, or a read if there is no session.
enum Echo {
  private static let readsCount = 4
  private static let openingAttempts = 6
  /// Questions of a check, and the time after which no further one is asked: some cases exchange
  /// more bytes, few of them exchange as many.
  static let questionsLimit = 240
  private static let timeLimit = Duration.seconds(3)
  /// More than an answer takes that is not lost, also behind 115 200 baud and a USB bridge.
  private static let answerLimit = Duration.milliseconds(150)
  /// What a question is lengthened by, so that it meets as many faults as a long frame.
  private static let padding = [UInt8](repeating: 0x55, count: 200)
  /// The largest difference between echoes on a peer that is not late: more than the 16 ms for
  /// which a USB bridge collects bytes, far less than the 200 ms after which a device is allowed to
  /// retransmit (LNK-51).
  static let spreadLimit = Duration.milliseconds(50)

  /// The lateness of the peer's slowest echo, compared with its fastest, and the quality of the
  /// line. Zero and clean if the peer always takes the same time and answers everything, and if it
  /// does not answer: that is the device's own fault.
  static func check(_ bench: Bench) async -> (lateness: Duration, line: LineQuality) {
    let probe = Probe(line: bench.probe.line, role: .host, record: Record(), seed: ~bench.seed)
    probe.bearer = bench.probe.bearer
    probe.discardReceived()
    var times: [Duration] = []
    var line = LineCheck()
    do {
      switch probe.bearer {
      case .session: try await ask(probe, times: &times, &line)
      case .connection:
        try await probe.open()
        for _ in 0..<readsCount {
          let start = probe.now
          _ = try await probe.readCount()
          times.append(probe.now - start)
        }
      }
    } catch {
      // What was found until then counts.
    }
    let spread = (times.max() ?? .zero) - (times.min() ?? .zero)
    return (spread > spreadLimit ? spread : .zero, line.quality)
  }

  private static func ask(_ probe: Probe, times: inout [Duration], _ check: inout LineCheck) async throws {
    let nonce = probe.makeNonce()
    // An unknown TLV is ignored (LNK-7), and so is the payload of a PING (LNK-3).
    let syn = probe.syn(Probe.synTLVs(nonce: nonce) + [TLV(0x7F, padding)])
    try await probe.open(Probe.synTLVs(nonce: nonce), attempts: openingAttempts)
    let id = probe.session.id
    let start = probe.now
    for index in 0..<questionsLimit where probe.now - start < timeLimit && !check.isDecided {
      let question = LineCheck.Question.allCases[index % LineCheck.Question.allCases.count]
      guard check.isAnswerable(question) else { continue }
      let (frame, answer) =
        switch question {
        case .ping: (probe.frame(.ping, payload: padding), WireFrame.Kind.pong)
        case .syn: (syn, .synAck)
        }
      let sent = probe.now
      try await probe.write(frame)
      let found = try await listen(to: probe, for: answer, session: id)
      if found.isAnswered, question == .ping { times.append(probe.now - sent) }
      check.corrupt += found.corrupt
      // A log line inside a frame is the device's own fault (FRM-14).
      if !found.hasLogInFrame { check.note(question, isAnswered: found.isAnswered) }
      if found.hasEnded {
        check = LineCheck()
        return
      }
    }
    try await probe.write(probe.frame(.fin))
  }

  private struct Heard {
    var isAnswered = false
    var corrupt = 0
    var hasLogInFrame = false
    /// Whether the device has restarted, or does not know the session any more.
    var hasEnded = false
  }

  /// Everything up to the answer, or until it is too late.
  private static func listen(
    to probe: Probe, for answer: WireFrame.Kind, session: UInt16
  ) async throws -> Heard {
    var heard = Heard()
    let deadline = probe.now + answerLimit
    while let item = try await probe.nextItem(until: deadline) {
      switch item {
      case .frame(let frame) where frame.kind == answer && frame.session == session:
        heard.isAnswered = true
        return heard
      case .frame(let frame): heard.hasEnded = heard.hasEnded || [.hello, .rst, .fin].contains(frame.kind)
      case .text(let bytes) where item.isBinary:
        heard.corrupt += 1
        heard.hasLogInFrame = heard.hasLogInFrame || bytes.contains(0x0A) && bytes.count >= 20
      case .text: break
      }
    }
    return heard
  }
}

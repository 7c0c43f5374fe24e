import NotibotProtocol
import SuiteWire

/// Answered and lost questions of a check, in their order, and what they say about the line.
///
/// A line damages any frame, at random. A device that answers one kind of question never, or some
/// of them in a regular pattern, or one kind well and the other badly, is at fault on its own.
struct LineCheck {
  enum Question: CaseIterable {
    /// Answered with PONG (LNK-52).
    case ping
    /// The SYN of the live session, answered with its SYNACK (LNK-13).
    case syn
  }

  /// Lost questions, all of one kind or all at the same distance, that are not the line's doing: on
  /// a line, each kind is lost as often as the other, so that this has a probability of 1 in 32.
  static let patternLimit = 6
  /// Lost questions of each kind that are enough evidence.
  static let lostLimit = 4

  private var outcomes: [(question: Question, isAnswered: Bool)] = []
  var corrupt = 0

  mutating func record(_ question: Question, isAnswered: Bool) { outcomes.append((question, isAnswered)) }

  /// Whether a question is worth asking: it has been answered, or not been asked often.
  func isAnswerable(_ question: Question) -> Bool {
    let asked = outcomes.filter { $0.question == question }
    return asked.count < 4 || asked.contains { $0.isAnswered }
  }

  /// Whether more questions would not change the result.
  var isDecided: Bool { Question.allCases.allSatisfy { lost($0).count >= Self.lostLimit } }

  /// The positions of the lost questions of a kind between its first and its last answered one: a
  /// device that begins or ceases to answer is no line that loses bytes.
  private func lost(_ question: Question) -> [Int] {
    let answered = outcomes.indices.filter { outcomes[$0].question == question && outcomes[$0].isAnswered }
    guard let first = answered.first, let last = answered.last else { return [] }
    return (first...last).filter { outcomes[$0].question == question && !outcomes[$0].isAnswered }
  }

  var quality: LineQuality {
    let byKind = Question.allCases.map(lost)
    let all = byKind.flatMap(\.self).sorted()
    let gaps = Set(zip(all, all.dropFirst()).map { $1 - $0 })
    let hasPattern = all.count >= Self.patternLimit && (gaps.count == 1 || byKind.contains([]))
    return LineQuality(asked: outcomes.count, lost: hasPattern ? 0 : all.count, corrupt: corrupt)
  }
}

/// Asking the questions.
extension LineCheck {
  /// Questions of a check, and the time after which no further one is asked: some cases exchange
  /// more bytes, few of them exchange as many.
  static let questionsLimit = 240
  private static let timeLimit = Duration.seconds(3)
  private static let openingAttempts = 6
  /// More than an answer takes that is not lost, also behind 115 200 baud and a USB bridge.
  private static let answerLimit = Duration.milliseconds(150)
  /// XON, XOFF, and the value that telnet and PARMRK double.
  private static let specialValues: [UInt8] = [0x11, 0x13, 0xFF]
  /// What a question is lengthened by, so that it meets as many faults as a long frame.
  private static let padding = [UInt8](repeating: 0x55, count: 200)

  /// The quality of a bench's line after a case. Clean if there is no session, or if the device
  /// does not answer: that is its own fault.
  static func quality(of bench: Bench) async -> LineQuality {
    guard case .session = bench.probe.bearer else { return LineQuality() }
    let probe = Probe(line: bench.probe.line, role: .host, record: Record(), seed: bench.seed)
    // Nonces that the device has not seen.
    probe.identities = bench.probe.identities
    probe.discardReceived()
    var check = LineCheck()
    var blocked: Set<UInt8> = []
    do {
      try await ask(probe, &check)
      if check.quality.isClean { blocked = try await blockedValues(probe) }
    } catch {
      // What was found until the line ended counts.
    }
    var quality = check.quality
    quality.blocked = blocked
    return quality
  }

  /// The special values without an answer to any SYN that carries them, although other SYNs are
  /// answered. A nonce goes in both directions. That the firmware's own console driver removes them
  /// (FRM-16) looks the same.
  private static func blockedValues(_ probe: Probe) async throws -> Set<UInt8> {
    var answered: [UInt8: Int] = [:]
    for _ in 0..<4 {
      // In random order: a device that drops frames in a pattern is at fault on its own.
      for value in ([0x55, 0x55] + specialValues).shuffled(using: &probe.random) {
        // Other bytes of it are not special.
        let nonce = probe.makeNonce() & 0x0F0F_0F0F | 0x4040_4040 | UInt64(value) * 0x0101_0101_0000_0000
        do {
          try await probe.openSession(Probe.synTLVs(nonce: nonce), attempts: 1)
          answered[value, default: 0] += 1
        } catch CaseEnd.finding {
          // No answer.
        }
      }
    }
    try await probe.write(probe.frame(.fin))
    guard answered[0x55, default: 0] >= 7 else { return [] }
    return Set(specialValues.filter { answered[$0] == nil })
  }

  private static func ask(_ probe: Probe, _ check: inout LineCheck) async throws {
    let nonce = probe.makeNonce()
    // An unknown TLV is ignored (LNK-7), and so is the payload of a PING (LNK-3).
    let syn = probe.syn(Probe.synTLVs(nonce: nonce) + [TLV(0x7F, padding)])
    try await probe.open(Probe.synTLVs(nonce: nonce), attempts: openingAttempts)
    let id = probe.session.id
    let start = probe.now
    for index in 0..<questionsLimit where probe.now - start < timeLimit && !check.isDecided {
      let question = Question.allCases[index % 2]
      guard check.isAnswerable(question) else { continue }
      let (frame, answer) =
        switch question {
        case .ping: (probe.frame(.ping, payload: padding), WireFrame.Kind.pong)
        case .syn: (syn, .synAck)
        }
      try await probe.write(frame)
      let found = try await listen(to: probe, for: answer, session: id)
      check.corrupt += found.corrupt
      // A log line inside a frame is the device's own fault (FRM-14).
      if !found.hasLogInFrame { check.record(question, isAnswered: found.isAnswered) }
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

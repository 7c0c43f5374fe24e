import NotibotProtocol
import SuiteWire

/// The state of a device's link, as far as PROTOCOL.md determines it: the frames that the device
/// must send, and those that it is allowed to send. If the text leaves a choice, every choice is
/// accepted.
///
/// Written from section 2 alone, for a line without transmission time.
struct LinkModel: Sendable {
  /// The live session.
  struct Session: Sendable {
    let id: UInt16
    let nonce: UInt64
    /// The LIMITS in the SYN.
    let frames: Int
    let bytes: Int
    /// Whether a frame of it was received (LNK-16).
    var isConfirmed = false
    var lastReceived: Instant
    /// The next number expected from the host. All numbers count from the beginning of the session.
    var expected = 0
    /// The frames held after a hole, with their responses, nil for none.
    var held: [Int: [UInt8]?] = [:]
    /// The pending responses, in order.
    var responses: [[UInt8]] = []
    /// The device's oldest unacknowledged frame, and the next one.
    var oldest = 0
    var next = 0
    var payloads: [Int: [UInt8]] = [:]
    /// The first and the latest transmission of each frame, as numbers of transmissions.
    var firstSent: [Int: Int] = [:]
    var lastSent: [Int: Int] = [:]
    var transmissions = 0
    var limit = 0
    /// When the resend timer was started (LNK-51), and when it expired last.
    var timerStart: Instant
    var resendTime: Instant?
    /// The largest sum of the device's ack and credit, and its latest ack.
    var granted: Int
    var acknowledged = 0
    var lastAcknowledged = Instant.zero
    /// The distance of the last out-of-order number from `expected` (LNK-33).
    var lastAhead: Int?
    /// The frames that the latest bitmap of the host named.
    var named: Set<Int> = []

    /// The device's unacknowledged frames.
    var sent: Range<Int> { oldest..<next }

    /// The decoded size of the frames that the host has not handled (LNK-42).
    var unhandledBytes: Int {
      let handled = max(0, limit - frames)
      return (handled..<max(handled, next)).reduce(0) { $0 + (payloads[$1]?.count ?? 0) + 12 }
    }
  }

  /// The frames that the device must send soon after a burst, and those that it is allowed to send.
  struct Due: Sendable {
    /// The required RSTs, SYNACKs and ACKs of FIN.
    var answers: [LinkAnswer] = []
    /// The SYNACK of a session that ended within the burst.
    var optional: [LinkAnswer] = []
    var pongs = 0
    /// The largest number of NAKs without payload for the current hole, and for all holes.
    var holes = 0
    var allHoles = 0
    /// Whether a bitmap must report the held frames.
    var reportsHeld = false
    /// Whether DATA was received in order, which an ack must report.
    var isTaken = false
    /// Whether a frame was outside the window, which an ACK must answer.
    var isOutOfWindow = false
    /// The frames that a NAK requests again.
    var again: Set<Int> = []
    var hasNAK = false
    /// The sessions that ended in the burst, and whether the end was answered.
    var ended: Set<UInt16> = []
    var isAnswered = false
    /// Whether there was a burst; otherwise only timers make the device send.
    var isBurst = false
    var start: Instant
    /// The device's next number at the beginning of the burst.
    var next = 0
    /// What the device has sent so far: any ack, NAKs for the current hole, the latest bitmap.
    var isAcknowledged = false
    var holeNAKs = 0
    var bitmap: UInt64?
  }

  /// The device's announced `frames`.
  let deviceFrames: Int
  let unacknowledgedLimit: Int
  /// Whether the device keeps frames after a hole.
  let keeps: Bool
  /// The nonces that the device remembers (LNK-14), the latest first.
  private(set) var nonces: [UInt64] = []
  private(set) var lastID: UInt16
  var session: Session?
  private(set) var timesOfRSTs: [Instant] = []
  var due: Due

  /// - Parameter lastID: the id of the session before the walk.
  init(deviceFrames: Int, unacknowledgedLimit: Int, keeps: Bool, lastID: UInt16, at now: Instant) {
    due = Due(start: now)
    self.deviceFrames = deviceFrames
    self.unacknowledgedLimit = unacknowledgedLimit
    self.keeps = keeps
    self.lastID = lastID
  }

  /// Whether one more RST for a frame of another session is certain to be sent (LNK-20).
  func hasRST(at now: Instant) -> Bool {
    timesOfRSTs.filter { now - $0 < .milliseconds(1050) }.count < 10
  }

  // MARK: Frames of the host

  /// Begins a burst of frames that the device receives at once.
  mutating func beginBurst(at now: Instant) {
    due = Due(start: now)
    (due.isBurst, due.next) = (true, session?.next ?? 0)
  }

  /// A valid SYN.
  mutating func receiveSYN(nonce: UInt64, frames: Int, bytes: Int, at now: Instant) {
    if let session, session.nonce == nonce {
      due.answers.append(.synAck(session: session.id, nonce: nonce))
      return
    }
    guard !nonces.contains(nonce) else { return }
    nonces = [nonce] + nonces.prefix(7)
    end()
    lastID = lastID == .max ? 1 : lastID + 1
    session = Session(
      id: lastID, nonce: nonce, frames: frames, bytes: bytes, lastReceived: now, timerStart: now,
      granted: deviceFrames)
    due.answers.append(.synAck(session: lastID, nonce: nonce))
  }

  /// A SYN that is refused.
  mutating func receiveRefused(nonce: UInt64, reason: UInt64) {
    due.answers.append(.rst(session: 0, nonce: nonce, reason: reason))
  }

  /// Any other well-formed frame.
  mutating func receive(_ frame: WireFrame, response: [UInt8]?, at now: Instant) {
    guard frame.session == session?.id, session != nil else {
      guard [.data, .ack, .nak, .ping].contains(frame.kind) else { return }
      due.answers.append(.rst(session: frame.session, reason: 1))
      timesOfRSTs.append(now)
      return
    }
    guard frame.kind != .rst else { return }
    session?.isConfirmed = true
    session?.lastReceived = now
    if frame.kind != .udata { receiveNumbers(of: frame, at: now) }
    switch frame.kind {
    case .data: receiveData(frame, response)
    case .nak: receiveNAK(frame)
    case .ping: due.pongs += 1
    case .fin:
      due.answers.append(.ack(session: frame.session))
      end()
    case .hello, .syn, .synAck, .ack, .udata, .pong, .rst: break
    }
  }

  /// The session has gone down (LNK-53).
  mutating func goDown() { session = nil }

  private mutating func end() {
    if let session { due.ended.insert(session.id) }
    session = nil
    let (answers, ended) = (due.answers, due.ended)
    due = Due(start: due.start)
    due.optional = answers.filter { answer in
      if case .synAck(let session, _) = answer { ended.contains(session) } else { false }
    }
    due.answers = answers.filter { !due.optional.contains($0) }
    (due.ended, due.isBurst) = (ended, true)
  }

  /// Source: LNK-31, LNK-41.
  private mutating func receiveNumbers(of frame: WireFrame, at now: Instant) {
    guard var session else { return }
    let ahead = Int(frame.ack &- UInt8(truncatingIfNeeded: session.oldest))
    guard ahead <= session.next - session.oldest else { return }
    session.limit = max(session.limit, session.oldest + ahead + Int(min(frame.credit, 64)))
    if ahead > 0 { session.timerStart = now }
    session.oldest += ahead
    self.session = session
  }

  /// Source: LNK-32, LNK-33.
  private mutating func receiveData(_ frame: WireFrame, _ response: [UInt8]?) {
    guard var session else { return }
    let ahead = Int(frame.seq &- UInt8(truncatingIfNeeded: session.expected))
    if ahead == 0 {
      accept(response, in: &session)
      while let held = session.held.removeValue(forKey: session.expected) { accept(held, in: &session) }
      session.lastAhead = nil
      (due.holes, due.reportsHeld, due.isTaken) = (0, false, true)
    } else if ahead < deviceFrames {
      if keeps {
        session.held[session.expected + ahead] = .some(response)
        due.reportsHeld = true
      }
      if session.lastAhead.map({ ahead <= $0 }) ?? true {
        due.holes += 1
        due.allHoles += 1
      }
      session.lastAhead = ahead
    } else {
      due.isOutOfWindow = true
    }
    self.session = session
  }

  private func accept(_ response: [UInt8]?, in session: inout Session) {
    session.expected += 1
    if let response { session.responses.append(response) }
  }

  /// Source: LNK-34.
  private mutating func receiveNAK(_ frame: WireFrame) {
    // A possible ack has been applied by now, so that it is the oldest number.
    guard let session, frame.ack == UInt8(truncatingIfNeeded: session.oldest) else { return }
    due.hasNAK = true
    let bitmap = frame.payload.isEmpty ? 0 : Wire.number(Array(frame.payload.prefix(8)))
    let held = session.sent.filter {
      $0 > session.oldest && bitmap >> UInt64($0 - session.oldest - 1) & 1 == 1
    }
    self.session?.named = Set(held)
    let latest = held.compactMap { session.firstSent[$0] }.max() ?? -1
    due.again.formUnion(
      session.sent.filter { bitmap == 0 || !held.contains($0) && session.lastSent[$0] ?? .max < latest })
  }
}

import DequeModule
package import NotibotProtocol

/// An action for the driver of a supervisor.
package enum SupervisorAction: Hashable, Sendable {
  /// Find the ports that can be the device's; answer with `portsFound`, the best first, or with
  /// `openFailed` and the reason.
  case findPorts
  /// Open this port; the answer is `portOpened` or `openFailed`. A port that is still closing is
  /// waited for.
  case open(path: String)
  /// Close the port at once, or give up opening it; report no more of its events.
  case close
  /// Request a session, without a limit: this machine has its own.
  case connect
  case changed(ConnectionChange)
}

/// Keeps one device connected: finds its port, opens it, requests sessions, and starts over,
/// indefinitely.
///
/// States: *idle* → `start` → *finding* → `portsFound` → *opening* → `portOpened` → *connecting* →
/// `sessionOpened` → *up*.
/// - *finding*, *opening* → `openFailed`, or patience over → the next candidate, or *waiting* →
///   time, or `portsChanged` → *finding*.
/// - *connecting* → patience over → the port is closed; the next candidate, or *waiting*. A refused
///   session likewise.
/// - *connecting* → a board with another id → closed; the next candidate, or *waiting*.
/// - *up* → the session ends → *connecting* on the same port; after short sessions *resting* first.
/// - *connecting*, *resting*, *up* → `portGone` → *finding* at once, or *waiting* after failures.
/// - *finding*, *opening* in the first round → all candidates failed for good → *ended*. Any →
///   `stop` → *ended*.
/// Any other input in a state is late, and is ignored; a port that opens too late is closed. Each
/// state has a deadline, except *up*, whose session has timers, *idle*, which `start` ends, and
/// *ended*.
package struct SupervisorMachine: Equatable, Sendable {
  package enum State: Equatable, Sendable {
    case idle
    case finding(Round, deadline: Instant)
    /// The round's first candidate is being opened.
    case opening(Round, deadline: Instant)
    /// The port is open and a session is requested. `candidates` of the round begins with this
    /// port.
    case connecting(Round, Attempt)
    /// The port is open; a session is requested at `until`.
    case resting(port: String, until: Instant, reason: ConnectionReason)
    case up(Session)
    case waiting(until: Instant)
    case ended
  }

  /// One pass through the candidates.
  package struct Round: Equatable, Sendable {
    var reason: ConnectionReason
    /// Those not tried yet; the first is being tried.
    var candidates: [String] = []
    /// Whether the ports changed since it began, so that a failed one can work by now.
    var isOutdated = false
    /// The first failure that does not resolve with time; used in the first round only.
    var failure: PortFailure?
    /// Whether another failure happened that can resolve with time.
    var mayHeal = false
  }

  package struct Attempt: Equatable, Sendable {
    var port: String
    var startedAt: Instant
    /// When the port is closed if no session was opened.
    var deadline: Instant
  }

  package struct Session: Equatable, Sendable {
    var port: String
    var info: DeviceInfo
    var openedAt: Instant
  }

  /// Ports that are remembered as another board's.
  static let avoidedLimit = 64
  /// Changes remembered as reported since the last session, at most.
  static let reportedLimit = 64

  let options: SupervisorOptions
  package internal(set) var state = State.idle
  /// The only accepted board; pinned by the first session.
  package internal(set) var deviceID: String?
  var actions = Deque<SupervisorAction>()
  /// The port of the last session.
  var lastPort: String?
  /// Attempts and short sessions in a row.
  var failures = 0
  /// Times in a row that the patience was exhausted.
  var unanswered = 0
  var isFirstRound = true
  var attemptedAt: Instant?
  /// Ports that are skipped, with the end of the pause.
  var avoided: [String: Instant] = [:]
  var lastReported: ConnectionChange?
  var reported: Set<ConnectionChange> = []

  package init(options: SupervisorOptions) {
    self.options = options
    deviceID = options.expectedDeviceID?.uppercased()
  }

  // MARK: Commands

  /// Begins. Ignored when begun already.
  package mutating func start(now: Instant) {
    guard state == .idle else { return }
    find(.first, now: now)
  }

  /// Ends; an open port is closed. The driver sends FIN to the device first.
  package mutating func stop(now: Instant) {
    switch state {
    case .idle, .finding, .opening, .waiting: end(.stopped)
    case .connecting, .resting, .up:
      actions.append(.close)
      end(.stopped)
    case .ended: break
    }
  }

  // MARK: Inputs about ports

  /// The ports that can be the device's, the best first; the one used last is tried before them.
  package mutating func portsFound(_ ports: [String], now: Instant) {
    guard case .finding(var round, _) = state else { return }
    round.candidates = ordered(ports.filter { !isAvoided($0, now: now) })
    guard let first = round.candidates.first else {
      if ports.isEmpty { record(.noPort, in: &round) }
      return finish(round, now: now)
    }
    open(first, round, now: now)
  }

  /// The requested port is open.
  package mutating func portOpened(now: Instant) {
    switch state {
    case .opening(let round, _):
      guard let port = round.candidates.first else { return }
      connect(port, round, patience: patience, now: now)
    case .ended, .waiting: actions.append(.close)
    case .idle, .finding, .connecting, .resting, .up: break
    }
  }

  /// The requested port cannot be opened, or the ports cannot be listed.
  package mutating func openFailed(_ failure: PortFailure, now: Instant) {
    switch state {
    case .finding(var round, _):
      record(failure, in: &round)
      finish(round, now: now)
    case .opening(var round, _):
      record(failure, in: &round)
      tryNext(round, now: now)
    case .idle, .connecting, .resting, .up, .waiting, .ended: break
    }
  }

  /// The open port has ended.
  package mutating func portGone(now: Instant) {
    switch state {
    case .connecting(let round, _):
      actions.append(.close)
      report(.down, .portGone)
      var round = round
      round.mayHeal = true
      tryNext(round, now: now)
    case .resting: lose(now: now)
    case .up(let session):
      recordEnd(of: session, now: now)
      lose(now: now)
    case .idle, .finding, .opening, .waiting, .ended: break
    }
  }

  /// A device was plugged in or unplugged: a failed port can work by now.
  package mutating func portsChanged(now: Instant) {
    for port in avoided.keys { avoided[port] = now }
    switch state {
    case .finding(var round, let deadline):
      round.isOutdated = true
      state = .finding(round, deadline: deadline)
    case .opening(var round, let deadline):
      round.isOutdated = true
      state = .opening(round, deadline: deadline)
    case .connecting(_, let attempt):
      // The right board can have returned while another one is probed.
      guard let lastPort, attempt.port != lastPort else { return }
      actions.append(.close)
      find(.portAppeared, now: now)
    case .waiting:
      let earliest = attemptedAt.map { $0 + options.attemptSpacing } ?? now
      if now >= earliest { find(.portAppeared, now: now) } else { state = .waiting(until: earliest) }
    case .idle, .resting, .up, .ended: break
    }
  }

  // MARK: Inputs about sessions

  /// A session is open.
  package mutating func sessionOpened(_ info: DeviceInfo, now: Instant) {
    guard case .connecting(let round, let attempt) = state else { return }
    let seen = info.deviceID?.uppercased()
    if let deviceID, seen != deviceID {
      avoid(attempt.port, now: now)
      actions.append(.close)
      report(.down, .otherBoard(port: attempt.port, expected: deviceID, seen: seen))
      var round = round
      round.mayHeal = true
      return tryNext(round, now: now)
    }
    deviceID = seen
    lastPort = attempt.port
    isFirstRound = false
    unanswered = 0
    state = .up(Session(port: attempt.port, info: info, openedAt: now))
    report(.up(port: attempt.port, info), .answered)
  }

  /// The session is over, or was not granted.
  package mutating func sessionEnded(_ end: SessionEnd, now: Instant) {
    switch state {
    case .connecting(let round, let attempt): fail(end, round, attempt, now: now)
    case .up(let session): reconnect(after: end, session, now: now)
    case .idle, .finding, .opening, .resting, .waiting, .ended: break
    }
  }

  /// Text or a HELLO was received: the device is alive, and may be starting.
  package mutating func handleSignOfLife(now: Instant) {
    guard case .connecting(let round, var attempt) = state else { return }
    attempt.deadline = max(attempt.deadline, attempt.startedAt + options.restartPatience)
    state = .connecting(round, attempt)
  }

  /// No frame was received for 3 s.
  package mutating func suspected(now: Instant) {
    guard case .up = state else { return }
    report(.suspect, .silent)
  }

  /// A frame was received again.
  package mutating func recovered(now: Instant) {
    guard case .up(let session) = state else { return }
    report(.up(port: session.port, session.info), .recovered)
  }

  /// Executes everything that is due.
  package mutating func handleTimeout(now: Instant) {
    switch state {
    case .finding(_, let deadline) where now >= deadline:
      openFailed(.late("find", "ports", after: options.openPatience), now: now)
    case .opening(let round, let deadline) where now >= deadline:
      actions.append(.close)
      let port = round.candidates.first ?? "port"
      openFailed(.late("open", port, after: options.openPatience), now: now)
    case .waiting(let until) where now >= until: find(.retried, now: now)
    case .resting(let port, let until, let reason) where now >= until:
      connect(port, Round(reason: reason, candidates: [port]), patience: patience, now: now)
    case .connecting(let round, let attempt) where now >= attempt.deadline:
      giveUp(round, attempt, now: now)
    case .idle, .finding, .opening, .connecting, .resting, .up, .waiting, .ended: break
    }
  }

  // MARK: Outputs

  /// The next action, or `nil`.
  package mutating func nextAction() -> SupervisorAction? {
    actions.popFirst()
  }

  /// Why the port cannot be opened, if that was the last report.
  package var openFailure: PortFailure? {
    if case .openFailed(let failure)? = lastReported?.reason { failure } else { nil }
  }

  /// When to call `handleTimeout`; `nil`: not before another input.
  package var nextDeadline: Instant? {
    switch state {
    case .idle, .up, .ended: nil
    case .finding(_, let deadline), .opening(_, let deadline): deadline
    case .connecting(_, let attempt): attempt.deadline
    case .resting(_, let until, _), .waiting(let until): until
    }
  }
}

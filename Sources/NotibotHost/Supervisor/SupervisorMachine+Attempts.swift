import NotibotProtocol

// The steps after an attempt, a session or a port.
extension SupervisorMachine {
  // MARK: Rounds

  mutating func find(_ reason: ConnectionReason, now: Instant) {
    attemptedAt = now
    state = .finding(Round(reason: reason), deadline: now + options.openPatience)
    actions.append(.findPorts)
  }

  /// The one used last first; no port twice.
  func ordered(_ ports: [String]) -> [String] {
    var ordered: [String] = []
    if let lastPort, ports.contains(lastPort) { ordered.append(lastPort) }
    for port in ports where !ordered.contains(port) { ordered.append(port) }
    return ordered
  }

  /// Leaves the first candidate and opens the next one, if there is one.
  mutating func tryNext(_ round: Round, now: Instant) {
    var round = round
    if !round.candidates.isEmpty { round.candidates.removeFirst() }
    guard let next = round.candidates.first else { return finish(round, now: now) }
    open(next, round, now: now)
  }

  /// Opens the first candidate of a round.
  mutating func open(_ port: String, _ round: Round, now: Instant) {
    state = .opening(round, deadline: now + options.openPatience)
    actions.append(.open(path: port))
  }

  /// A round ended without a session.
  mutating func finish(_ round: Round, now: Instant) {
    failures += 1
    if isFirstRound, !round.mayHeal, let failure = round.failure { return end(.openFailed(failure)) }
    isFirstRound = false
    let pause = round.isOutdated ? options.attemptSpacing : pause(failures)
    state = .waiting(until: now + pause)
  }

  mutating func record(_ failure: PortFailure, in round: inout Round) {
    if failure.healsByWaiting {
      round.mayHeal = true
    } else {
      round.failure = round.failure ?? failure
    }
    // In the first round it can be final, and is reported in that case.
    if !isFirstRound || failure.healsByWaiting { report(.down, .openFailed(failure)) }
  }

  mutating func end(_ reason: ConnectionReason) {
    state = .ended
    report(.ended, reason)
  }

  // MARK: Sessions

  mutating func connect(_ port: String, _ round: Round, patience: Duration, now: Instant) {
    state = .connecting(round, Attempt(port: port, startedAt: now, deadline: now + patience))
    report(.connecting(port: port), round.reason)
    actions.append(.connect)
  }

  /// No session was opened in time: only reopening the port helps a receiver that has gone deaf.
  mutating func giveUp(_ round: Round, _ attempt: Attempt, now: Instant) {
    unanswered += 1
    actions.append(.close)
    report(.down, .noAnswer)
    // A board that is probed in place of the missing one is not probed indefinitely.
    if let lastPort, attempt.port != lastPort { avoid(attempt.port, now: now) }
    var round = round
    round.mayHeal = true
    guard round.candidates.count <= 1 else { return tryNext(round, now: now) }
    // The pause is already over.
    isFirstRound = false
    state = .waiting(until: now + options.firstPause)
  }

  /// The attempt to open a session ended.
  mutating func fail(_ end: SessionEnd, _ round: Round, _ attempt: Attempt, now: Instant) {
    switch end {
    case .noAnswer: giveUp(round, attempt, now: now)
    case .portGone, .connectionLost: portGone(now: now)
    case .closed:
      actions.append(.close)
      self.end(.stopped)
    case .refused, .profileMissing:
      actions.append(.close)
      report(.down, ConnectionReason(end))
      var round = round
      round.mayHeal = true
      tryNext(round, now: now)
    case .deviceRestarted, .unknownToDevice, .closedByDevice, .silent, .applicationStalled,
      .transactionTimedOut, .bearerBroken:
      failures += 1
      report(.down, ConnectionReason(end))
      rest(at: attempt.port, ConnectionReason(end), patience: patience, now: now)
    }
  }

  /// An open session ended; the port is still open, except for one kind of end.
  mutating func reconnect(after end: SessionEnd, _ session: Session, now: Instant) {
    switch end {
    case .portGone, .connectionLost: return portGone(now: now)
    case .closed:
      actions.append(.close)
      return self.end(.stopped)
    case .noAnswer, .refused, .deviceRestarted, .unknownToDevice, .closedByDevice, .silent,
      .applicationStalled, .transactionTimedOut, .bearerBroken, .profileMissing:
      break
    }
    recordEnd(of: session, now: now)
    let reason = ConnectionReason(end)
    report(.down, reason)
    let isStarting = if case .deviceRestarted = end { true } else { false }
    rest(
      at: session.port, reason, patience: isStarting ? options.restartPatience : patience, now: now)
  }

  /// Requests a session on the open port: at once, or after a pause if there were failures before.
  mutating func rest(at port: String, _ reason: ConnectionReason, patience: Duration, now: Instant) {
    if let pause = pauseAfterSession {
      state = .resting(port: port, until: now + pause, reason: reason)
    } else {
      connect(port, Round(reason: reason, candidates: [port]), patience: patience, now: now)
    }
  }

  mutating func recordEnd(of session: Session, now: Instant) {
    if now - session.openedAt >= options.shortSession { failures = 0 } else { failures += 1 }
  }

  /// The port of a session is lost.
  mutating func lose(now: Instant) {
    actions.append(.close)
    report(.down, .portGone)
    if let pause = pauseAfterSession {
      state = .waiting(until: now + pause)
    } else {
      find(.retried, now: now)
    }
  }

  // MARK: Times

  var patience: Duration {
    min(options.sessionPatience * (1 << min(unanswered, 8)), options.restartPatience)
  }

  /// `nil` after a session of sufficient length, and after the first short one.
  private var pauseAfterSession: Duration? {
    failures <= 1 ? nil : pause(failures - 1)
  }

  /// Doubles with each failure.
  private func pause(_ failures: Int) -> Duration {
    min(options.firstPause * (1 << min(max(failures - 1, 0), 16)), options.longestPause)
  }

  // MARK: Other boards

  func isAvoided(_ port: String, now: Instant) -> Bool {
    avoided[port].map { now < $0 } ?? false
  }

  mutating func avoid(_ port: String, now: Instant) {
    if avoided.count >= Self.avoidedLimit, avoided[port] == nil { avoided = [:] }
    avoided[port] = now + options.otherBoardRest
  }

  // MARK: Reporting

  /// Reports a change unless it is a repetition: a failure is reported once since the last session,
  /// not each time.
  mutating func report(_ state: ConnectionChange.State, _ reason: ConnectionReason) {
    let change = ConnectionChange(state, reason)
    switch state {
    case .connecting:
      // The reason for the retry does not matter here.
      guard reported.insert(ConnectionChange(state, .retried)).inserted else { return }
    case .down:
      let isDown = lastReported?.state == .down
      let isNew = reported.insert(change).inserted
      guard !isDown || isNew && !reason.isMissingPort else { return }
    case .up: reported = []
    case .suspect, .ended: break
    }
    if reported.count > Self.reportedLimit { reported = [change] }
    lastReported = change
    actions.append(.changed(change))
  }
}

extension ConnectionReason {
  /// Why a session ended, or was not granted, for observers of the connection.
  init(_ end: SessionEnd) {
    self =
      switch end {
      case .closed: .stopped
      case .noAnswer: .noAnswer
      case .deviceRestarted: .deviceRestarted
      case .unknownToDevice: .unknownToDevice
      case .closedByDevice: .closedByDevice
      case .silent: .silent
      case .portGone, .connectionLost: .portGone
      case .applicationStalled: .misbehaved("the link answers, the application does not (10 s)")
      case .transactionTimedOut: .misbehaved("a request had no answer for 30 s")
      case .bearerBroken(let fault): .misbehaved("\(fault)")
      case .profileMissing: .refused("the device has no Notibot service")
      case .refused(.noCommonVersion, let versions):
        .refused("it speaks protocol versions \(versions.lowest) to \(versions.highest), this host 1")
      case .refused(let reason, _): .refused("it refused the session (RST reason \(reason.wire))")
      }
  }

  /// Whether it only means that the port is missing, which is already known after its loss.
  fileprivate var isMissingPort: Bool {
    if case .openFailed(let failure) = self { failure.code == .noBoard } else { false }
  }
}

extension PortFailure {
  /// There is no port to try.
  static let noPort = PortFailure(
    code: .noBoard, port: "port", operation: "find", reason: "no board is connected",
    hint: "plug the board in", healsByWaiting: true)

  /// The operation has no result yet. It is given up, and begun again.
  static func late(_ operation: String, _ port: String, after limit: Duration) -> PortFailure {
    PortFailure(
      code: .noAnswer, port: port, operation: operation, reason: "no result in \(limit.components.seconds) s",
      hint: "check the cable, the server, and the kernel's messages", healsByWaiting: true)
  }
}

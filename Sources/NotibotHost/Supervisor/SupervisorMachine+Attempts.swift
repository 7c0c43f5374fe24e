import NotibotProtocol

// What comes after an attempt, a session or a port.
extension SupervisorMachine {
  // MARK: Rounds

  mutating func find(_ reason: ConnectionReason, now: Instant) {
    attemptedAt = now
    state = .finding(Round(reason: reason))
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
    state = .opening(round)
    actions.append(.open(path: next))
  }

  /// A round brought no session.
  mutating func finish(_ round: Round, now: Instant) {
    failures += 1
    if isFirstRound, !round.mayHeal, let failure = round.failure { return end(.openFailed(failure)) }
    isFirstRound = false
    let pause = round.isOutdated ? options.attemptSpacing : pause(failures)
    state = .waiting(until: now + pause)
  }

  mutating func note(_ failure: PortFailure, in round: inout Round) {
    if failure.healsByWaiting {
      round.mayHeal = true
    } else {
      round.failure = round.failure ?? failure
    }
    // In the first round it may be the end, and is told then.
    if !isFirstRound || failure.healsByWaiting { tell(.down, .openFailed(failure)) }
  }

  mutating func end(_ reason: ConnectionReason) {
    state = .ended
    tell(.ended, reason)
  }

  // MARK: Sessions

  mutating func connect(_ port: String, _ round: Round, patience: Duration, now: Instant) {
    state = .connecting(round, Attempt(port: port, startedAt: now, deadline: now + patience))
    tell(.connecting(port: port), round.reason)
    actions.append(.connect)
  }

  /// No session came about in time: only opening the port anew helps a receiver that has gone deaf.
  mutating func giveUp(_ round: Round, _ attempt: Attempt, now: Instant) {
    unanswered += 1
    actions.append(.close)
    tell(.down, .noAnswer)
    // Who is asked in the place of the board that is missed is not asked for ever.
    if let lastPort, attempt.port != lastPort { avoid(attempt.port, now: now) }
    var round = round
    round.mayHeal = true
    guard round.candidates.count <= 1 else { return tryNext(round, now: now) }
    // It has been waited for already.
    isFirstRound = false
    state = .waiting(until: now + options.firstPause)
  }

  /// The attempt to open a session ended.
  mutating func fail(_ end: SessionEnd, _ round: Round, _ attempt: Attempt, now: Instant) {
    switch end {
    case .noAnswer: giveUp(round, attempt, now: now)
    case .portGone: portGone(now: now)
    case .closed:
      actions.append(.close)
      self.end(.stopped)
    case .refused, .profileMissing:
      actions.append(.close)
      tell(.down, ConnectionReason(end))
      var round = round
      round.mayHeal = true
      tryNext(round, now: now)
    case .deviceRestarted, .unknownToDevice, .closedByDevice, .silent, .applicationStalled,
      .transactionTimedOut, .bearerBroken:
      failures += 1
      tell(.down, ConnectionReason(end))
      rest(at: attempt.port, ConnectionReason(end), patience: patience, now: now)
    }
  }

  /// A session that was open ended; the port is still there, but for one end.
  mutating func reconnect(after end: SessionEnd, _ session: Session, now: Instant) {
    switch end {
    case .portGone: return portGone(now: now)
    case .closed:
      actions.append(.close)
      return self.end(.stopped)
    case .noAnswer, .refused, .deviceRestarted, .unknownToDevice, .closedByDevice, .silent,
      .applicationStalled, .transactionTimedOut, .bearerBroken, .profileMissing:
      break
    }
    noteEnd(of: session, now: now)
    let reason = ConnectionReason(end)
    tell(.down, reason)
    let isStarting = if case .deviceRestarted = end { true } else { false }
    rest(
      at: session.port, reason, patience: isStarting ? options.restartPatience : patience, now: now)
  }

  /// Asks for a session on the open port: at once, or after a pause if there were failures before.
  mutating func rest(at port: String, _ reason: ConnectionReason, patience: Duration, now: Instant) {
    if let pause = pauseAfterSession {
      state = .resting(port: port, until: now + pause, reason: reason)
    } else {
      connect(port, Round(reason: reason, candidates: [port]), patience: patience, now: now)
    }
  }

  mutating func noteEnd(of session: Session, now: Instant) {
    if now - session.openedAt >= options.shortSession { failures = 0 } else { failures += 1 }
  }

  /// The port is gone that a session was on.
  mutating func lose(now: Instant) {
    actions.append(.close)
    tell(.down, .portGone)
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

  /// `nil` after a session that was none too short, and after the first that was.
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

  // MARK: Telling

  /// Tells a change unless it is no news: what failed once since the last session is not told each time that it fails.
  mutating func tell(_ state: ConnectionChange.State, _ reason: ConnectionReason) {
    let change = ConnectionChange(state, reason)
    switch state {
    case .connecting:
      // Why it is asked for again does not matter here.
      guard told.insert(ConnectionChange(state, .retried)).inserted else { return }
    case .down:
      let isDown = lastTold?.state == .down
      let isNew = told.insert(change).inserted
      guard !isDown || isNew && !reason.isMissingPort else { return }
    case .up: told = []
    case .suspect, .ended: break
    }
    if told.count > Self.toldLimit { told = [change] }
    lastTold = change
    actions.append(.changed(change))
  }
}

extension ConnectionReason {
  /// Why a session ended, or was not granted, for whoever watches the connection.
  init(_ end: SessionEnd) {
    self =
      switch end {
      case .closed: .stopped
      case .noAnswer: .noAnswer
      case .deviceRestarted: .deviceRestarted
      case .unknownToDevice: .unknownToDevice
      case .closedByDevice: .closedByDevice
      case .silent: .silent
      case .portGone: .portGone
      case .applicationStalled: .misbehaved("the link answers, the application does not (10 s)")
      case .transactionTimedOut: .misbehaved("a request had no answer for 30 s")
      case .bearerBroken(let fault): .misbehaved("\(fault)")
      case .profileMissing: .refused("the device has no Notibot service")
      case .refused(.noCommonVersion, let versions):
        .refused("it speaks protocol versions \(versions.lowest) to \(versions.highest), this host 1")
      case .refused(let reason, _): .refused("it refused the session (RST reason \(reason.wire))")
      }
  }

  /// Whether it only says that the port is not there, which after its loss is no news.
  fileprivate var isMissingPort: Bool {
    if case .openFailed(let failure) = self { failure.code == .noBoard } else { false }
  }
}

extension PortFailure {
  /// There is no port to try.
  static let noPort = PortFailure(
    code: .noBoard, port: "port", operation: "find", reason: "no board is connected",
    hint: "plug the board in", healsByWaiting: true)
}

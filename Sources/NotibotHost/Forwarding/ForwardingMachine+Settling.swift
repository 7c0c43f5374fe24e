import NotibotProtocol

// Passes the actions of each of the three machines to the machine that executes them.
extension ForwardingMachine {
  /// An action for one machine can cause an action for another, so this repeats until none has any.
  /// Those of the supervisor and of the outbox cause only actions that are executed after them.
  mutating func settle(now: Instant) {
    repeat {
      drainSupervisor(now: now)
      drainOutbox(now: now)
    } while drainHost(now: now) || advance(now: now)
  }

  private mutating func drainSupervisor(now: Instant) {
    while let action = supervisor.nextAction() {
      switch action {
      case .findPorts: actions.append(.findPorts)
      case .open(let path): actions.append(.open(path: path))
      case .close:
        leavePort(now: now)
        actions.append(.close)
      // A session that has ended while this side is closing is the last one.
      case .connect where phase == .closing: break
      case .connect:
        host.setIdentity(source: outbox.header.source, run: outbox.header.run)
        host.connect(clock: clock(now: now), now: now)
      case .changed(let change): actions.append(.connection(change))
      }
    }
  }

  private mutating func drainOutbox(now: Instant) {
    while let action = outbox.nextAction() {
      switch action {
      case .subscribe: requests[host.submit(.subscribe(.all), now: now)] = .subscription
      case .sync(let request): host.sendSync(request, now: now)
      case .write(let tag, let json): requests[host.submit(.sendEncoded(json), now: now)] = .write(tag: tag)
      case .commit(let changes): actions.append(.commit(changes))
      case .taken(let source, let press): host.sendTaken(source: source, press: press, now: now)
      case .report(let report): actions.append(.report(report))
      }
    }
  }

  /// Returns whether something has happened.
  @discardableResult
  private mutating func drainHost(now: Instant) -> Bool {
    var hasMoved = false
    while let action = host.nextAction() {
      hasMoved = true
      switch action {
      case .write(let bytes): actions.append(.write(bytes))
      case .text(let bytes):
        supervisor.handleSignOfLife(now: now)
        actions.append(.text(bytes))
      case .completed(let id, let result): complete(id, result, now: now)
      case .event(let event): receive(event, now: now)
      case .opened(let info):
        supervisor.sessionOpened(info, now: now)
        // Else it is another board, and the port closes again.
        if case .up = supervisor.state { outbox.sessionOpened(info, now: now) }
      case .ended(let reason):
        outbox.sessionEnded(now: now)
        supervisor.sessionEnded(reason, now: now)
      }
    }
    return hasMoved
  }

  private mutating func complete(_ id: HostRequestID, _ result: HostResult, now: Instant) {
    switch requests.removeValue(forKey: id) {
    case .subscription: outbox.subscribed(result, now: now)
    case .write(let tag): outbox.writeCompleted(tag: tag, result, now: now)
    case nil: break
    }
  }

  private mutating func receive(_ event: HostEvent, now: Instant) {
    switch event {
    case .countChanged(let count): outbox.countChanged(count, now: now)
    case .device(let event): outbox.receive(event, now: now)
    case .sync(let message): outbox.receive(message, now: now)
    case .log(let bytes): actions.append(.text(bytes))
    case .suspected: supervisor.suspected(now: now)
    case .recovered: supervisor.recovered(now: now)
    }
  }

  /// The supervisor closes the port. A session on it, of another board, ends with FIN; bytes of it
  /// that have not left are of no use at the next port.
  private mutating func leavePort(now: Instant) {
    host.close(now: now)
    host.handleWritability(true, now: now)
    drainHost(now: now)
    host.receiveEndOfStream(now: now)
    while let action = host.nextAction() {
      switch action {
      case .completed(let id, let result): complete(id, result, now: now)
      case .text(let bytes): actions.append(.text(bytes))
      // The supervisor knows.
      case .ended: outbox.sessionEnded(now: now)
      case .write, .event, .opened: break
      }
    }
  }

  // MARK: The end

  /// Goes on to the next phase if the present one is done. Returns whether something has happened.
  private mutating func advance(now: Instant) -> Bool {
    switch phase {
    case .idle, .finished: return false
    case .running:
      guard outbox.hasFailed || supervisor.state == .ended else { return false }
      return beginClosing(now: now)
    case .finishing:
      guard outbox.isFinished || outbox.hasFailed || supervisor.state == .ended else { return false }
      return beginClosing(now: now)
    case .stopping(let deadline):
      guard outbox.isSettled || supervisor.state == .ended || now >= deadline else { return false }
      return beginClosing(now: now)
    case .closing:
      guard host.isClosed else { return false }
      guard supervisor.state == .ended else {
        supervisor.stop(now: now)
        return true
      }
      guard outbox.isSettled else { return false }
      // The port closes first.
      drainSupervisor(now: now)
      phase = .finished
      actions.append(.finished)
      return false
    }
  }

  private mutating func beginClosing(now: Instant) -> Bool {
    phase = .closing
    outbox.stop(now: now)
    host.close(now: now)
    return true
  }
}

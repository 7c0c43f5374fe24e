package import NIOCore

/// The one timer of a machine's driver on an event loop.
package struct DriverTimer {
  private enum State {
    case idle
    case armed(Scheduled<Void>, deadline: NIODeadline)
  }

  private var state = State.idle

  package init() {}

  /// Calls `fire` at `deadline` or earlier; `noteFired` is then the first thing to do. A timer that
  /// is set for an earlier time stays.
  package mutating func arm(
    for deadline: NIODeadline, on loop: any EventLoop, fire: @escaping @Sendable () -> Void
  ) {
    switch state {
    // A timer that fires early finds nothing due and is armed again, which costs less than a change
    // per frame.
    case .armed(_, let armed) where armed <= deadline: return
    case .armed(let scheduled, _): scheduled.cancel()
    case .idle: break
    }
    state = .armed(loop.scheduleTask(deadline: deadline, fire), deadline: deadline)
  }

  package mutating func noteFired() {
    state = .idle
  }

  package mutating func cancel() {
    if case .armed(let scheduled, _) = state { scheduled.cancel() }
    state = .idle
  }
}

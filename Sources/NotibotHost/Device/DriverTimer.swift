import NIOCore
import NotibotProtocol

/// The one timer of a machine's driver on an event loop.
struct DriverTimer {
  private enum State {
    case idle
    case armed(Scheduled<Void>, deadline: Instant)
  }

  private var state = State.idle

  /// Calls `fire` at `deadline` or earlier; `noteFired` is then the first thing to do.
  mutating func arm(for deadline: Instant, on loop: any EventLoop, fire: @escaping @Sendable () -> Void) {
    switch state {
    // A timer that fires early finds nothing due and is armed again, which costs less than a change
    // per frame.
    case .armed(_, let armed) where armed <= deadline: return
    case .armed(let scheduled, _): scheduled.cancel()
    case .idle: break
    }
    let at = NIODeadline.uptimeNanoseconds(UInt64(max(0, deadline.nanoseconds)))
    state = .armed(loop.scheduleTask(deadline: at, fire), deadline: deadline)
  }

  mutating func noteFired() {
    state = .idle
  }

  mutating func cancel() {
    if case .armed(let scheduled, _) = state { scheduled.cancel() }
    state = .idle
  }
}

extension EventLoop {
  /// The current time, on the clock of the machines and of this loop's timers.
  var instant: Instant {
    Instant(nanoseconds: Int64(now.uptimeNanoseconds))
  }
}

package import NIOCore

/// The one timer of a machine's driver on an event loop.
///
/// A process that did not run for a while finds its timers expired, and the input of that time
/// still unread. A peer must not be blamed for this, so that a timer that fires late lets the loop
/// read first.
package struct DriverTimer {
  private enum State {
    case idle
    case armed(Scheduled<Void>, deadline: NIODeadline)
    /// It fired late, and the loop reads before it fires again.
    case reading(Scheduled<Void>, until: NIODeadline)
  }

  /// A timer that fires later than this is late.
  private static let tolerance = TimeAmount.milliseconds(20)
  /// The loop reads in this time. If a turn of the loop takes longer than this and `tolerance`, the
  /// timer is late once more.
  private static let readingTime = TimeAmount.milliseconds(25)
  /// How often in succession the loop reads first, so that a computer that is always late does not
  /// postpone everything forever.
  private static let readingsLimit = 100

  private var state = State.idle
  private var readings = 0
  /// What `arm` was last given.
  private var fire: @Sendable () -> Void = {}

  package init() {}

  /// Calls `fire` at `deadline` or earlier; `fires(on:)` is then the first thing to do. A timer
  /// that is set for an earlier time stays.
  package mutating func arm(
    for deadline: NIODeadline, on loop: any EventLoop, fire: @escaping @Sendable () -> Void
  ) {
    switch state {
    case .reading: return
    // A timer that fires early finds nothing due and is armed again, which costs less than a change
    // per frame.
    case .armed(_, let armed) where armed <= deadline: return
    case .armed(let scheduled, _): scheduled.cancel()
    case .idle: break
    }
    self.fire = fire
    state = .armed(loop.scheduleTask(deadline: deadline, fire), deadline: deadline)
  }

  /// Whether the driver can do now what is due. It cannot if the timer is late, also for a deadline
  /// that had passed when it was armed: then the timer fires again after the loop has read.
  package mutating func fires(on loop: any EventLoop) -> Bool {
    let deadline: NIODeadline
    switch state {
    case .idle: return true
    case .armed(_, let armed): deadline = armed
    case .reading(_, let until): deadline = until
    }
    let now = loop.now
    guard now - deadline > Self.tolerance, readings < Self.readingsLimit else {
      (state, readings) = (.idle, 0)
      return true
    }
    readings += 1
    let until = now + Self.readingTime
    state = .reading(loop.scheduleTask(deadline: until, fire), until: until)
    return false
  }

  package mutating func cancel() {
    switch state {
    case .armed(let scheduled, _), .reading(let scheduled, _): scheduled.cancel()
    case .idle: break
    }
    (state, readings, fire) = (.idle, 0, {})
  }
}

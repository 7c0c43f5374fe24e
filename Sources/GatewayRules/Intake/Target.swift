import NotibotProtocol

/// An item of a sender: the notification that has its name.
struct Target: Hashable, Sendable {
  /// A push that waits for the change in progress.
  struct Work: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      case show(DisplayNotification)
      case clear
    }

    var kind: Kind
    var ticket: IntakeMachine.Ticket
  }

  /// What is known of a Live Activity.
  struct Activity: Hashable, Sendable {
    struct Held: Hashable, Sendable {
      var notification: DisplayNotification
      /// The last one's state is shown.
      var tickets: [IntakeMachine.Ticket]
    }

    /// Of the newest state or of the end; 0: none.
    var timestampMs: Int64 = 0
    var isEnded = false
    var lastWrite: WallTime?
    var held: Held?

    /// Whether a state of this time is a newer one.
    func takes(_ time: Int64, isStart: Bool) -> Bool {
      time == 0 || time > timestampMs || time == timestampMs && (isStart || !isEnded)
    }

    /// When the held state may be written.
    func heldUntil(_ intervalMs: Int64) -> WallTime? {
      held.map { _ in lastWrite?.adding(milliseconds: intervalMs) ?? WallTime(milliseconds: 0) }
    }
  }

  /// The notification that shows it.
  var number: Int64?
  /// Whether a change is in progress.
  var isChanging = false
  var waiting: [Work] = []
  var activity = Activity()

  /// Pushes that wait for one target, at most.
  static let waitingLimit = 1000

  var isEmpty: Bool {
    number == nil && !isChanging && waiting.isEmpty && activity.timestampMs == 0 && activity.held == nil
  }

  /// Whether the held state may be written.
  func isDue(_ now: WallTime, _ intervalMs: Int64) -> Bool {
    guard activity.held != nil, !isChanging else { return false }
    return isFree(now, intervalMs)
  }

  func isFree(_ now: WallTime, _ intervalMs: Int64) -> Bool {
    activity.lastWrite.map { now >= $0.adding(milliseconds: intervalMs) } ?? true
  }
}

/// A change that is on its way to the outbox.
struct Flight: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case add(DisplayNotification)
    case update(Int64, DisplayNotification)
    case remove(Int64)
    /// Of an item that has two after a crash.
    case removeSecond(Int64)
  }

  var kind: Kind
  var target: [UInt8]?
  /// The last one's change it is; the others' states were replaced by it.
  var tickets: [IntakeMachine.Ticket]
}

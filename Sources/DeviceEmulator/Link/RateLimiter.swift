import NotibotProtocol

/// Allows at most `limit` events in any window of time.
struct RateLimiter: Equatable, Sendable {
  private let limit: Int
  private let window: Duration
  /// The times of the last `limit` events, oldest first.
  private var passed: [Instant] = []

  /// - Parameters:
  ///   - limit: events in a window, 1 or more.
  ///   - window: the length of the window.
  init(limit: Int, window: Duration) {
    self.limit = limit
    self.window = window
  }

  /// Whether an event is allowed now; if so, it counts.
  mutating func allows(now: Instant) -> Bool {
    if passed.count == limit {
      guard now - passed[0] >= window else { return false }
      passed.removeFirst()
    }
    passed.append(now)
    return true
  }
}

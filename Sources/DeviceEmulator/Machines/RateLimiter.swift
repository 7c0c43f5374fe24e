import NotibotProtocol

/// Lets at most so many events pass in any window of so much time.
struct RateLimiter: Equatable, Sendable {
  private let limit: Int
  private let window: Duration
  /// When the last `limit` events passed, oldest first.
  private var passed: [Instant] = []

  /// - Parameters:
  ///   - limit: events in a window, 1 or more.
  ///   - window: how long an event counts.
  init(limit: Int, window: Duration) {
    self.limit = limit
    self.window = window
  }

  /// Whether an event may pass now; if so, it counts.
  mutating func allows(now: Instant) -> Bool {
    if passed.count == limit {
      guard now - passed[0] >= window else { return false }
      passed.removeFirst()
    }
    passed.append(now)
    return true
  }
}

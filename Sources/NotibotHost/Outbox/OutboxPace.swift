import NotibotProtocol

/// How fast new notifications are sent to a store that may be full.
///
/// States: *open* → refused because the store is full → *full* → room is possible → *probing* →
/// refused → *full*, or accepted, with twice the window each time, → *open*.
struct OutboxPace: Equatable, Sendable {
  typealias Level = NotificationDetails.Level

  enum State: Equatable {
    case open
    /// Only notifications above `level` are tried before `retryAt`: they can evict others (NTF-25).
    case full(level: Level, retryAt: Instant, delayNs: Int64)
    case probing(window: Int, delayNs: Int64)
  }

  static let firstDelayNs: Int64 = 5_000_000_000
  static let lastDelayNs: Int64 = 60_000_000_000

  private(set) var state = State.open

  /// New contents in flight, at most, if the next one has this level.
  func window(for level: Level) -> Int {
    switch state {
    case .open: OutboxSession.windowLimit
    case .full(let refused, _, _): level > refused ? 1 : 0
    case .probing(let window, _): window
    }
  }

  /// When it is time to try again.
  var retryAt: Instant? {
    switch state {
    case .full(_, let retryAt, _): retryAt
    case .open, .probing: nil
    }
  }

  /// A content of this level was refused because the store is full. Returns whether that is a
  /// change.
  mutating func handleRefused(level: Level, now: Instant) -> Bool {
    switch state {
    case .open:
      state = .full(
        level: level, retryAt: now.after(ns: Self.firstDelayNs), delayNs: Self.firstDelayNs)
      return true
    case .full(let refused, let retryAt, let delayNs):
      state = .full(level: max(level, refused), retryAt: retryAt, delayNs: delayNs)
    case .probing(let window, let delayNs):
      // If some were accepted, room comes and goes; otherwise wait longer.
      let delayNs = window > 1 ? Self.firstDelayNs : min(delayNs * 2, Self.lastDelayNs)
      state = .full(level: level, retryAt: now.after(ns: delayNs), delayNs: delayNs)
    }
    return false
  }

  mutating func handleAccepted() {
    switch state {
    case .open, .full: break
    case .probing(let window, let delayNs):
      state = window * 2 > OutboxSession.windowLimit ? .open : .probing(window: window * 2, delayNs: delayNs)
    }
  }

  /// Room is possible now. Returns whether that changes anything.
  mutating func tryAgain() -> Bool {
    switch state {
    case .open, .probing: return false
    case .full(_, _, let delayNs):
      state = .probing(window: 1, delayNs: delayNs)
      return true
    }
  }
}

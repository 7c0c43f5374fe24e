/// When a lost connection is made again: after pauses that double, a limited number of times.
///
/// States: *up* → `lost` → *down*, with a pause before each attempt → `connected` → *up*. A
/// connection that is lost soon counts as an attempt that failed.
struct Reconnection: Equatable {
  private enum State: Equatable {
    case up(since: ContinuousClock.Instant)
    case down(since: ContinuousClock.Instant)
  }

  /// Attempts in succession.
  static let attemptsLimit = 6
  /// No attempt begins later than this after the loss.
  static let limit = Duration.seconds(60)
  static let firstPause = Duration.milliseconds(500)
  static let longestPause = Duration.seconds(8)
  /// A connection that lasted this long was a good one.
  static let goodLife = Duration.seconds(5)

  private var state: State
  private(set) var failures = 0

  /// A connection was made for the first time.
  init(now: ContinuousClock.Instant) { state = .up(since: now) }

  var isUp: Bool {
    switch state {
    case .up: true
    case .down: false
    }
  }

  /// It was made again.
  mutating func connected(now: ContinuousClock.Instant) { state = .up(since: now) }

  /// It was lost, or an attempt failed. Returns the pause before the next attempt; `nil`: give up.
  mutating func lost(now: ContinuousClock.Instant) -> Duration? {
    let start: ContinuousClock.Instant
    switch state {
    case .up(let since):
      failures = now - since < Self.goodLife ? failures + 1 : 0
      start = now
    case .down(let since):
      failures += 1
      start = since
    }
    state = .down(since: start)
    let pause = min(Self.longestPause, Self.firstPause * (1 << min(failures, 8)))
    return failures < Self.attemptsLimit && now + pause - start <= Self.limit ? pause : nil
  }
}

/// A point on a monotonic clock that the caller owns.
///
/// Machines never read a clock: the driver passes the current time, from the kernel in production
/// and from a counter in tests. Only differences are meaningful; the driver chooses the origin.
package struct Instant: Comparable, Hashable, Sendable {
  /// Nanoseconds since the driver's origin.
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  package static let zero = Instant(nanoseconds: 0)

  package static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The moment `interval` after `start`.
  package static func + (start: Instant, interval: Duration) -> Instant {
    Instant(nanoseconds: start.nanoseconds + interval.wholeNanoseconds)
  }

  /// The time from `start` to `end`; negative if `end` is earlier.
  package static func - (end: Instant, start: Instant) -> Duration {
    .nanoseconds(end.nanoseconds - start.nanoseconds)
  }
}

extension Duration {
  /// This duration in nanoseconds, rounded towards zero. Traps beyond ±292 years, which no timer
  /// here reaches.
  package var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}

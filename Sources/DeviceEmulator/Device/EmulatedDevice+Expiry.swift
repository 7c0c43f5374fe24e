import NotibotProtocol

/// The clock that a host has set. Source: PROTOCOL.md LNK-5, CLOCK.
struct TimeOfDay: Equatable, Sendable {
  /// Seconds since 1970-01-01 UTC at `moment`. Clamped to the range of `exp`: beyond it, everything
  /// that can expire has expired.
  private let seconds: Int64
  private let moment: Instant

  /// - Parameter seconds: since 1970-01-01 UTC, as sent by a host; clamped to the range of `exp`.
  init(seconds: Int64, at moment: Instant) {
    self.seconds = min(max(0, seconds), Int64(UInt32.max))
    self.moment = moment
  }

  /// Seconds since 1970-01-01 UTC.
  func seconds(at now: Instant) -> UInt32 {
    UInt32(clamping: seconds + (now - moment).wholeNanoseconds / 1_000_000_000)
  }

  /// When the clock reaches this many seconds since 1970-01-01 UTC; `moment` if it already has.
  func moment(of expires: UInt32) -> Instant {
    moment + .seconds(max(0, Int64(expires) - seconds))
  }
}

/// The time of day. Source: PROTOCOL.md NTF-27.
extension EmulatedDevice {
  /// When the next notification expires; nil if none does, or the application does not run.
  var expiryDeadline: Instant? {
    switch application {
    case .stalled: return nil
    case .handling: break
    }
    guard let timeOfDay, let expires = attributes.store.nextExpiry else { return nil }
    return timeOfDay.moment(of: expires)
  }

  /// Hides expired notifications.
  mutating func expireDue() {
    guard let timeOfDay, let expires = attributes.store.nextExpiry else { return }
    let seconds = timeOfDay.seconds(at: clock)
    if expires <= seconds { attributes.expire(at: seconds) }
  }
}

import NotibotProtocol

/// What a clock that a host has set says. Source: PROTOCOL.md LNK-5, CLOCK.
struct TimeOfDay: Equatable, Sendable {
  /// Seconds since 1970-01-01 UTC at `moment`. In the range of `exp`: beyond it all that can expire has expired.
  private let seconds: Int64
  private let moment: Instant

  /// - Parameter seconds: since 1970-01-01 UTC, as a host told; brought into the range of `exp`.
  init(seconds: Int64, at moment: Instant) {
    self.seconds = min(max(0, seconds), Int64(UInt32.max))
    self.moment = moment
  }

  /// Seconds since 1970-01-01 UTC.
  func seconds(at now: Instant) -> UInt32 {
    UInt32(clamping: seconds + (now - moment).wholeNanoseconds / 1_000_000_000)
  }

  /// When it will be so many seconds since 1970-01-01 UTC; `moment` if it has been.
  func moment(of expires: UInt32) -> Instant {
    moment + .seconds(max(0, Int64(expires) - seconds))
  }
}

/// The time of day. Source: PROTOCOL.md NTF-27.
extension EmulatedDevice {
  /// When something expires; nil when nothing does, or nobody is there to see to it.
  var expiryDeadline: Instant? {
    switch application {
    case .stalled: return nil
    case .handling: break
    }
    guard let timeOfDay, let expires = attributes.store.nextExpiry else { return nil }
    return timeOfDay.moment(of: expires)
  }

  /// Hides what has expired.
  mutating func expireDue() {
    guard let timeOfDay, let expires = attributes.store.nextExpiry else { return }
    let seconds = timeOfDay.seconds(at: clock)
    if expires <= seconds { attributes.expire(at: seconds) }
  }
}

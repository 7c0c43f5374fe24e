import NotibotProtocol

/// What a clock that a host has set says. Source: PROTOCOL.md LNK-5, CLOCK.
struct TimeOfDay: Equatable, Sendable {
  /// What a host may set, in seconds since 1970-01-01 UTC. At the end all that can expire has expired; the beginning
  /// is 34 years before the least `exp`, so far that an earlier one makes no difference and no sum overflows.
  private static let range = -(Int64(1) << 30)...Int64(UInt32.max)

  /// Seconds since 1970-01-01 UTC at `moment`.
  private let seconds: Int64
  private let moment: Instant

  /// - Parameter seconds: since 1970-01-01 UTC, as a host sent it; brought into `range`.
  init(seconds: Int64, at moment: Instant) {
    self.seconds = min(max(Self.range.lowerBound, seconds), Self.range.upperBound)
    self.moment = moment
  }

  /// Seconds since 1970-01-01 UTC; `nil` before that, when nothing can have expired.
  func seconds(at now: Instant) -> UInt32? {
    let seconds = seconds + (now - moment).wholeNanoseconds / 1_000_000_000
    return seconds < 0 ? nil : UInt32(clamping: seconds)
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
    guard let seconds = timeOfDay.seconds(at: clock) else { return }
    if expires <= seconds { attributes.expire(at: seconds) }
  }
}

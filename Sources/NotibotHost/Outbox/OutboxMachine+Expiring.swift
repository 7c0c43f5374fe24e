import NotibotProtocol

// Notifications that expire before the device has them. From their first write on the device
// decides. Source: PROTOCOL.md NTF-27; docs/JOURNAL.md, Expiry.
extension OutboxMachine {
  /// The time of day, and the instant at which it was set.
  struct Clock: Equatable, Sendable {
    var seconds: Int64
    var at: Instant
  }

  /// How often the driver is asked for the time of day while a queued notification can expire: a
  /// clock that is set forward counts at most so much later.
  static let clockInterval = Duration.seconds(60)

  /// The time of day, in seconds since 1970-01-01 UTC; `nil`: not known.
  func seconds(at now: Instant) -> Int64? {
    clock.map { $0.seconds + now.nanoseconds(since: $0.at) / 1_000_000_000 }
  }

  /// Whether the newest content of an entry has expired.
  func isExpired(_ entry: OutboxEntry, at now: Instant) -> Bool {
    guard let expires = entry.content.details.expires, let seconds = seconds(at: now) else { return false }
    return Int64(expires) <= seconds
  }

  /// Removes the queued notifications that have expired. One that was delivered once, and that the
  /// device lost, has left the display; any other was never there.
  mutating func expire(now: Instant) {
    guard !isStopping, let seconds = seconds(at: now) else { return }
    while let next = entries.nextExpiry, Int64(next.expires) <= seconds {
      guard let entry = entries[next.number] else { return }
      counts.expired += 1
      drop(entry.number, then: entry.isReported ? .gone(entry.number, .expired) : .expired(entry.number))
    }
  }

  /// When a queued notification expires, or the time of day is due.
  var expiryDeadline: Instant? {
    guard let clock, let next = entries.nextExpiry else { return nil }
    return min(clock.at + .seconds(max(0, Int64(next.expires) - clock.seconds)), clockDueAt)
  }
}

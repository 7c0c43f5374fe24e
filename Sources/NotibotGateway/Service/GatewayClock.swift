#if Gateway
import Foundation
import GatewayRules

/// Reads the clocks for the machines.
struct GatewayClock: Sendable {
  private static let start = (wall: GatewayClock.wall(), running: ContinuousClock.now)

  /// The time by which machines measure: the calendar of the start plus what has passed since. The
  /// calendar can be set while the gateway runs; this clock only runs forward.
  func now() -> WallTime {
    Self.start.wall.adding(milliseconds: Int64((ContinuousClock.now - Self.start.running) / .milliseconds(1)))
  }

  /// The calendar.
  func wall() -> WallTime { Self.wall() }

  private static func wall() -> WallTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// How far the calendar is ahead of `now()`.
  var wallLeadMs: Int64 { wall().milliseconds - now().milliseconds }

  /// The moment in the time zone of this computer, which is that of the display.
  func moment(isBoardUp: Bool) -> Moment {
    let wall = wall()
    var seconds = time_t(wall.seconds)
    var parts = tm()
    localtime_r(&seconds, &parts)
    return Moment(
      now: now(), wall: wall,
      local: LocalTime(
        day: Int(parts.tm_year) * 366 + Int(parts.tm_yday), minute: Int(parts.tm_hour * 60 + parts.tm_min)),
      isBoardUp: isBoardUp)
  }

  /// The calendar of a time zone of IANA, or of this computer's; nil: the zone is unknown.
  func calendar(zone name: String?) -> LocalCalendar? {
    guard let zone = name.map({ TimeZone(identifier: $0) }) ?? TimeZone.current else { return nil }
    return LocalCalendar(now: wall()) {
      Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0.seconds))))
    }
  }

  /// A new name for a push that has none.
  static func uuid() -> String { UUID().uuidString.lowercased() }

  /// Bytes for a new name of a message.
  static func randomBytes() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<12).map { _ in UInt8.random(in: 0...247, using: &generator) }
  }
}
#endif

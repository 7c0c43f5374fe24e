#if Gateway
import Foundation
import GatewayRules

/// Reads the clock for the intake.
struct GatewayClock: Sendable {
  func now() -> WallTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// The moment in the time zone of this computer, which is that of the display.
  func moment(isBoardUp: Bool) -> Moment {
    let now = now()
    var seconds = time_t(now.seconds)
    var parts = tm()
    localtime_r(&seconds, &parts)
    return Moment(
      now: now,
      local: LocalTime(
        day: Int(parts.tm_year) * 366 + Int(parts.tm_yday), minute: Int(parts.tm_hour * 60 + parts.tm_min)),
      isBoardUp: isBoardUp)
  }

  /// A new name for a push that has none.
  static func uuid() -> String { UUID().uuidString.lowercased() }
}
#endif

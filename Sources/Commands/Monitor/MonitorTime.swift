import Foundation
import NIOCore
import NotibotProtocol

/// The time of day of a monotonic moment, so that timestamps never go back when the clock is set.
struct MonitorTime {
  private let startedAt: Instant
  private let startedMicroseconds: Int64
  private var last: Instant?

  init() {
    startedAt = .current
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    startedMicroseconds = Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }

  /// Microseconds since 1970-01-01 UTC.
  func microseconds(at moment: Instant) -> Int64 {
    startedMicroseconds + (moment.nanoseconds - startedAt.nanoseconds) / 1000
  }

  /// `1763775000.123456`
  func epoch(at moment: Instant) -> String {
    let time = microseconds(at: moment)
    return "\(time / 1_000_000).\(Self.padded(time % 1_000_000, 6))"
  }

  /// The prefix of a line, with a space after it; empty without timestamps.
  mutating func prefix(_ kind: MonitorOptions.Timestamps, at moment: Instant) -> String {
    defer { last = moment }
    switch kind {
    case .none: return ""
    case .epoch: return epoch(at: moment) + " "
    case .delta:
      let passed = max(0, moment.nanoseconds - (last ?? moment).nanoseconds) / 1000
      return "+\(passed / 1_000_000).\(Self.padded(passed % 1_000_000, 6)) "
    case .clock: return String(broken(at: moment, isUTC: false).dropFirst(11)) + " "
    case .iso: return broken(at: moment, isUTC: true) + "Z "
    }
  }

  /// `2026-11-22T01:29:44.123`
  private func broken(at moment: Instant, isUTC: Bool) -> String {
    let time = microseconds(at: moment)
    var seconds = time_t(time / 1_000_000)
    var parts = tm()
    if isUTC { gmtime_r(&seconds, &parts) } else { localtime_r(&seconds, &parts) }
    let date = "\(parts.tm_year + 1900)-\(Self.padded(parts.tm_mon + 1, 2))-\(Self.padded(parts.tm_mday, 2))"
    let day =
      "\(Self.padded(parts.tm_hour, 2)):\(Self.padded(parts.tm_min, 2)):\(Self.padded(parts.tm_sec, 2))"
    return "\(date)T\(day).\(Self.padded(time % 1_000_000 / 1000, 3))"
  }

  private static func padded(_ number: some BinaryInteger, _ width: Int) -> String {
    let digits = "\(number)"
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

extension Instant {
  /// Now, on the clock of event loops; any thread.
  static var current: Instant { Instant(nanoseconds: Int64(NIODeadline.now().uptimeNanoseconds)) }
}

/// A time of the calendar, in milliseconds since 1970-01-01 UTC; the driver reads the clock.
///
/// The calendar can be set back and forth. A machine's `now` is therefore the time of its start
/// plus what has passed since, by a clock that only runs forward; `wallLeadMs` is how far the
/// calendar is ahead of it, for what is recorded or shown.
package struct WallTime: Hashable, Comparable, Sendable {
  package var milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  package init(seconds: Int64) {
    milliseconds = seconds * 1000
  }

  /// Rounded towards the past.
  package var seconds: Int64 { milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000 }

  package static func < (left: WallTime, right: WallTime) -> Bool { left.milliseconds < right.milliseconds }

  package func adding(milliseconds: Int64) -> WallTime {
    WallTime(milliseconds: self.milliseconds + milliseconds)
  }
}

/// The same moment on the clock on the wall of the display's place.
package struct LocalTime: Hashable, Sendable {
  /// Counted from any day; the next day has the next number.
  package var day: Int
  /// 0...1439.
  package var minute: Int

  package init(day: Int, minute: Int) {
    self.day = day
    self.minute = minute
  }
}

/// The local time of the sender of a message: where "tomorrow, 10am" is in time.
package struct LocalCalendar: Sendable {
  package var now: WallTime
  /// Seconds that local time is ahead of UTC at a time.
  package var offsetSeconds: @Sendable (WallTime) -> Int64

  package init(now: WallTime, offsetSeconds: @escaping @Sendable (WallTime) -> Int64) {
    self.now = now
    self.offsetSeconds = offsetSeconds
  }

  private var localSeconds: Int64 { now.seconds + offsetSeconds(now) }

  /// Seconds since midnight.
  fileprivate var second: Int64 { localSeconds - today * 86_400 }

  /// Days since 1970-01-01, a Thursday.
  fileprivate var today: Int64 {
    localSeconds >= 0 ? localSeconds / 86_400 : (localSeconds - 86_399) / 86_400
  }

  fileprivate var weekday: Int64 { (today % 7 + 11) % 7 }

  /// A second of a local day. One that a change of the clocks skips is an hour later.
  fileprivate func time(day: Int64, second: Int64) -> WallTime {
    let local = day * 86_400 + second
    let guess = WallTime(seconds: local - offsetSeconds(WallTime(seconds: local)))
    return WallTime(seconds: local - offsetSeconds(guess))
  }
}

/// The time of delivery of a delayed message. Source: docs.ntfy.sh/publish, Scheduled delivery.
enum PublishDelay {
  static let leastSeconds: Int64 = 10
  static let mostSeconds: Int64 = 3 * 86_400

  /// Reads a time of Unix, a duration, a time as in RFC 3339, or some English.
  static func due(_ text: String, in calendar: LocalCalendar) throws(PublishProblem) -> WallTime {
    let now = calendar.now
    let after = duration(text).map { now.adding(milliseconds: $0) }
    guard let due = unixTime(text, now) ?? after ?? date(text) ?? spoken(text, calendar) else {
      throw PublishProblem(
        .delayUnreadable,
        "the delay is not readable; use for example 30m, '2 days', 1639194738, 10am, 'tomorrow, 3pm' "
          + "or 'tuesday, 7am'")
    }
    guard due.seconds >= now.seconds + leastSeconds else {
      throw PublishProblem(.delayTooSmall, "the delay is below \(leastSeconds) s")
    }
    guard due.seconds <= now.seconds + mostSeconds else {
      throw PublishProblem(.delayTooLarge, "the delay is over 3 days")
    }
    return due
  }

  private static func unixTime(_ text: String, _ now: WallTime) -> WallTime? {
    guard let seconds = Int64(text), seconds >= now.seconds else { return nil }
    return WallTime(seconds: min(seconds, now.seconds + 2 * mostSeconds))
  }

  // MARK: Durations

  /// Seconds; longer ones count as this.
  private static let durationLimit = 1e9

  private static let units: [String: Double] = {
    let rows: [(Double, [String])] = [
      (1e-9, ["ns"]), (1e-6, ["us", "µs", "μs"]), (1e-3, ["ms"]),
      (1, ["s", "sec", "secs", "second", "seconds"]), (60, ["m", "min", "mins", "minute", "minutes"]),
      (3600, ["h", "hour", "hours"]), (86_400, ["d", "day", "days"]),
    ]
    return Dictionary(rows.flatMap { row in row.1.map { ($0, row.0) } }) { first, _ in first }
  }()

  /// Milliseconds of `1h30m`, `1.5h`, `30 min` or `in 2 days`.
  static func duration(_ text: String) -> Int64? {
    var rest = Substring(text.lowercased())
    if rest.hasPrefix("in ") { rest = rest.dropFirst(3) }
    let isNegative = rest.hasPrefix("-")
    if isNegative || rest.hasPrefix("+") { rest = rest.dropFirst() }
    var seconds = 0.0
    repeat {
      rest = rest.drop { $0 == " " }
      let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      rest = rest.dropFirst(number.count).drop { $0 == " " }
      let unit = rest.prefix(while: \.isLetter)
      rest = rest.dropFirst(unit.count)
      guard let value = Double(number.hasPrefix(".") ? "0" + number : number),
        let factor = units[String(unit)]
      else { return nil }
      seconds += value * factor
    } while !rest.isEmpty
    return Int64(min(seconds, durationLimit) * 1000) * (isNegative ? -1 : 1)
  }

  // MARK: Dates

  /// `2026-09-02T10:00:00+02:00`. Source: RFC 3339.
  private static func date(_ text: String) -> WallTime? {
    let bytes = Array(text.uppercased().utf8)
    guard bytes.count >= 20 else { return nil }
    func number(_ start: Int, _ count: Int) -> Int64? {
      guard start + count <= bytes.count else { return nil }
      return digits(bytes[start..<(start + count)])
    }
    func has(_ marks: String, at start: Int) -> Bool {
      start < bytes.count && marks.utf8.contains(bytes[start])
    }
    guard has("-", at: 4), has("-", at: 7), has("T ", at: 10), has(":", at: 13), has(":", at: 16),
      let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
      let minute = number(14, 2), let second = number(17, 2), (1...12).contains(month),
      (1...31).contains(day), hour < 24, minute < 60, second < 61
    else { return nil }
    var end = 19
    if has(".", at: end) { end += 1 + bytes[(end + 1)...].prefix { digits([$0]) != nil }.count }
    var offset: Int64 = 0
    if has("+-", at: end), let hours = number(end + 1, 2), has(":", at: end + 3),
      let minutes = number(end + 4, 2),
      end + 6 == bytes.count
    {
      offset = (hours * 60 + minutes) * (has("-", at: end) ? -60 : 60)
    } else if !has("Z", at: end) || end + 1 != bytes.count {
      return nil
    }
    return WallTime(seconds: ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - offset)
  }

  private static func digits(_ bytes: some Collection<UInt8>) -> Int64? {
    guard bytes.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return Int64(String(decoding: bytes, as: UTF8.self))
  }

  /// Days since 1970-01-01 of a date in the Gregorian calendar, for years from 0 to 9999.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    // Years that begin in March: a leap day is the last one.
    let years = month > 2 ? year : year - 1
    let months = (month + 9) % 12
    let leapDays = years >= 0 ? years / 4 - years / 100 + years / 400 : -1
    return years * 365 + leapDays + (months * 153 + 2) / 5 + day - 719_469
  }

  // MARK: English

  private static let weekdays = [
    "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
  ]
  private static let hours: [String: Int64] = [
    "midnight": 0, "morning": 8, "noon": 12, "afternoon": 15, "evening": 18, "tonight": 23,
  ]

  /// A day, a time of the day, or both. A day without a time is at the present time of the day; a
  /// time without a day that is over means tomorrow.
  private static func spoken(_ text: String, _ calendar: LocalCalendar) -> WallTime? {
    var (day, second): (Int64?, Int64?) = (nil, nil)
    var isWeekday = false
    var words = text.lowercased().split { $0 == "," || $0.isWhitespace }.map(String.init)
    words.removeAll { ["at", "on", "this", "next"].contains($0) }
    guard !words.isEmpty else { return nil }
    while !words.isEmpty {
      let word = words.removeFirst()
      if second == nil, let hour = hours[word] {
        second = hour * 3600
        continue
      }
      if second == nil, let time = timeOfDay(word + (words.first ?? "")) {
        words = Array(words.dropFirst())
        second = time
        continue
      }
      if second == nil, let time = timeOfDay(word) {
        second = time
        continue
      }
      guard day == nil, let ahead = daysAhead(word, calendar) else { return nil }
      (day, isWeekday) = (ahead, !word.hasPrefix("to"))
    }
    let time = calendar.time(day: calendar.today + (day ?? 0), second: second ?? calendar.second)
    guard time <= calendar.now, day == nil || isWeekday else { return time }
    return calendar.time(day: calendar.today + (isWeekday ? 7 : 1), second: second ?? calendar.second)
  }

  private static func daysAhead(_ word: String, _ calendar: LocalCalendar) -> Int64? {
    switch word {
    case "today": return 0
    case "tomorrow": return 1
    case _:
      guard word.count >= 3, let index = weekdays.firstIndex(where: { $0.hasPrefix(word) }) else {
        return nil
      }
      return (Int64(index) - calendar.weekday + 7) % 7
    }
  }

  /// `10am`, `3:30 pm`, `15:30`.
  private static func timeOfDay(_ word: String) -> Int64? {
    let letters = word.drop { $0.isASCII && ($0.isNumber || $0 == ":") }
    let parts = word.dropLast(letters.count).split(separator: ":", omittingEmptySubsequences: false)
    let suffix = letters.filter { $0 != "." }
    guard (1...2).contains(parts.count), let hour = digits(parts[0].utf8), (1...2).contains(parts[0].count),
      let minute = parts.count == 2 ? digits(parts[1].utf8) : 0, parts.count == 1 || parts[1].count == 2,
      minute < 60
    else { return nil }
    switch suffix {
    case "" where parts.count == 2 && hour < 24: return hour * 3600 + minute * 60
    case "am" where (1...12).contains(hour): return hour % 12 * 3600 + minute * 60
    case "pm" where (1...12).contains(hour): return (hour % 12 + 12) * 3600 + minute * 60
    case _: return nil
    }
  }
}

import Digests
package import NotibotProtocol

/// A topic, or a group of it, that is not shown.
package struct Mute: Hashable, Sendable {
  package var topic: String
  /// The sender's name of the group; nil: the whole topic.
  package var thread: String?
  /// nil: until it is taken back.
  package var until: WallTime?
  /// When it began, by the calendar.
  package var since: WallTime?

  package init(topic: String, thread: String? = nil, until: WallTime? = nil, since: WallTime? = nil) {
    self.topic = topic
    self.thread = thread
    self.until = until
    self.since = since
  }

  /// The same in the time of a machine, whose `now` is the calendar's `wall`. A calendar that was
  /// set back does not make it longer than it was meant to be.
  package func inMachineTime(now: WallTime, wall: WallTime) -> Mute {
    guard let until else { return self }
    let left = until.milliseconds - wall.milliseconds
    let length = since.map { until.milliseconds - $0.milliseconds } ?? left
    var mute = self
    mute.until = now.adding(milliseconds: min(left, length))
    return mute
  }

  func covers(topic: String, thread: String, _ now: WallTime) -> Bool {
    self.topic == topic && (self.thread.map { $0 == thread } ?? true) && (until.map { now < $0 } ?? true)
  }
}

/// Minutes of the day in which nothing below time-sensitive makes a noise. The end can be earlier
/// than the start: the hours then span midnight.
package struct QuietHours: Hashable, Sendable {
  package var startMinute: Int
  package var endMinute: Int

  package init(startMinute: Int, endMinute: Int) {
    self.startMinute = startMinute
    self.endMinute = endMinute
  }

  func contains(_ minute: Int) -> Bool {
    startMinute <= endMinute
      ? (startMinute..<endMinute).contains(minute) : minute >= startMinute || minute < endMinute
  }
}

/// What the user wants not to see or hear.
package struct DisplayRules: Hashable, Sendable {
  package enum Verdict: Hashable, Sendable {
    case show(DisplayNotification)
    case muted
    case oncePerDay
  }

  package var mutes: [Mute] = []
  package var quietHours: QuietHours?
  /// The last day on which a group was shown.
  private(set) var shownDays: [[UInt8]: Int] = [:]
  /// Groups remembered, at most.
  package static let groupsLimit = 10_000

  package init(mutes: [Mute] = [], quietHours: QuietHours? = nil, shownDays: [[UInt8]: Int] = [:]) {
    self.mutes = mutes
    self.quietHours = quietHours
    self.shownDays = shownDays
  }

  static func group(_ topic: String, _ thread: String) -> [UInt8] { SHA256.digest(of: "g", topic, thread) }

  func verdict(_ item: DisplayItem, topic: String, oncePerDay: Bool, _ moment: Moment) -> Verdict {
    if mutes.contains(where: { $0.covers(topic: topic, thread: item.thread, moment.now) }) { return .muted }
    if oncePerDay, shownDays[Self.group(topic, item.thread)] == moment.local.day { return .oncePerDay }
    var notification = item.notification
    if let quietHours, quietHours.contains(moment.local.minute), notification.details.level < .timeSensitive {
      notification.details.level = .passive
      notification.details.flags |= 1
    }
    return .show(notification)
  }

  /// What quiet hours change of a push that is shown now; nil: nothing.
  package func remark(on push: IntakePush, _ moment: Moment) -> PushRemark? {
    let item: DisplayItem
    switch push.meaning {
    case .show(let shown), .activity(let shown, _, _): item = shown
    case .nothing, .clear, .clearTopic: return nil
    }
    let verdict = verdict(item, topic: push.topic, oncePerDay: push.oncePerDay, moment)
    guard push.delay == nil, case .show(let notification) = verdict,
      notification.details != item.notification.details
    else { return nil }
    return PushRemark("'quietHours' of gateway.json", "it is shown silently, as passive")
  }

  /// Records that a group is shown on a day; returns what it was before.
  mutating func recordShown(_ group: [UInt8], day: Int) -> Int? {
    if shownDays.count >= Self.groupsLimit { shownDays = shownDays.filter { $0.value == day } }
    if shownDays.count >= Self.groupsLimit { return nil }
    return shownDays.updateValue(day, forKey: group)
  }

  mutating func restoreShown(_ group: [UInt8], day: Int?) { shownDays[group] = day }
}

import Digests
import NotibotProtocol

/// One more item for each group with three or more items: their number.
///
/// A summary is *absent* → *begun* (on record) → *adding* → *live* → *changing* → *live* →
/// *leaving* (on record) → *removing* → *absent*. One that the user dismissed is *dismissed* until
/// its group is small again. Its record precedes its addition, and the outbox takes the key of an
/// addition once: after a crash the machine adds it again, and gets the number of the first one.
///
/// The driver drains `nextAction()` after each input, and makes each record durable before it
/// executes what follows it.
package struct SummaryMachine: Hashable, Sendable {
  package enum Action: Hashable, Sendable {
    case record(SummaryRecord)
    case submit(IntakeMachine.Operation, group: [UInt8])
  }

  /// Limits and times.
  package struct Options: Hashable, Sendable {
    /// Items of a group from which on it has a summary.
    package var fromCount = 3
    /// After this time a change that the outbox did not take is tried again.
    package var againMs: Int64 = 1000

    package init() {}
  }

  struct Group: Hashable {
    enum State: Hashable {
      case absent
      case begun(generation: Int64)
      /// `text`: nil: the outbox can have had another one before a crash.
      case adding(generation: Int64, text: String?)
      /// `text`: on the display; nil: not known.
      case live(number: Int64, text: String?)
      case changing(number: Int64, text: String)
      /// Its removal is on record: a crash must not make it a dismissal.
      case leaving(number: Int64)
      case removing(number: Int64)
      case dismissed
    }

    var state = State.absent
    /// Items that count.
    var members: [Int64: GroupMember] = [:]
  }

  private let options: Options
  /// How far the calendar is ahead of `now`; set by the driver.
  package var wallLeadMs: Int64 = 0
  private var groups: [[UInt8]: Group] = [:]
  /// The group of each item, also of those that are answered.
  private var groupOf: [Int64: [UInt8]] = [:]
  /// Changes that the outbox did not take.
  private var delayed: [[UInt8]: WallTime] = [:]
  private var lastGeneration: Int64 = 0
  private var actions = ActionQueue<Action>()

  /// - Parameters:
  ///   - summaries: what was recorded.
  ///   - items: those of the intake.
  ///   - answered: numbers of items that the user has decided about.
  package init(
    options: Options = Options(), summaries: [Summary] = [], items: [IntakeContents.Item] = [],
    answered: Set<Int64> = [], now: WallTime
  ) {
    self.options = options
    for summary in summaries {
      lastGeneration = max(lastGeneration, summary.generation)
      groups[summary.group, default: Group()].state =
        switch summary.state {
        case .begun: .begun(generation: summary.generation)
        case .live(let number): .live(number: number, text: nil)
        case .leaving(let number): .leaving(number: number)
        case .dismissed: .dismissed
        }
    }
    for item in items where !answered.contains(item.number) { add(item.number, item.member) }
    for group in groups.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) { advance(group, now) }
  }

  // MARK: Outputs

  package mutating func nextAction() -> Action? { actions.next() }

  package var nextDeadline: WallTime? { delayed.values.min() }

  // MARK: Queries

  /// Summaries on the display.
  package var liveCount: Int {
    groups.values.count { group in
      switch group.state {
      case .live, .changing, .leaving, .removing: true
      case .absent, .begun, .adding, .dismissed: false
      }
    }
  }

  /// The group that this notification sums up; nil: it is no summary on the display.
  package func group(ofSummary number: Int64) -> GroupMember? {
    key(ofSummary: number).flatMap { groups[$0]?.members.max { $0.key < $1.key }?.value }
  }

  private func key(ofSummary number: Int64) -> [UInt8]? {
    groups.first { _, group in
      switch group.state {
      case .live(number, _), .changing(number, _): true
      case .absent, .begun, .adding, .live, .changing, .leaving, .removing, .dismissed: false
      }
    }?.key
  }

  // MARK: Inputs

  /// An item has a new text.
  package mutating func setItem(_ number: Int64, member: GroupMember?, now: WallTime) {
    let former = removeMember(number)
    add(number, member)
    if let former, former != member?.group { advance(former, now) }
    if let group = member?.group { advance(group, now) }
  }

  package mutating func forgetItem(_ number: Int64, now: WallTime) {
    if let group = removeMember(number) { advance(group, now) }
  }

  /// The user decided about an item: it is no longer a request.
  package mutating func handleAnswered(_ number: Int64, now: WallTime) { forgetItem(number, now: now) }

  /// A notification left the display or the outbox.
  package mutating func handleGone(_ number: Int64, now: WallTime) {
    guard let key = key(ofSummary: number) else { return }
    dismiss(key)
    advance(key, now)
  }

  /// The result of a change.
  package mutating func complete(_ key: [UInt8], _ result: IntakeMachine.Result, now: WallTime) {
    guard let group = groups[key] else { return }
    switch (group.state, result) {
    case (.adding(let generation, let text), .done(let number)):
      groups[key]?.state = .live(number: number, text: text)
      record(key, generation, .live(number: number))
    case (.adding(let generation, _), .failed), (.adding(let generation, _), .unknownNumber):
      groups[key]?.state = .begun(generation: generation)
      delayed[key] = now.adding(milliseconds: options.againMs)
    case (.changing(let number, let text), .done): groups[key]?.state = .live(number: number, text: text)
    case (.changing, .unknownNumber): dismiss(key)
    case (.changing(let number, _), .failed):
      groups[key]?.state = .live(number: number, text: nil)
      delayed[key] = now.adding(milliseconds: options.againMs)
    case (.removing(let number), .failed):
      groups[key]?.state = .leaving(number: number)
      delayed[key] = now.adding(milliseconds: options.againMs)
    case (.removing, .done), (.removing, .unknownNumber): forget(key)
    case (.absent, _), (.begun, _), (.live, _), (.leaving, _), (.dismissed, _): break
    }
    advance(key, now)
  }

  package mutating func handleTimeout(now: WallTime) {
    let due = delayed.filter { now >= $0.value }
    for key in due.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      delayed[key] = nil
      advance(key, now)
    }
  }

  // MARK: Parts

  private mutating func add(_ number: Int64, _ member: GroupMember?) {
    guard let member, !member.text.isEmpty else { return }
    groupOf[number] = member.group
    groups[member.group, default: Group()].members[number] = member
  }

  private mutating func removeMember(_ number: Int64) -> [UInt8]? {
    guard let key = groupOf.removeValue(forKey: number) else { return nil }
    groups[key]?.members[number] = nil
    return key
  }

  private mutating func record(_ key: [UInt8], _ generation: Int64, _ state: Summary.State) {
    actions.append(.record(.summary(Summary(group: key, generation: generation, state: state))))
  }

  private mutating func dismiss(_ key: [UInt8]) {
    groups[key]?.state = .dismissed
    record(key, lastGeneration, .dismissed)
  }

  private mutating func forget(_ key: [UInt8]) {
    groups[key]?.state = .absent
    actions.append(.record(.forget(group: key)))
  }

  /// Begins the next change of a summary, if one is due and none is in progress.
  private mutating func advance(_ key: [UInt8], _ now: WallTime) {
    guard let group = groups[key], delayed[key] == nil else { return }
    let item = summary(of: group, now)
    switch (group.state, item) {
    case (.absent, nil): if group.members.isEmpty { groups[key] = nil }
    case (.absent, .some(let item)):
      // Never used before: the outbox remembers the keys of earlier summaries.
      lastGeneration = max(lastGeneration + 1, now.milliseconds)
      record(key, lastGeneration, .begun)
      addSummary(key, lastGeneration, item, text: item.text)
    // One that is on record can be in the outbox: only its number can remove it.
    case (.begun(let generation), _):
      addSummary(key, generation, item ?? Self.passing, text: nil)
    case (.live(let number, let text), .some(let item)) where item.text != text:
      groups[key]?.state = .changing(number: number, text: item.text)
      actions.append(.submit(.update(number, item, key: nil), group: key))
    case (.live(let number, _), nil):
      record(key, lastGeneration, .leaving(number: number))
      removeSummary(key, number)
    case (.leaving(let number), _): removeSummary(key, number)
    case (.dismissed, nil):
      forget(key)
      advance(key, now)
    case (.live, _), (.adding, _), (.changing, _), (.removing, _), (.dismissed, _): break
    }
  }

  private mutating func removeSummary(_ key: [UInt8], _ number: Int64) {
    groups[key]?.state = .removing(number: number)
    actions.append(.submit(.remove(number), group: key))
  }

  private mutating func addSummary(
    _ key: [UInt8], _ generation: Int64, _ item: DisplayNotification, text: String?
  ) {
    groups[key]?.state = .adding(generation: generation, text: text)
    let name = SHA256.digest(of: "y", hexText(key), String(generation))
    actions.append(.submit(.add(item, key: name), group: key))
  }

  /// Removed as soon as its number is known.
  private static let passing = {
    var details = NotificationDetails()
    (details.level, details.flags) = (.passive, 1)
    return DisplayNotification(app: "", title: "", text: "", timestamp: 0, details: details)
  }()

  /// What the summary shows; nil: there is none.
  private func summary(of group: Group, _ now: WallTime) -> DisplayNotification? {
    guard group.members.count >= options.fromCount, let newest = group.members.max(by: { $0.key < $1.key })
    else { return nil }
    let member = newest.value
    var details = NotificationDetails()
    (details.level, details.flags, details.group) = (.passive, 1, member.displayGroup)
    return DisplayNotification(
      app: member.app, title: "",
      text: member.text.split(separator: GroupMember.countPlace, omittingEmptySubsequences: false)
        .joined(separator: "\(group.members.count)"),
      timestamp: UInt32(clamping: now.adding(milliseconds: wallLeadMs).seconds), details: details)
  }
}

/// A summary as it is recorded.
package struct Summary: Hashable, Sendable {
  package enum State: Hashable, Sendable {
    /// The outbox can have it, under the key of its generation.
    case begun
    case live(number: Int64)
    case leaving(number: Int64)
    case dismissed
  }

  package var group: [UInt8]
  /// Different for each summary that a group has had.
  package var generation: Int64
  package var state: State

  package init(group: [UInt8], generation: Int64, state: State) {
    self.group = group
    self.generation = generation
    self.state = state
  }
}

package enum SummaryRecord: Hashable, Sendable {
  case summary(Summary)
  case forget(group: [UInt8])
}

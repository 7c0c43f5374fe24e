import Digests
package import NotibotProtocol

/// Turns pushes into changes of the outbox, each push once, and each item of a sender one item on
/// the display.
///
/// The driver drains `nextAction()` after each input. A push is answered when its changes are
/// durable. An item of a sender (a *target*) has one change in progress at a time; further ones
/// wait for it in order. Targets are *absent* → *changing* → *live* → *changing* → ….
package struct IntakeMachine: Hashable, Sendable {
  /// One push that waits for its answer.
  package struct Ticket: Hashable, Sendable {
    package var rawValue: UInt64

    package init(_ rawValue: UInt64) {
      self.rawValue = rawValue
    }
  }

  /// A change of the outbox, with the number that its result comes with.
  package enum Operation: Hashable, Sendable {
    /// `key`: of a push that names itself; the outbox takes each key once. A key made from content
    /// counts for seconds only, so the outbox does not get it.
    case add(DisplayNotification, key: [UInt8]?)
    case update(Int64, DisplayNotification, key: [UInt8]?)
    case remove(Int64)
  }

  package enum Action: Hashable, Sendable {
    case submit(Operation, id: UInt64)
    case record(IntakeRecord)
    /// Only after all earlier records are durable.
    case answer(Ticket, IntakeOutcome, apnsID: String)
  }

  /// The result of a change.
  package enum Result: Hashable, Sendable {
    case done(Int64)
    /// There is no longer a notification with this number.
    case unknownNumber
    /// The outbox is full or cannot be written.
    case failed
  }

  /// Limits and times.
  package struct Options: Hashable, Sendable {
    /// How long equal pushes without an id count as one; 0: never.
    package var contentKeepMs: Int64 = 5000
    package var keepMs: Int64 = 86_400_000
    package var keysLimit = 80_000
    /// The same of programs of this computer. Together they are those that the outbox remembers.
    package var localKeysLimit = 20_000
    /// Items in the outbox, at most.
    package var itemsLimit = 10_000
    /// From this number on items of programs of this computer are refused: they need no rights, and
    /// must leave room for those of senders.
    package var localItemsLimit: Int { max(1, itemsLimit / 4 * 3) }
    /// Pushes that wait for a result, at most.
    package var jobsLimit = 20_000
    package var activityIntervalMs: Int64 = 1000
    /// How long an item that was cleared before it came is not shown.
    package var suppressMs: Int64 = 600_000
    package var suppressedLimit = 10_000
    /// Messages that wait until they are due, at most.
    package var delayedLimit = 1000
    /// Tokens, and topics of programs of this computer, with a rate of their own, at most.
    package var ratesLimit = 10_000
    package var pushesPerMinute: Int64 = 60
    package var burst: Int64 = 60

    /// How long it takes until a token without a rest has one push more.
    package var paceSeconds: Int {
      Int(clamping: pushesPerMinute > 0 ? max(1, (60 + pushesPerMinute - 1) / pushesPerMinute) : 1)
    }

    package init() {}
  }

  /// The day on which a group was shown before a push that can still fail.
  struct ShownBefore: Hashable {
    var group: [UInt8]
    var day: Int?
  }

  struct Job: Hashable {
    var push: IntakePush
    /// Changes that are not done yet.
    var open = 0
    var outcome = IntakeOutcome.nothing
    var shownBefore: ShownBefore?
  }

  /// What is remembered of pushes from one kind of source; none fills the memory of another one.
  struct Memory: Hashable {
    var rates: RateLimits
    var seen: SeenKeys
  }

  let options: Options
  package var rules: DisplayRules
  private var memories: [IntakePush.Source: Memory] = [:]
  private var lastContents: LastContents
  /// How far the calendar is ahead of `now`.
  private var wallLeadMs: Int64 = 0
  var jobs: [Ticket: Job] = [:]
  var targets: [[UInt8]: Target] = [:]
  /// Targets with a held state of a Live Activity. It is answered when it is written, so that 200
  /// means the same as for every push.
  var holding: Set<[UInt8]> = []
  /// Numbers that left before the intake had them; only while changes are in progress.
  private var goneEarly: Set<Int64> = []
  var items: [Int64: IntakeContents.Item] = [:]
  var suppressed: [[UInt8]: WallTime]
  package internal(set) var badges: [String: Int]
  package internal(set) var delays = Delays()
  var flights: [UInt64: Flight] = [:]
  private var lastFlight: UInt64 = 0
  /// Tickets of the driver count up, its own ones down.
  var lastOwnTicket = UInt64.max
  private var actions = ActionQueue<Action>()

  package init(options: Options = Options(), rules: DisplayRules = DisplayRules(), _ contents: IntakeContents)
  {
    self.options = options
    self.rules = DisplayRules(
      mutes: rules.mutes, quietHours: rules.quietHours, shownDays: contents.shownDays)
    for source in IntakePush.Source.allCases {
      memories[source] = Memory(
        rates: RateLimits(
          perMinute: options.pushesPerMinute, burst: options.burst, limit: options.ratesLimit),
        seen: SeenKeys(
          limit: source == .sender ? options.keysLimit : options.localKeysLimit, keepMs: options.keepMs,
          contentKeepMs: options.contentKeepMs,
          restored: contents.keys.filter { IntakePush.Source(ofKey: $0.bytes) == source }))
    }
    lastContents = LastContents(keepMs: options.contentKeepMs)
    suppressed = contents.suppressed
    badges = contents.badges
    for item in contents.items {
      items[item.number] = item
      if let target = item.target { targets[target, default: Target()].number = item.number }
    }
    delays = Delays(contents.delayed)
  }

  // MARK: Outputs

  package mutating func nextAction() -> Action? { actions.next() }

  /// When the next held state of a Live Activity or delayed message is due.
  package var nextDeadline: WallTime? {
    let held = holding.compactMap { targets[$0]?.activity.heldUntil(options.activityIntervalMs) }.min()
    let delayed = delays.nextDue.map { $0.adding(milliseconds: -wallLeadMs) }
    return [held, delayed].compactMap(\.self).min()
  }

  /// Which tables are full, for the user.
  package var fullTables: [String] {
    var found: [String] = []
    if items.count >= options.itemsLimit {
      found.append("the outbox is full: \(items.count) notifications")
    } else if items.count >= options.localItemsLimit {
      found.append("the outbox takes no more messages of this computer: \(items.count) notifications")
    }
    if delays.count >= options.delayedLimit { found.append("too many delayed messages: \(delays.count)") }
    for (source, memory) in memories.sorted(by: { $0.key < $1.key }) where memory.seen.isFull {
      found.append("the keys of a day are used up: \(memory.seen.count) of \(source.words)")
    }
    return found
  }

  /// What an item asks.
  package func question(of number: Int64) -> Question? { items[number]?.question }

  /// Live items, for the status.
  package var itemsCount: Int { items.count }

  // MARK: Inputs

  package mutating func receive(_ push: IntakePush, ticket: Ticket, at moment: Moment) {
    wallLeadMs = moment.wall.milliseconds - moment.now.milliseconds
    guard var memory = memories.removeValue(forKey: push.source) else { return }
    let isNew = begin(push, ticket, &memory, moment.now)
    memories[push.source] = memory
    guard isNew else { return }
    if let badge = push.badge, badges[push.topic] != badge { record(badge, of: push.topic) }
    if let expiration = push.expiration, expiration > 0, expiration <= moment.wall.seconds {
      return finish(ticket, .expired, moment.now)
    }
    switch push.meaning {
    case .nothing(let outcome): finish(ticket, outcome, moment.now)
    case .clearTopic: clearTopic(ticket, push, moment.now)
    case .clear(let identifiers, let timestamp):
      delays.settle(identifiers.map { push.target($0) }, by: ticket)
      clear(identifiers, timestamp, ticket, push, moment.now)
    case .show(let item):
      let target = item.identifier.map { push.target($0) }
      if let target, let delay = push.delay { return hold(push, until: delay, target, ticket, moment) }
      delays.settle(target.map { [$0] } ?? [], by: ticket)
      show(item, ticket, push, moment)
    case .activity(let item, let timestamp, let isStart):
      show(item, timestampMs: timestamp, isStart: isStart, ticket, push, moment)
    }
  }

  /// Whether a push is to be shown; otherwise it is answered, or waits for an equal one.
  private mutating func begin(
    _ push: IntakePush, _ ticket: Ticket, _ memory: inout Memory, _ now: WallTime
  ) -> Bool {
    var push = push
    if push.source == .sender, lastContents.replace(push, now: now), !push.hasOwnKey {
      push.key = SHA256.digest(of: "again", hexText(push.key), "\(ticket.rawValue)", "\(now.milliseconds)")
    }
    switch memory.seen.state(push.key, now: now) {
    case .done(let id, _, _):
      act(.answer(ticket, .duplicate, apnsID: id.isEmpty ? push.apnsID : id))
      return false
    case .pending:
      jobs[ticket] = Job(push: push)
      memory.seen.wait(push.key, SeenKeys.Waiter(ticket: ticket))
      return false
    case nil: break
    }
    let isFull =
      push.source == .local && items.count + flights.count >= options.localItemsLimit && isAddition(push)
    guard jobs.count < options.jobsLimit, !isFull else {
      act(.answer(ticket, .unavailable, apnsID: push.apnsID))
      return false
    }
    guard memory.rates.acquire(push.token, now: now) else {
      act(.answer(ticket, .tooMany, apnsID: push.apnsID))
      return false
    }
    // The outbox remembers each key for a day: one more of this computer would take a sender's.
    if push.source == .local, memory.seen.isFull { push.hasOwnKey = false }
    memory.seen.begin(push.key)
    jobs[ticket] = Job(push: push)
    return true
  }

  /// Whether a push needs room in the outbox now.
  private func isAddition(_ push: IntakePush) -> Bool {
    guard case .show(let item) = push.meaning, push.delay == nil else { return false }
    return item.identifier.flatMap { targets[push.target($0)]?.number } == nil
  }

  /// Handles a held state of a Live Activity or a delayed message that is due.
  package mutating func handleTimeout(at moment: Moment) {
    wallLeadMs = moment.wall.milliseconds - moment.now.milliseconds
    for key in holding where targets[key]?.isDue(moment.now, options.activityIntervalMs) == true {
      releaseHeld(key, moment.now)
    }
    releaseDelayed(at: moment)
  }

  /// An item left the display or the outbox: dismissed, evicted, expired, removed or refused.
  package mutating func handleGone(_ number: Int64) {
    if items[number] != nil { return forget(number) }
    // The report of a short-lived item can overtake the result of its addition.
    if !flights.isEmpty, goneEarly.count < options.jobsLimit { goneEarly.insert(number) }
  }

  /// Whether a number that was just added has left already.
  mutating func hasLeft(_ number: Int64) -> Bool {
    let hasLeft = goneEarly.remove(number) != nil
    if flights.isEmpty { goneEarly = [] }
    return hasLeft
  }

  /// The user has read an item, or the summary of a group: the others of a group that is read
  /// together leave the display, but those that ask something.
  /// - Parameter isGone: whether the item itself has left.
  package mutating func receiveReading(of number: Int64, isGone: Bool, summaryOf summed: GroupMember? = nil) {
    guard let group = summed ?? items[number]?.member, group.isReadTogether else { return }
    let read = items.values.filter { $0.member?.displayGroup == group.displayGroup && $0.question == nil }
    let numbers = Set(read.map(\.number))
    for other in numbers.sorted() where other != number || !isGone {
      submit(.remove(other), Flight(kind: .remove(other), target: nil, tickets: []))
    }
    // What the badge counted has been seen.
    guard let topic = read.first?.topic, badges[topic] ?? 0 > 0 else { return }
    guard !items.values.contains(where: { $0.topic == topic && !numbers.contains($0.number) }) else { return }
    record(0, of: topic)
  }

  // MARK: Parts

  func wall(_ now: WallTime) -> WallTime { now.adding(milliseconds: wallLeadMs) }

  mutating func act(_ action: Action) { actions.append(action) }

  mutating func submit(_ operation: Operation, _ flight: Flight) {
    lastFlight += 1
    flights[lastFlight] = flight
    act(.submit(operation, id: lastFlight))
  }

  mutating func forget(_ number: Int64) {
    guard let item = items.removeValue(forKey: number) else { return }
    act(.record(.forgetItem(number)))
    guard let key = item.target, targets[key]?.number == number else { return }
    targets[key]?.number = nil
    tidy(key)
  }

  /// Forgets a target with nothing to remember.
  mutating func tidy(_ key: [UInt8]) {
    if targets[key]?.isEmpty == true { targets[key] = nil }
  }

  private mutating func record(_ badge: Int, of topic: String) {
    // Topics are those of trusted keys, so they are few.
    badges[topic] = badge
    act(.record(.badge(topic: topic, badge)))
  }

  /// Answers a push and the equal ones that wait for it.
  mutating func finish(_ ticket: Ticket, _ outcome: IntakeOutcome, _ now: WallTime) {
    guard let job = jobs.removeValue(forKey: ticket) else { return }
    let isTaken = outcome.reason == nil
    // A repetition brings the sender's own id along.
    let id = job.push.hasSendersID ? "" : job.push.apnsID
    let state = SeenKeys.State.done(apnsID: id, at: now, isOwn: job.push.hasOwnKey)
    let source = job.push.source
    let (waiters, forgotten) = memories[source]?.seen.finish(job.push.key, isTaken ? state : nil) ?? ([], [])
    if isTaken {
      act(.record(.key(job.push.key, apnsID: id, at: wall(now), isOwn: job.push.hasOwnKey)))
    } else if let before = job.shownBefore {
      rules.restoreShown(before.group, day: before.day)
    }
    for key in forgotten { act(.record(.forgetKey(key))) }
    for target in delays.end(ticket, isTaken: isTaken, wall(now)) {
      act(.record(.forgetDelayed(target: target)))
    }
    act(.answer(ticket, outcome, apnsID: job.push.apnsID))
    for waiter in waiters {
      jobs[waiter.ticket] = nil
      act(.answer(waiter.ticket, isTaken ? .duplicate : .unavailable, apnsID: job.push.apnsID))
    }
  }
}

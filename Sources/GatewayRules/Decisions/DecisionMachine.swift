package import NotibotProtocol

/// From presses of buttons to answers that a sender gets once.
///
/// A decision is *unclaimed* (its item is not known yet) → *confirming* (only if its answer needs a
/// second press) → *pending* → *clearing* → *done*, or ends as *late*, *failed* or *expired*. The
/// driver drains `nextAction()` after each input, and makes each record durable before it executes
/// what follows it.
package struct DecisionMachine: Hashable, Sendable {
  /// A request to a sender.
  package struct Call: Hashable, Sendable {
    package var callback: String
    package var decision: Decision

    /// The value of `Idempotency-Key`.
    package var key: String { decision.state == .clearing ? decision.id + "-clear" : decision.id }
  }

  /// New content of an item that the user has pressed.
  package struct Show: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
      /// What became of a decision.
      case state
      /// The item asks for a second press.
      case prompt
      /// The item as it was before the first press.
      case former
    }

    package var number: Int64
    package var notification: DisplayNotification
    var kind: Kind
    /// The decision, or the first press.
    var id: String
    /// The text of the sender that it is for.
    var text: UInt32
  }

  package enum Action: Hashable, Sendable {
    case record(Decision)
    case forget(id: String)
    /// New content of an item, if `isCurrent` still holds. Its result is due in `complete`.
    case show(Show)
    case call(Call)
    /// A decision was made or has ended: there is something new for the long poll.
    case announce(Decision)
  }

  /// Limits and times.
  package struct Options: Hashable, Sendable {
    /// A second press of the same item within this time is ignored.
    package var repeatMs: Int64 = 5000
    /// How long an item waits for a second press.
    package var confirmMs: Int64 = 20_000
    /// A second press within this time is a bounce of the first one, or was made before its text
    /// could be read.
    package var bounceMs: Int64 = 1000
    /// After this time a text that the outbox did not take is written again.
    package var againMs: Int64 = 1000
    /// How long an answer is tried to be delivered.
    package var keepMs: Int64 = 86_400_000
    /// How long the display shows an accepted answer.
    package var shownMs: Int64 = 30_000
    /// Undelivered decisions, at most.
    package var openLimit = 1000
    /// Finished decisions that are remembered, at most.
    package var closedLimit = 1000
    /// Decisions in one answer to the long poll, at most.
    package var pollLimit = 100

    package init() {}
  }

  /// What is known of an item.
  struct Item: Hashable {
    /// Indirect: most items ask nothing, and there can be 100 000.
    indirect enum State: Hashable {
      /// It asks nothing.
      case plain
      case open(Question)
      /// Pressed once: the item asks for a second press. `isShown`: the outbox has taken that text.
      case confirming(id: String, isShown: Bool, Question)
      /// The second press did not come in time: the item gets its former text back. `againAt`: the
      /// outbox has not taken it.
      case returning(id: String, againAt: WallTime?, Question)
      /// A decision was made about the text on the display.
      case decided(id: String)
    }

    var state: State
    var target: [UInt8]?
    /// Changes of its text on their way to the outbox.
    var changes: Int32 = 0
    /// Counts the texts of the sender.
    var text: UInt32 = 0
  }

  /// The answers for one callback, delivered in their order.
  struct Queue: Hashable {
    var ids: [String] = []
    /// In a row.
    var failures = 0
    var nextAt: WallTime?
    var inFlight: String?
  }

  let options: Options
  /// Those of the configuration.
  let callbacks: [String: Callback]
  var items: [Int64: Item] = [:]
  var decisions: [String: Decision] = [:]
  /// When each open decision began, by the clock that only runs forward.
  var beginnings: [String: WallTime] = [:]
  /// How far the calendar is ahead of `now`; set by the driver.
  package var wallLeadMs: Int64 = 0
  private var lastPresses: [[UInt8]: WallTime] = [:]
  var queues: [String: Queue] = [:]
  /// Decisions whose item shows that they are queued.
  var shownQueued: Set<String> = []
  private(set) var lastSequence: Int64 = 0
  private var actions = ActionQueue<Action>()

  /// - Parameters:
  ///   - decisions: what was recorded.
  ///   - items: those of the intake.
  ///   - formerSequence: numbers up to it can have been given out by a record that was lost.
  package init(
    options: Options = Options(), callbacks: [String: Callback], decisions: [Decision] = [],
    items: [IntakeContents.Item] = [], formerSequence: Int64 = 0, now: WallTime
  ) {
    self.options = options
    self.callbacks = callbacks
    for decision in decisions {
      self.decisions[decision.id] = decision
      // One of the future: the calendar was set back since.
      if decision.state.isOpen { beginnings[decision.id] = min(decision.at, now) }
    }
    lastSequence = decisions.map(\.sequence).max() ?? formerSequence
    for decision in decisions.sorted(by: { $0.sequence < $1.sequence }) where decision.state.isOpen {
      enqueue(decision)
    }
    for item in items { setItem(item.number, question: item.question, target: item.target, now: now) }
    for decision in decisions where decision.state == .confirming && self.items[decision.number] == nil {
      remove(decision.id)
    }
    // The last change of the display can have been lost, also that of a finished decision.
    for decision in decisions { showState(of: decision, now) }
    advance(now)
  }

  // MARK: Outputs

  package mutating func nextAction() -> Action? { actions.next() }

  package var nextDeadline: WallTime? {
    let ends = decisions.values.filter(\.state.isOpen).compactMap(end)
    let attempts = queues.values.filter { $0.inFlight == nil && !$0.ids.isEmpty }.compactMap(\.nextAt)
    return (ends + attempts).min()
  }

  // MARK: Queries

  /// Undelivered decisions.
  package var undeliveredCount: Int { openCount - confirmingCount }

  /// Items that wait for a second press.
  package var confirmingCount: Int { decisions.values.count { $0.state == .confirming } }

  var openCount: Int { decisions.values.count { $0.state.isOpen } }

  /// Whether further presses are ignored.
  package var isFull: Bool { openCount >= options.openLimit }

  func wall(_ now: WallTime) -> WallTime { now.adding(milliseconds: wallLeadMs) }

  /// Where a client goes on that has decisions up to `sequence`. A number that was never given out
  /// is of a record that was lost: the client starts again, and acknowledges nothing.
  package func cursor(_ sequence: Int64) -> Int64 { sequence <= lastSequence ? sequence : 0 }

  /// Decisions after a sequence number, oldest first. `topics`: nil for all.
  package func decisions(after sequence: Int64, topics: [String]?) -> [Decision] {
    let found = decisions.values.filter { decision in
      guard decision.sequence > sequence, decision.state != .confirming, let question = decision.question
      else { return false }
      return topics?.contains(question.topic) ?? true
    }
    return Array(found.sorted { $0.sequence < $1.sequence }.prefix(options.pollLimit))
  }

  // MARK: Inputs: items

  /// An item has a new text, which asks a question or none.
  package mutating func setItem(_ number: Int64, question: Question?, target: [UInt8]?, now: WallTime) {
    var item = Item(state: .plain, target: target)
    (item.changes, item.text) = (items[number]?.changes ?? 0, items[number]?.text ?? 0)
    // A first press of an earlier text confirms nothing of this one.
    for first in decisions.values where first.number == number && first.state == .confirming {
      if first.question?.pushID != question?.pushID { remove(first.id) }
    }
    guard let question else {
      items[number] = item
      return
    }
    let made = decisions.values.first { decision in
      decision.number == number && decision.question?.pushID == question.pushID
    }
    guard made?.state != .confirming else {
      item.state = .confirming(id: made?.id ?? "", isShown: false, question)
      items[number] = item
      return prompt(number, now)
    }
    item.state = made.map { .decided(id: $0.id) } ?? .open(question)
    items[number] = item
    let unclaimed = decisions.values.filter { $0.number == number && $0.state == .unclaimed }
    for decision in unclaimed.sorted(by: { $0.sequence < $1.sequence }) {
      claim(decision, question, target, now)
    }
  }

  package mutating func forgetItem(_ number: Int64) {
    items[number] = nil
    for first in decisions.values where first.number == number && first.state == .confirming {
      remove(first.id)
    }
  }

  /// A new text of an item is on its way: a press meanwhile is for a text that goes.
  package mutating func beginChange(_ number: Int64) {
    items[number]?.changes += 1
    // Wraps: only whether it is another one counts.
    items[number]?.text &+= 1
  }

  package mutating func endChange(_ number: Int64, now: WallTime) {
    guard let changes = items[number]?.changes, changes > 0 else { return }
    items[number]?.changes = changes - 1
    // The change has failed: the item still has the text that was decided on.
    if changes == 1, case .decided(let id) = items[number]?.state, let decision = decisions[id] {
      showState(of: decision, now)
    }
  }

  // MARK: Inputs: presses

  /// A press; what it needs is in `nextAction()`, the record first.
  package mutating func press(_ press: Press, now: WallTime) -> PressVerdict {
    let id = press.id(now: now)
    guard decisions[id] == nil else { return .known }
    guard !press.isStale else { return .stale }
    guard let item = items[press.number] else { return keepUnclaimed(press, id, now) }
    guard item.changes == 0 else { return .stale }
    switch item.state {
    case .plain: return .meaningless
    case .decided(let decisionID): return press.action == 0 ? tryAgain(decisionID, now) : .meaningless
    case .open(let question), .confirming(_, _, let question), .returning(_, _, let question):
      guard question.answers.indices.contains(press.action) else { return .meaningless }
      let subject = subject(press.number, item.target)
      guard isFree(subject, now) else { return .tooSoon }
      guard !isFull else { return .full }
      switch step(press, item.state, now) {
      case .ignore: return .tooSoon
      case .ask:
        ask(press, id, question, item.target, now)
        return .confirming
      case .decide:
        recordPress(subject, now)
        decide(press, id, question, item.target, now)
        return .decided
      }
    }
  }

  mutating func decide(
    _ press: Press, _ id: String, _ question: Question, _ target: [UInt8]?, _ now: WallTime
  ) {
    if let earlier = replaced(by: target) { finish(earlier, .superseded, now) }
    forgetFirstPress(of: press.number)
    lastSequence += 1
    let decision = Decision(
      id: id, sequence: lastSequence, number: press.number, action: press.action,
      revision: press.revision ?? 0, at: wall(now), state: .pending, question: question.withoutText,
      target: target)
    items[press.number]?.state = .decided(id: id)
    beginnings[id] = now
    save(decision)
    enqueue(decision)
    showState(of: decision, now)
    act(.announce(decision))
    advance(now)
  }

  private mutating func keepUnclaimed(_ press: Press, _ id: String, _ now: WallTime) -> PressVerdict {
    guard !isFull else { return .full }
    lastSequence += 1
    beginnings[id] = now
    save(
      Decision(
        id: id, sequence: lastSequence, number: press.number, action: press.action,
        revision: press.revision ?? 0, at: wall(now), state: .unclaimed, question: nil, target: nil))
    return .unclaimed
  }

  private mutating func claim(
    _ decision: Decision, _ question: Question, _ target: [UInt8]?, _ now: WallTime
  ) {
    guard case .open = items[decision.number]?.state, question.answers.indices.contains(decision.action)
    else {
      return remove(decision.id)
    }
    var claimed = decision
    (claimed.question, claimed.target) = (question.withoutText, target)
    guard claimed.answer?.prompt == nil else { return ask(claimed, question, now) }
    lastSequence += 1
    claimed.sequence = lastSequence
    claimed.state = .pending
    items[decision.number]?.state = .decided(id: decision.id)
    save(claimed)
    enqueue(claimed)
    showState(of: claimed, now)
    act(.announce(claimed))
    advance(now)
  }

  /// Another press of an item whose answer is under way.
  private mutating func tryAgain(_ id: String, _ now: WallTime) -> PressVerdict {
    guard let decision = decisions[id], decision.state == .pending else { return .meaningless }
    let subject = subject(decision.number, decision.target)
    guard isFree(subject, now) else { return .tooSoon }
    recordPress(subject, now)
    if let callback = callback(of: decision), queues[callback]?.inFlight == nil {
      queues[callback]?.nextAt = nil
    }
    showState(of: decision, now)
    advance(now)
    return .retried
  }

  /// The undelivered decision about an earlier text of the same item: the sender gets the newer one
  /// only, unless the older one is on its way.
  private func replaced(by target: [UInt8]?) -> Decision? {
    guard let target else { return nil }
    return decisions.values.first { decision in
      decision.target == target && decision.state == .pending
        && !queues.values.contains { $0.inFlight == decision.id }
    }
  }

  private func subject(_ number: Int64, _ target: [UInt8]?) -> [UInt8] { target ?? Array("\(number)".utf8) }

  /// Whether no press came in the last 5 s.
  private func isFree(_ subject: [UInt8], _ now: WallTime) -> Bool {
    lastPresses[subject].map { now >= $0.adding(milliseconds: options.repeatMs) } ?? true
  }

  private mutating func recordPress(_ subject: [UInt8], _ now: WallTime) {
    if lastPresses.count >= options.openLimit {
      lastPresses = lastPresses.filter { now < $0.value.adding(milliseconds: options.repeatMs) }
    }
    lastPresses[subject] = now
  }

  // MARK: Parts

  mutating func act(_ action: Action) { actions.append(action) }

  mutating func save(_ decision: Decision) {
    decisions[decision.id] = decision
    act(.record(decision))
  }

  mutating func remove(_ id: String) {
    decisions[id] = nil
    beginnings[id] = nil
    shownQueued.remove(id)
    act(.forget(id: id))
  }

  /// The configured callback of a decision; nil: the long poll fetches it.
  func callback(of decision: Decision) -> String? {
    guard let name = decision.question?.callback, callbacks[name] != nil else { return nil }
    return name
  }

  mutating func enqueue(_ decision: Decision) {
    guard decision.state != .unclaimed, decision.state != .confirming, let name = callback(of: decision)
    else { return }
    queues[name, default: Queue()].ids.append(decision.id)
  }
}

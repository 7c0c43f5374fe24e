package import NotibotProtocol

/// From presses of buttons to answers that a sender gets once.
///
/// A decision is *unclaimed* (its item is not known yet) → *pending* → *clearing* → *done*, or ends
/// as *late*, *failed* or *expired*. The driver drains `nextAction()` after each input, and makes
/// each record durable before it executes what follows it.
package struct DecisionMachine: Hashable, Sendable {
  /// A request to a sender.
  package struct Call: Hashable, Sendable {
    package var callback: String
    package var decision: Decision

    /// The value of `Idempotency-Key`.
    package var key: String { decision.state == .clearing ? decision.id + "-clear" : decision.id }
  }

  package enum Action: Hashable, Sendable {
    case record(Decision)
    case forget(id: String)
    /// New content of an item.
    case show(Int64, DisplayNotification)
    case call(Call)
    /// There is something new for the long poll.
    case announce
  }

  /// Limits and times.
  package struct Options: Hashable, Sendable {
    /// A second press of the same item within this time is ignored.
    package var repeatMs: Int64 = 5000
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
    enum State: Hashable {
      /// It asks nothing.
      case plain
      case open(Question)
      /// A decision was made about the text on the display.
      case decided(id: String)
    }

    var state: State
    var target: [UInt8]?
    /// Changes of its text on their way to the outbox.
    var changes = 0
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
  private var lastPresses: [[UInt8]: WallTime] = [:]
  var queues: [String: Queue] = [:]
  /// Decisions whose item shows that they are queued.
  var shownQueued: Set<String> = []
  private(set) var lastSequence: Int64 = 0
  private var actions = ActionQueue<Action>()

  /// - Parameters:
  ///   - decisions: what was recorded.
  ///   - items: those of the intake.
  package init(
    options: Options = Options(), callbacks: [String: Callback], decisions: [Decision] = [],
    items: [IntakeContents.Item] = [], now: WallTime
  ) {
    self.options = options
    self.callbacks = callbacks
    for decision in decisions { self.decisions[decision.id] = decision }
    lastSequence = decisions.map(\.sequence).max() ?? 0
    for decision in decisions.sorted(by: { $0.sequence < $1.sequence }) where decision.state.isOpen {
      enqueue(decision)
    }
    for item in items { setItem(item.number, question: item.question, target: item.target, now: now) }
    // The last change of the display can have been lost, also that of a finished decision.
    for decision in decisions { showState(of: decision, now) }
    advance(now)
  }

  // MARK: Outputs

  package mutating func nextAction() -> Action? { actions.next() }

  package var nextDeadline: WallTime? {
    let expiries = decisions.values.filter(\.state.isOpen).map { $0.at.adding(milliseconds: options.keepMs) }
    let attempts = queues.values.filter { $0.inFlight == nil && !$0.ids.isEmpty }.compactMap(\.nextAt)
    return (expiries + attempts).min()
  }

  // MARK: Queries

  /// Undelivered decisions.
  package var openCount: Int { decisions.values.count { $0.state.isOpen } }

  /// Decisions after a sequence number, oldest first. `topics`: nil for all.
  package func decisions(after sequence: Int64, topics: [String]?) -> [Decision] {
    let found = decisions.values.filter { decision in
      guard decision.sequence > sequence, let question = decision.question else { return false }
      return topics?.contains(question.topic) ?? true
    }
    return Array(found.sorted { $0.sequence < $1.sequence }.prefix(options.pollLimit))
  }

  // MARK: Inputs: items

  /// An item has a new text, which asks a question or none.
  package mutating func setItem(_ number: Int64, question: Question?, target: [UInt8]?, now: WallTime) {
    let changes = items[number]?.changes ?? 0
    guard let question else {
      items[number] = Item(state: .plain, target: target, changes: changes)
      return
    }
    let decided = decisions.values.first { decision in
      decision.number == number && decision.question?.pushID == question.pushID
    }
    items[number] = Item(
      state: decided.map { .decided(id: $0.id) } ?? .open(question), target: target, changes: changes)
    let unclaimed = decisions.values.filter { $0.number == number && $0.state == .unclaimed }
    for decision in unclaimed.sorted(by: { $0.sequence < $1.sequence }) {
      claim(decision, question, target, now)
    }
  }

  package mutating func forgetItem(_ number: Int64) { items[number] = nil }

  /// A new text of an item is on its way: a press meanwhile is for a text that goes.
  package mutating func beginChange(_ number: Int64) { items[number]?.changes += 1 }

  package mutating func endChange(_ number: Int64) {
    guard let changes = items[number]?.changes, changes > 0 else { return }
    items[number]?.changes = changes - 1
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
    case .open(let question):
      guard question.answers.indices.contains(press.action) else { return .meaningless }
      let subject = subject(press.number, item.target)
      guard isFree(subject, now) else { return .tooSoon }
      guard openCount < options.openLimit else { return .full }
      notePress(subject, now)
      decide(press, id, question, item.target, now)
      return .decided
    }
  }

  private mutating func decide(
    _ press: Press, _ id: String, _ question: Question, _ target: [UInt8]?, _ now: WallTime
  ) {
    if let earlier = replaced(by: target) { finish(earlier, .superseded, now) }
    lastSequence += 1
    let decision = Decision(
      id: id, sequence: lastSequence, number: press.number, action: press.action, revision: press.revision,
      at: now, state: .pending, question: question, target: target)
    items[press.number]?.state = .decided(id: id)
    save(decision)
    enqueue(decision)
    showState(of: decision, now)
    act(.announce)
    advance(now)
  }

  private mutating func keepUnclaimed(_ press: Press, _ id: String, _ now: WallTime) -> PressVerdict {
    guard openCount < options.openLimit else { return .full }
    lastSequence += 1
    save(
      Decision(
        id: id, sequence: lastSequence, number: press.number, action: press.action,
        revision: press.revision, at: now, state: .unclaimed, question: nil, target: nil))
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
    lastSequence += 1
    claimed.sequence = lastSequence
    claimed.state = .pending
    claimed.question = question
    claimed.target = target
    items[decision.number]?.state = .decided(id: decision.id)
    save(claimed)
    enqueue(claimed)
    showState(of: claimed, now)
    act(.announce)
    advance(now)
  }

  /// Another press of an item whose answer is under way.
  private mutating func tryAgain(_ id: String, _ now: WallTime) -> PressVerdict {
    guard let decision = decisions[id], decision.state == .pending else { return .meaningless }
    let subject = subject(decision.number, decision.target)
    guard isFree(subject, now) else { return .tooSoon }
    notePress(subject, now)
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

  /// Whether no press came in the last 5 s. A clock that was set back does not lock an item.
  private func isFree(_ subject: [UInt8], _ now: WallTime) -> Bool {
    guard let last = lastPresses[subject] else { return true }
    return now < last || now >= last.adding(milliseconds: options.repeatMs)
  }

  private mutating func notePress(_ subject: [UInt8], _ now: WallTime) {
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
    shownQueued.remove(id)
    act(.forget(id: id))
  }

  /// The configured callback of a decision; nil: the long poll fetches it.
  func callback(of decision: Decision) -> String? {
    guard let name = decision.question?.callback, callbacks[name] != nil else { return nil }
    return name
  }

  mutating func enqueue(_ decision: Decision) {
    guard decision.state != .unclaimed, let name = callback(of: decision) else { return }
    queues[name, default: Queue()].ids.append(decision.id)
  }
}

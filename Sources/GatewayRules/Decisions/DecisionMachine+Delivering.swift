import NotibotProtocol

// From decisions to requests, and from their results to what the display shows.
extension DecisionMachine {
  // MARK: Inputs

  /// The result of a call.
  package mutating func complete(_ call: Call, _ result: CallResult, now: WallTime) {
    guard queues[call.callback]?.inFlight == call.decision.id else { return }
    queues[call.callback]?.inFlight = nil
    guard let decision = decisions[call.decision.id] else {
      queues[call.callback]?.ids.removeAll { $0 == call.decision.id }
      return advance(now)
    }
    let verdict = CallVerdict(result)
    if verdict == .again {
      fail(call.callback, decision, now)
    } else {
      queues[call.callback]?.failures = 0
      queues[call.callback]?.nextAt = nil
      switch (verdict, decision.state) {
      case (.accepted, .pending) where callbacks[call.callback]?.clearAddress != nil:
        change(decision, to: .clearing, now)
      case (.accepted, _), (_, .clearing): finish(decision, .done, now)
      case (.late, _): finish(decision, .late, now)
      case (.refused, _), (.again, _): finish(decision, .failed, now)
      }
    }
    advance(now)
  }

  /// The long poll has everything up to `sequence`: those without a callback are delivered.
  package mutating func acknowledge(upTo sequence: Int64, topics: [String]?, now: WallTime) {
    let fetched = decisions.values.filter { decision in
      guard decision.state == .pending, decision.sequence <= sequence, callback(of: decision) == nil,
        let topic = decision.question?.topic
      else { return false }
      return topics?.contains(topic) ?? true
    }
    for decision in fetched.sorted(by: { $0.sequence < $1.sequence }) { finish(decision, .done, now) }
  }

  package mutating func handleTimeout(now: WallTime) {
    for decision in decisions.values.sorted(by: { $0.number < $1.number }) where decision.state == .confirming
    {
      withdraw(decision.number, now)
    }
    let old = decisions.values.filter { decision in
      decision.state.isOpen && decision.state != .confirming && end(of: decision).map { now >= $0 } ?? false
    }
    for decision in old.sorted(by: { $0.sequence < $1.sequence }) {
      // What the sender has accepted stays accepted.
      finish(decision, decision.state == .clearing ? .done : .expired, now)
    }
    advance(now)
  }

  // MARK: Parts

  /// Begins the next call of each callback that has none.
  mutating func advance(_ now: WallTime) {
    for (name, queue) in queues.sorted(by: { $0.key < $1.key }) {
      guard queue.inFlight == nil, queue.nextAt.map({ now >= $0 }) ?? true else { continue }
      guard let id = queue.ids.first(where: { decisions[$0]?.state.isOpen == true }),
        let decision = decisions[id]
      else {
        queues[name]?.ids = []
        continue
      }
      queues[name]?.inFlight = id
      queues[name]?.nextAt = nil
      act(.call(Call(callback: name, decision: decision)))
    }
  }

  private mutating func fail(_ callback: String, _ decision: Decision, _ now: WallTime) {
    let failures = (queues[callback]?.failures ?? 0) + 1
    queues[callback]?.failures = failures
    queues[callback]?.nextAt = now.adding(
      milliseconds: BackOff.delayMs(failures: failures, salt: decision.id))
    guard failures == 1 else { return }
    for id in queues[callback]?.ids ?? [] {
      if let waiting = decisions[id], waiting.state == .pending { showState(of: waiting, now) }
    }
  }

  private mutating func change(_ decision: Decision, to state: Decision.State, _ now: WallTime) {
    var changed = decision
    changed.state = state
    save(changed)
    if shownQueued.contains(decision.id) { showState(of: changed, now) }
  }

  mutating func finish(_ decision: Decision, _ state: Decision.State, _ now: WallTime) {
    if let name = callback(of: decision) { queues[name]?.ids.removeAll { $0 == decision.id } }
    guard decision.state != .unclaimed else { return remove(decision.id) }
    var finished = decision
    finished.state = state
    beginnings[decision.id] = nil
    save(finished)
    let isShown = state == .done && !shownQueued.contains(decision.id)
    if !isShown { showState(of: finished, now) }
    shownQueued.remove(decision.id)
    act(.announce(finished))
    let closed = decisions.values.filter { !$0.state.isOpen }
    guard closed.count > options.closedLimit else { return }
    if let oldest = closed.min(by: { $0.sequence < $1.sequence }) { remove(oldest.id) }
  }

  /// Writes the state of a decision to its item, if that still shows the text that was decided on.
  mutating func showState(of decision: Decision, _ now: WallTime) {
    guard let item = items[decision.number], item.state == .decided(id: decision.id), item.changes == 0,
      !decision.isDismissal, let question = decision.question,
      let answer = decision.answer
    else { return }
    var details = NotificationDetails()
    (details.level, details.flags, details.group) = (.passive, 1, question.group)
    var text = answer.done
    var lifeMs = options.shownMs
    switch decision.state {
    case .unclaimed, .confirming: return
    case .pending:
      let callback = callback(of: decision)
      let isQueued = callback.map { (queues[$0]?.failures ?? 0) > 0 } ?? true
      if isQueued {
        text = answer.queued
        lifeMs = options.keepMs
        // A press on it tries again at once.
        if callback != nil { details.actions = [answer.label] }
        shownQueued.insert(decision.id)
      }
    case .clearing, .done: shownQueued.remove(decision.id)
    case .late: text = Self.lateText
    case .failed: text = Self.failedText
    case .expired: text = Self.expiredText
    case .superseded: return
    }
    details.expires = UInt32(clamping: wall(now).adding(milliseconds: lifeMs).seconds)
    show(
      DisplayNotification(
        app: question.app, title: question.title, text: text, timestamp: UInt32(clamping: wall(now).seconds),
        details: details),
      .state, decision.number, decision.id)
  }

  static let lateText = "Too late: it is decided already"
  static let failedText = "Not accepted by the sender"
  static let expiredText = "Not delivered within a day"
}

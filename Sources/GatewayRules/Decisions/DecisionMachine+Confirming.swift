import NotibotProtocol

// Answers that need a second press: the first one is recorded and changes the item's title, the
// second one decides.
extension DecisionMachine {
  /// What a press of an open question does.
  enum Step: Hashable {
    case ignore
    /// It is a first press.
    case ask
    case decide
  }

  // MARK: Queries

  /// Whether the sender has no newer text for the item than when `show` was decided on.
  package func isCurrent(_ show: Show) -> Bool { items[show.number]?.text == show.text }

  /// When an open decision needs attention again; nil: when its item's text is in the outbox.
  func end(of decision: Decision) -> WallTime? {
    let beginning = beginnings[decision.id]
    guard decision.state == .confirming else { return beginning?.adding(milliseconds: options.keepMs) }
    switch items[decision.number]?.state {
    case .confirming: return beginning?.adding(milliseconds: options.confirmMs)
    case .returning(_, let againAt, _): return againAt
    case .plain, .open, .decided, nil: return nil
    }
  }

  func step(_ press: Press, _ state: Item.State, _ now: WallTime) -> Step {
    guard answer(press, state)?.prompt != nil else { return .decide }
    switch state {
    case .plain, .open, .returning, .decided: return .ask
    case .confirming(let id, let isShown, _):
      guard let first = decisions[id], !isOver(first, now) else { return .ask }
      // The user must have had the time to read the request for a second press, whose text is newer
      // than that of the first one.
      guard isShown, let beginning = beginnings[id], now >= beginning.adding(milliseconds: options.bounceMs),
        press.revision != first.revision
      else { return .ignore }
      return press.action == first.action ? .decide : .ask
    }
  }

  private func answer(_ press: Press, _ state: Item.State) -> Answer? {
    switch state {
    case .open(let question), .confirming(_, _, let question), .returning(_, _, let question):
      question.answers.indices.contains(press.action) ? question.answers[press.action] : nil
    case .plain, .decided: nil
    }
  }

  /// Whether the time for the second press is over.
  private func isOver(_ first: Decision, _ now: WallTime) -> Bool {
    beginnings[first.id].map { now >= $0.adding(milliseconds: options.confirmMs) } ?? true
  }

  // MARK: Inputs

  /// The result of a `show`: whether the outbox has taken it.
  package mutating func complete(_ show: Show, isDone: Bool, now: WallTime) {
    guard let state = items[show.number]?.state else { return }
    switch state {
    case .confirming(show.id, _, let question) where show.kind == .prompt && isDone:
      items[show.number]?.state = .confirming(id: show.id, isShown: true, question)
    case .returning(show.id, _, let question) where show.kind == .former:
      if isDone {
        items[show.number]?.state = .open(question)
        remove(show.id)
      } else {
        let again = now.adding(milliseconds: options.againMs)
        items[show.number]?.state = .returning(id: show.id, againAt: again, question)
      }
    case .plain, .open, .confirming, .returning, .decided: break
    }
  }

  // MARK: Parts

  /// A first press.
  mutating func ask(
    _ press: Press, _ id: String, _ question: Question, _ target: [UInt8]?, _ now: WallTime
  ) {
    ask(
      Decision(
        id: id, sequence: 0, number: press.number, action: press.action, revision: press.revision ?? 0,
        at: wall(now), state: .confirming, question: question.withoutText, target: target),
      question, now)
  }

  mutating func ask(_ decision: Decision, _ question: Question, _ now: WallTime) {
    forgetFirstPress(of: decision.number)
    var first = decision
    // The time begins when the item can ask.
    (first.state, first.sequence, first.at) = (.confirming, 0, wall(now))
    beginnings[first.id] = now
    items[first.number]?.state = .confirming(id: first.id, isShown: false, question)
    save(first)
    prompt(first.number, now)
  }

  /// Asks for the second press.
  mutating func prompt(_ number: Int64, _ now: WallTime) {
    guard case .confirming(let id, _, let question) = items[number]?.state, let first = decisions[id]
    else { return }
    guard !isOver(first, now) else { return withdraw(number, now) }
    if let item = question.item(title: first.answer?.prompt) { show(item, .prompt, number, id) }
  }

  /// Shows the former text if the time is over. The first press is on record until the outbox has
  /// that text.
  mutating func withdraw(_ number: Int64, _ now: WallTime) {
    guard let item = items[number] else { return }
    let id: String
    let former: Question
    switch item.state {
    case .confirming(let first, _, let question):
      guard let decision = decisions[first], isOver(decision, now) else { return }
      (id, former) = (first, question)
    case .returning(let first, let againAt?, let question):
      guard now >= againAt else { return }
      (id, former) = (first, question)
    case .plain, .open, .returning, .decided: return
    }
    // A newer text is on its way; it can still fail.
    let isFree = item.changes == 0
    let againAt = isFree ? nil : now.adding(milliseconds: options.againMs)
    items[number]?.state = .returning(id: id, againAt: againAt, former)
    if isFree, let notification = former.item() { show(notification, .former, number, id) }
  }

  mutating func forgetFirstPress(of number: Int64) {
    switch items[number]?.state {
    case .confirming(let id, _, _), .returning(let id, _, _): remove(id)
    case .plain, .open, .decided, nil: break
    }
  }

  mutating func show(_ notification: DisplayNotification, _ kind: Show.Kind, _ number: Int64, _ id: String) {
    guard let item = items[number] else { return }
    act(.show(Show(number: number, notification: notification, kind: kind, id: id, text: item.text)))
  }
}

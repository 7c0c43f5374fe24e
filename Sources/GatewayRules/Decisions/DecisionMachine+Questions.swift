import Digests

// What the items on the display ask, and a dismissal as an answer.
extension DecisionMachine {
  // MARK: Queries

  /// Items that wait for a press, the newest first, at most `limit`.
  package func questions(
    limit: Int
  ) -> [(number: Int64, question: Question, isConfirming: Bool)] {
    let asking = items.filter { _, item in
      switch item.state {
      case .open, .confirming, .returning: true
      case .plain, .decided: false
      }
    }
    return asking.keys.sorted(by: >).prefix(limit).compactMap { number in
      switch asking[number]?.state {
      case .open(let question): (number, question, false)
      case .confirming(_, _, let question), .returning(_, _, let question): (number, question, true)
      case .plain, .decided, nil: nil
      }
    }
  }

  // MARK: Inputs

  /// The user dismissed an item, which has left the display.
  package mutating func dismiss(_ number: Int64, now: WallTime) -> PressVerdict {
    guard let item = items[number] else { return .meaningless }
    switch item.state {
    case .plain: return .meaningless
    // After a crash the device reports a dismissal again.
    case .decided(let id): return decisions[id]?.isDismissal == true ? .known : .meaningless
    case .open(let question), .confirming(_, _, let question), .returning(_, _, let question):
      guard question.dismissal != nil else { return .meaningless }
      let id = hexText(SHA256.digest(of: "d", "g\(number)-\(question.pushID)").prefix(16))
      // The sender has a newer text, which is shown as a new item.
      guard item.changes == 0 else { return .stale }
      guard !isFull else { return .full }
      let press = Press(
        number: number, action: Decision.dismissalAction, revision: nil, isStale: false, identity: nil)
      decide(press, id, question, item.target, now)
      return .decided
    }
  }
}

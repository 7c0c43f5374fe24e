/// What to do with a device that does not answer: gentle steps first, each only once, and after each a look whether it answers.
///
/// States: *idle* → `begin` → *performing* a step → *probing* → *idle* when the device answers, else *performing* the next; after the
/// last *idle* as well. A climb is one way up; `climbsLimit` bounds them.
package struct RecoveryLadder: Equatable, Sendable {
  /// The steps, from the gentlest on.
  package enum Step: String, CaseIterable, Comparable, Sendable {
    /// Everything that waits in the port is thrown away.
    case drain
    /// The frames are ended that may have begun, and another session is opened.
    case session
    /// DTR and RTS restart the board.
    case lines
    /// Its USB port is reset.
    case usb
    /// Its supply is turned off and on.
    case power

    package static func < (left: Step, right: Step) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  package enum Action: Equatable, Sendable {
    /// Do this, then `note(_:)`.
    case perform(Step)
    /// See whether the device answers, then `note(answers:)`.
    case probe
    /// It answers, because of this step.
    case recovered(by: Step)
    /// Nothing helped, or there were too many climbs.
    case exhausted
  }

  /// What became of a step.
  package enum Outcome: Equatable, Sendable {
    case done
    /// It was tried and did not succeed.
    case failed(String)
    /// This port cannot do it, and never will.
    case impossible(String)
  }

  /// What was done so far.
  package struct Count: Equatable, Sendable {
    package var tries = 0
    /// How often the device answered behind it.
    package var recoveries = 0
    package var failures = 0
    /// Why the last failure was, or why the port cannot do it.
    package var reason: String?
    /// Whether it is never asked for again.
    package var isImpossible = false
  }

  private enum State: Equatable, Sendable {
    case idle
    case performing(Step)
    case probing(Step)
  }

  private static let climbsLimitRange = 1...1000

  private let highest: Step
  private let climbsLimit: Int
  private var state = State.idle
  private var actions: [Action] = []
  /// How often the device had stopped answering.
  package private(set) var climbs = 0
  package private(set) var counts: [Step: Count] = [:]

  /// - Parameters:
  ///   - highest: the last step that may be taken.
  ///   - climbsLimit: how often a device may be recovered, 1...1000.
  package init(upTo highest: Step, climbsLimit: Int = 8) {
    self.highest = highest
    self.climbsLimit = min(
      max(climbsLimit, Self.climbsLimitRange.lowerBound), Self.climbsLimitRange.upperBound)
  }

  // MARK: Inputs

  /// The device does not answer. Ignored while a climb is under way.
  package mutating func begin() {
    guard state == .idle else { return }
    guard climbs < climbsLimit else {
      actions.append(.exhausted)
      return
    }
    climbs += 1
    climb(above: nil)
  }

  /// What became of the step that was to be performed.
  package mutating func note(_ outcome: Outcome) {
    guard case .performing(let step) = state else { return }
    switch outcome {
    case .done:
      counts[step, default: Count()].tries += 1
      state = .probing(step)
      actions.append(.probe)
    case .failed(let reason):
      counts[step, default: Count()].tries += 1
      counts[step, default: Count()].failures += 1
      counts[step, default: Count()].reason = reason
      climb(above: step)
    case .impossible(let reason):
      counts[step, default: Count()].isImpossible = true
      counts[step, default: Count()].reason = reason
      climb(above: step)
    }
  }

  /// Whether the device answered when it was looked at.
  package mutating func note(answers: Bool) {
    guard case .probing(let step) = state else { return }
    guard answers else { return climb(above: step) }
    counts[step, default: Count()].recoveries += 1
    state = .idle
    actions.append(.recovered(by: step))
  }

  // MARK: Outputs

  package mutating func nextAction() -> Action? {
    actions.isEmpty ? nil : actions.removeFirst()
  }

  private mutating func climb(above step: Step?) {
    let next = Step.allCases.first { candidate in
      candidate <= highest && (step.map { candidate > $0 } ?? true)
        && counts[candidate]?.isImpossible != true
    }
    guard let next else {
      state = .idle
      actions.append(.exhausted)
      return
    }
    state = .performing(next)
    actions.append(.perform(next))
  }
}

/// What a ladder has done, for a report.
package struct RecoveryAccount: Encodable, Equatable, Sendable {
  package struct Step: Encodable, Equatable, Sendable {
    package var step: String
    package var tried: Int
    package var recovered: Int
    package var failed: Int
    /// Why the last failure was, or why this port cannot do it. Sanitise before printing.
    package var reason: String?

    /// In a few words: `tried 2, recovered 1`.
    package var summary: String {
      if tried == 0 { return "skipped, \(reason ?? "")" }
      return "tried \(tried), recovered \(recovered)"
        + (failed > 0 ? ", failed \(failed) (\(reason ?? ""))" : "")
    }
  }

  /// How often the device had stopped answering.
  package var climbs: Int
  /// Those that were taken or found impossible, from the gentlest on.
  package var steps: [Step]
}

extension RecoveryLadder {
  package var account: RecoveryAccount {
    let steps = Step.allCases.compactMap { step in
      counts[step].map {
        RecoveryAccount.Step(
          step: step.rawValue, tried: $0.tries, recovered: $0.recoveries, failed: $0.failures,
          reason: $0.reason)
      }
    }
    return RecoveryAccount(climbs: climbs, steps: steps)
  }
}

/// The recovery of a device that does not answer: gentle steps first, each only once, each followed
/// by a probe.
///
/// States: *idle* → `begin` → *performing* a step → *probing* → *idle* if the device answers,
/// otherwise *performing* the next; after the last step *idle* as well. A climb is one pass over
/// the steps; `climbsLimit` bounds their number.
package struct RecoveryLadder: Equatable, Sendable {
  /// The steps, gentlest first.
  package enum Step: String, CaseIterable, Comparable, Sendable {
    /// Discard all bytes queued in the port.
    case drain
    /// Terminate partial frames, and open another session.
    case session
    /// Restart the board with DTR and RTS.
    case lines
    /// Reset its USB port.
    case usb
    /// Turn its power supply off and on.
    case power

    package static func < (left: Step, right: Step) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  package enum Action: Equatable, Sendable {
    /// Perform this step, then call `handle(_:)`.
    case perform(Step)
    /// Probe the device, then call `handle(answers:)`.
    case probe
    /// It answers, after this step.
    case recovered(by: Step)
    /// Nothing helped, or there were too many climbs.
    case exhausted
  }

  /// The result of a step.
  package enum Outcome: Equatable, Sendable {
    case done
    /// It was tried and did not succeed.
    case failed(String)
    /// This port does not support it.
    case impossible(String)
  }

  /// The statistics of a step.
  package struct Count: Equatable, Sendable {
    package var tries = 0
    /// How often the device answered after it.
    package var recoveries = 0
    package var failures = 0
    /// The reason for the last failure, or why the port does not support it.
    package var reason: String?
    /// Whether it is never requested again.
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
  ///   - highest: the last permitted step.
  ///   - climbsLimit: recoveries, at most, 1...1000.
  package init(upTo highest: Step, climbsLimit: Int = 8) {
    self.highest = highest
    self.climbsLimit = min(
      max(climbsLimit, Self.climbsLimitRange.lowerBound), Self.climbsLimitRange.upperBound)
  }

  // MARK: Inputs

  /// The device does not answer. Ignored during a climb.
  package mutating func begin() {
    guard state == .idle else { return }
    guard climbs < climbsLimit else {
      actions.append(.exhausted)
      return
    }
    climbs += 1
    climb(above: nil)
  }

  /// The result of the requested step.
  package mutating func handle(_ outcome: Outcome) {
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

  /// Whether the device answered the probe.
  package mutating func handle(answers: Bool) {
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

/// The statistics of a ladder, for a report.
package struct RecoveryAccount: Encodable, Equatable, Sendable {
  package struct Step: Encodable, Equatable, Sendable {
    package var step: String
    package var tried: Int
    package var recovered: Int
    package var failed: Int
    /// The reason for the last failure, or why this port does not support it. Sanitise before
    /// printing.
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
  /// The steps that were performed or found impossible, gentlest first.
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

/// One run of a case, and how late the rig was in it.
package struct CaseRun: Equatable, Sendable {
  package var outcome: Outcome
  /// Nil where no clock runs that could be late.
  package var lateness: Lateness?
  package var transcript: [String]

  package init(_ outcome: Outcome, lateness: Lateness?, transcript: [String] = []) {
    self.outcome = outcome
    self.lateness = lateness
    self.transcript = transcript
  }
}

/// What the runs of a case come to. A rig in real time may be late, and a device that answers lawfully to a host that is
/// late fails cases. So a failure counts only in a window in which nobody was late, and only when it comes twice; a case
/// that cannot be decided is an error of the rig, not a failure of the device.
///
/// States: open, until `decision` is there. Each `note` adds a run; `decision` is there at the latest after `runsLimit`.
package struct CaseVerdict: Equatable {
  /// Runs of one case.
  package static let runsLimit = 8
  /// Failures in calm windows that make a failed case.
  package static let failuresToConfirm = 2

  /// What is reported.
  package struct Decision: Equatable, Sendable {
    package var outcome: Outcome
    /// What a reader must know about the runs; empty when there was one and it decided.
    package var notes: [String]
    package var transcript: [String]
  }

  private(set) package var runs: [CaseRun] = []

  package init() {}

  /// Adds a run.
  package mutating func note(_ run: CaseRun) {
    runs.append(run)
  }

  /// What the case came to; nil when it must run again.
  package var decision: Decision? {
    guard let last = runs.last else { return nil }
    guard let lateness = last.lateness else { return decision(last) }
    switch last.outcome {
    case .skipped: return decision(last)
    case .errored where lateness.isCalm: return decision(last)
    case .passed where passes > calmFailures.count: return decision(last)
    case .failed where calmFailures.count >= Self.failuresToConfirm: return decision(last)
    case .passed, .failed, .errored: return runs.count < Self.runsLimit ? nil : undecided
    }
  }

  /// What is reported when the case cannot run again.
  package var undecided: Decision {
    guard let bad = calmFailures.last ?? runs.last(where: { $0.outcome != .passed }) else {
      return Decision(outcome: .errored("not run"), notes: [], transcript: [])
    }
    let reason =
      worst == Lateness()
      ? "interrupted before it was repeated"
      : "\(worst.summary) (limit: \(Int(Lateness.limit.inMilliseconds)) ms); run it on a machine with less load"
    let message =
      "not decided in \(Self.count(runs.count)): \(reason); last finding: "
      + (bad.outcome.details.first ?? "none")
    return Decision(outcome: .errored(message), notes: [], transcript: bad.transcript)
  }

  private var passes: Int { runs.count { $0.outcome == .passed } }

  private var calmFailures: [CaseRun] {
    runs.filter { run in
      guard case .failed = run.outcome else { return false }
      return run.lateness?.isCalm ?? true
    }
  }

  /// Of the runs that did not count because of it.
  private var worst: Lateness {
    runs.compactMap(\.lateness).filter { !$0.isCalm }.reduce(Lateness()) { $0.union($1) }
  }

  private func decision(_ last: CaseRun) -> Decision {
    Decision(outcome: last.outcome, notes: notes, transcript: last.transcript)
  }

  private var notes: [String] {
    guard runs.count > 1 else { return [] }
    let lateFailures = runs.count { $0.outcome != .passed && $0.lateness?.isCalm == false }
    var notes: [String] = []
    if lateFailures > 0 {
      notes.append("\(Self.count(lateFailures)) did not count: \(worst.summary)")
    }
    if let failure = calmFailures.last, passes > 0 {
      notes.append(
        "failed in \(Self.count(calmFailures.count)) of \(runs.count) in which nobody was late: "
          + (failure.outcome.details.first ?? "no finding"))
    }
    return notes
  }

  private static func count(_ runs: Int) -> String { runs == 1 ? "1 run" : "\(runs) runs" }
}

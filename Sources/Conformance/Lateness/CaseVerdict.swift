/// One run of a case, how late the rig was in it, and how good its line.
package struct CaseRun: Equatable, Sendable {
  package var outcome: Outcome
  /// Nil if there is no clock that can be late.
  package var lateness: Lateness?
  package var line: LineQuality
  package var transcript: [String]
  package var answers: [Answer]

  package init(
    _ outcome: Outcome, lateness: Lateness?, line: LineQuality = LineQuality(), transcript: [String] = [],
    answers: [Answer] = []
  ) {
    self.outcome = outcome
    self.lateness = lateness
    self.line = line
    self.transcript = transcript
    self.answers = answers
  }

  /// Whether a failure in it is the device's own.
  var counts: Bool { lateness?.isCalm ?? true && line.isClean }
}

/// The verdict from the runs of a case. A rig in real time can be late, and its line can corrupt
/// bytes; a device that answers correctly then fails cases. So a failure counts only in a window in
/// which neither end was late and the line was clean, and only if it happens twice; a case that
/// cannot be decided is an error of the rig, not a failure of the device.
///
/// States: open, until `decision` is set. Each `add` adds a run; `decision` is set at the latest
/// after `runsLimit`.
package struct CaseVerdict: Equatable {
  /// Runs of one case.
  package static let runsLimit = 8
  /// Runs of one case on a line that corrupts bytes.
  package static let corruptRunsLimit = 4
  /// Failures in calm windows that fail the case.
  package static let failuresToConfirm = 2

  /// The reported outcome.
  package struct Decision: Equatable, Sendable {
    package var outcome: Outcome
    /// Notes about the runs for the reader; empty if there was a single decisive run.
    package var notes: [String]
    package var transcript: [String]
    package var answers: [Answer] = []
  }

  private(set) package var runs: [CaseRun] = []

  package init() {}

  /// Adds a run.
  package mutating func add(_ run: CaseRun) {
    runs.append(run)
  }

  /// The outcome of the case; nil if it must run again.
  package var decision: Decision? {
    guard let last = runs.last else { return nil }
    guard last.lateness != nil else { return decision(last) }
    switch last.outcome {
    // What has failed before is no skip: the failed runs have filled the store, for instance.
    case .skipped: return failures.isEmpty ? decision(last) : undecided
    case .errored where last.counts: return decision(last)
    case .passed where passes > calmFailures.count, .differs where passes > calmFailures.count:
      return decision(last)
    case .failed where calmFailures.count >= Self.failuresToConfirm: return decision(last)
    case .passed, .differs, .failed, .errored:
      // The values that a line lets through are the same in each run.
      let isOver =
        runs.count >= Self.runsLimit || corruptRuns >= Self.corruptRunsLimit || !line.blocked.isEmpty
      return isOver ? undecided : nil
    }
  }

  private var corruptRuns: Int { runs.count { !$0.line.isClean } }

  /// The checks of the line after all runs.
  package var line: LineQuality { runs.map(\.line).reduce(LineQuality(), +) }

  /// The outcome if the case cannot run again.
  package var undecided: Decision {
    guard let bad = calmFailures.last ?? failures.last ?? runs.last(where: { $0.outcome != .passed }) else {
      return Decision(outcome: .errored("not run"), notes: [], transcript: [])
    }
    let reason =
      if case .skipped = runs.last?.outcome {
        "it could not be repeated, because \(runs.last?.outcome.details.first ?? "it was skipped")"
      } else if !line.isClean {
        line.summary
      } else if worst == Lateness() {
        "interrupted before it was repeated"
      } else {
        "\(worst.summary) (limit: \(Int(Lateness.limit.inMilliseconds)) ms); run it on a machine with less load"
      }
    let message =
      "not decided in \(Self.count(runs.count)): \(reason); last finding: "
      + (bad.outcome.details.first ?? "none")
    return Decision(outcome: .errored(message), notes: [], transcript: bad.transcript)
  }

  private var passes: Int {
    runs.count {
      switch $0.outcome {
      case .passed, .differs: true
      case .failed, .skipped, .errored: false
      }
    }
  }

  private var failures: [CaseRun] {
    runs.filter { if case .failed = $0.outcome { true } else { false } }
  }

  private var calmFailures: [CaseRun] { failures.filter(\.counts) }

  /// The runs that did not count because of it.
  private var worst: Lateness {
    runs.compactMap(\.lateness).filter { !$0.isCalm }.reduce(Lateness()) { $0.union($1) }
  }

  private func decision(_ last: CaseRun) -> Decision {
    Decision(outcome: last.outcome, notes: notes, transcript: last.transcript, answers: last.answers)
  }

  private var notes: [String] {
    guard runs.count > 1 else { return [] }
    let lateFailures = runs.count { $0.outcome != .passed && !$0.counts }
    var notes: [String] = []
    if lateFailures > 0 {
      let reasons = [worst == Lateness() ? nil : worst.summary, line.isClean ? nil : line.summary]
      notes.append(
        "\(Self.count(lateFailures)) did not count: \(reasons.compactMap(\.self).joined(separator: "; "))")
    }
    if let failure = calmFailures.last, passes > 0 {
      notes.append(
        "failed in \(Self.count(calmFailures.count)) of \(runs.count) in which nothing was late: "
          + (failure.outcome.details.first ?? "no finding"))
    }
    return notes
  }

  private static func count(_ runs: Int) -> String { runs == 1 ? "1 run" : "\(runs) runs" }
}

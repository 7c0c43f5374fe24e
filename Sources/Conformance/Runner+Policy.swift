/// How often cases are run, and when a run ends early.
package struct RunPolicy: Equatable, Sendable {
  /// The number of runs of each case; it ends with the first one that does not pass. 1 or more.
  package var repetitions = 1
  /// Whether the run ends with the first case that does not pass.
  package var endsAtFailure = false

  package init(repetitions: Int = 1, endsAtFailure: Bool = false) {
    self.repetitions = repetitions
    self.endsAtFailure = endsAtFailure
  }
}

extension Outcome {
  /// Whether the device or the rig is wrong.
  package var isBad: Bool {
    switch self {
    case .passed, .skipped: false
    case .failed, .errored: true
    }
  }
}

extension Runner {
  /// Runs cases in order, each as often as the policy demands with another seed each time, and
  /// returns one result for each. Ends early if the task is cancelled, or as the policy demands.
  package static func run(
    _ cases: [Case], on rig: any Rig, seed: UInt64, policy: RunPolicy,
    onResult: (CaseResult) async -> Void
  ) async -> [CaseResult] {
    let runner = Runner(rig: rig, seed: seed)
    var results: [CaseResult] = []
    for testCase in cases where !Task.isCancelled {
      var result = await runner.run(testCase)
      for round in 1..<max(1, policy.repetitions) {
        guard result.outcome == .passed, !Task.isCancelled else { break }
        let next = await Runner(rig: rig, seed: seed &+ UInt64(round)).run(testCase)
        result = CaseResult(
          testCase: testCase, outcome: next.outcome, duration: result.duration + next.duration,
          transcript: next.transcript, runs: result.runs + next.runs, notes: result.notes + next.notes)
      }
      // An interrupted run is not evidence about the device.
      if Task.isCancelled, case .errored = result.outcome { break }
      results.append(result)
      await onResult(result)
      if policy.endsAtFailure, result.outcome.isBad { break }
    }
    return results
  }
}

/// The cases of a run, shared by its devices: each takes the next one when it has finished the one
/// before. Passes the results on as they come.
package actor CaseQueue {
  /// Cases that the line does not let through before the run ends.
  private static let corruptCasesLimit = 5

  private let cases: [Case]
  private let policy: RunPolicy
  private let onResult: @Sendable (CaseResult) -> Void
  /// The next case to run.
  private var next = 0
  private var isEnded = false
  private var corruptCases = 0
  /// Why the line ended the run; nil if it did not.
  private(set) package var trouble: String?
  /// The results that were passed on.
  private(set) package var results: [CaseResult] = []

  package init(
    _ cases: [Case], policy: RunPolicy, onResult: @escaping @Sendable (CaseResult) -> Void
  ) {
    (self.cases, self.policy, self.onResult) = (cases, policy, onResult)
  }

  /// Runs cases on a rig until none is left, the rig is lost, the task is cancelled or the policy
  /// ends the run;
  /// several rigs can do so at once. Each case runs as often as the policy demands, with another
  /// seed each time.
  package nonisolated func run(on rig: any Rig, seed: UInt64) async {
    while !Task.isCancelled, rig.loss == nil, let testCase = await popNext() {
      let runner = Runner(rig: rig, seed: seed, policy: policy)
      var result = await runner.run(testCase)
      for round in 1..<max(1, policy.repetitions) {
        guard result.outcome == .passed, !Task.isCancelled else { break }
        let again = Runner(rig: rig, seed: seed &+ UInt64(round), policy: policy)
        let next = await again.run(testCase)
        result = CaseResult(
          testCase: testCase, outcome: next.outcome, duration: result.duration + next.duration,
          transcript: next.transcript, runs: result.runs + next.runs, notes: result.notes + next.notes,
          line: result.line + next.line, answers: next.answers)
      }
      // An interrupted run is not evidence about the device.
      if Task.isCancelled, case .errored = result.outcome {
        continue
      }
      await finish(result)
    }
  }

  private func popNext() -> Case? {
    guard !isEnded, next < cases.count else { return nil }
    defer { next += 1 }
    return cases[next]
  }

  private func finish(_ result: CaseResult) {
    // What others find after the failure that ended the run does not count.
    guard !(policy.endsAtFailure && results.last?.outcome.isBad == true) else { return }
    results.append(result)
    onResult(result)
    if policy.endsAtFailure, result.outcome.isBad { isEnded = true }
    if case .errored = result.outcome, !result.line.isClean {
      corruptCases += 1
      if corruptCases == Self.corruptCasesLimit { (isEnded, trouble) = (true, result.line.summary) }
    }
  }
}

/// The cases of a run, shared by its devices: each takes the next one when it has finished the one
/// before. Passes the results on in the order of the cases.
package actor CaseQueue {
  /// Cases that the line does not let through before the run ends.
  private static let corruptCasesLimit = 5

  private let cases: [Case]
  private let policy: RunPolicy
  private let onResult: @Sendable (CaseResult) -> Void
  /// The next case to run.
  private var next = 0
  /// The next case whose result is passed on.
  private var nextResult = 0
  /// Results that wait for those of cases before them; nil for a case that was interrupted.
  private var waiting: [Int: CaseResult?] = [:]
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
    while !Task.isCancelled, rig.loss == nil, let (index, testCase) = await take() {
      let runner = Runner(rig: rig, seed: seed, waitsLong: policy.waitsLong)
      var result = await runner.run(testCase)
      for round in 1..<max(1, policy.repetitions) {
        guard result.outcome == .passed, !Task.isCancelled else { break }
        let again = Runner(rig: rig, seed: seed &+ UInt64(round), waitsLong: policy.waitsLong)
        let next = await again.run(testCase)
        result = CaseResult(
          testCase: testCase, outcome: next.outcome, duration: result.duration + next.duration,
          transcript: next.transcript, runs: result.runs + next.runs, notes: result.notes + next.notes,
          line: result.line + next.line)
      }
      // An interrupted run is not evidence about the device.
      if Task.isCancelled, case .errored = result.outcome {
        await finish(index, nil)
      } else {
        await finish(index, result)
      }
    }
  }

  private func take() -> (Int, Case)? {
    guard !isEnded, next < cases.count else { return nil }
    defer { next += 1 }
    return (next, cases[next])
  }

  private func finish(_ index: Int, _ result: CaseResult?) {
    waiting[index] = .some(result)
    if policy.endsAtFailure, result?.outcome.isBad == true { isEnded = true }
    if let result, case .errored = result.outcome, !result.line.isClean {
      corruptCases += 1
      if corruptCases == Self.corruptCasesLimit { (isEnded, trouble) = (true, result.line.summary) }
    }
    while let result = waiting.removeValue(forKey: nextResult) {
      nextResult += 1
      guard let result else { continue }
      results.append(result)
      onResult(result)
      // What others found in cases after it does not count.
      if policy.endsAtFailure, result.outcome.isBad { nextResult = cases.count }
    }
  }
}

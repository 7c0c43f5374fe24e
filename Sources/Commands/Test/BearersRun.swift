import Conformance
import Foundation
import SerialLink

/// The suite on both bearers of one board, one after the other, and what they answer differently:
/// one report, differences first.
struct BearersRun: Sendable {
  /// The port, and the connection of the same device.
  let bearers: [BoardsRun.Board]
  let reports: TestReports

  /// - Throws: `Failure` if a case failed or a bearer answered differently (1), or a bearer
  ///   could not be tested.
  func perform() async throws {
    var outcomes: [TestRun.Outcome] = []
    for bearer in bearers {
      var run = bearer.run
      run.printsSummary = false
      // Both write to one store.
      guard !Task.isCancelled else { break }
      reports.startGroup(bearer.name)
      reports.printLine("Bearer  \(bearer.name.printable)")
      outcomes.append(await run.perform(print: reports.printLine))
      reports.endGroup()
    }
    outcomes += bearers[outcomes.count...].map { bearer in
      TestRun.Outcome(
        report: bearer.run.missing("interrupted before it was tested"),
        failure: Failure(.interrupted, "interrupted"))
    }
    let comparison = BearerComparison(outcomes[0].report, outcomes[1].report)
    comparison.lines.forEach(reports.printLine)
    for (bearer, outcome) in zip(bearers, outcomes) {
      bearer.run.summary(of: outcome.report).forEach(reports.printLine)
    }
    try reports.write(outcomes.map(\.report), comparison: comparison)
    if let failure = judgement(of: outcomes, comparison) { throw failure }
  }

  /// What the device does wrong takes precedence over a bearer that could not be tested.
  private func judgement(of outcomes: [TestRun.Outcome], _ comparison: BearerComparison) -> Failure? {
    let failures = zip(bearers, outcomes).compactMap { bearer, outcome in
      outcome.failure.map {
        Failure($0.kind, "\(bearer.name.printable): \($0.message)", remedy: $0.remedy)
      }
    }
    let count = comparison.differences.count
    let difference =
      count == 0
      ? nil
      : Failure(
        .testFailed, "\(count) of \(comparison.compared) cases are answered differently by the two bearers",
        remedy: "see the differences in the report")
    return failures.first { $0.kind == .testFailed } ?? difference ?? failures.first
  }
}

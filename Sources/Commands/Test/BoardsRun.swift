import Conformance
import Foundation
import SerialLink
import Synchronization

/// The suite on several boards in parallel: each line begins with its board, one report has all
/// boards.
struct BoardsRun: Sendable {
  struct Board: Sendable {
    /// Its port.
    var name: String
    var run: TestRun
  }

  let boards: [Board]
  /// Boards tested in parallel; at least 1.
  let jobs: Int
  let reports: TestReports

  /// Tests every board. A board that cannot be tested is an error, and does not affect the others.
  ///
  /// - Throws: `Failure` unless all passed: for failed cases if there are any, else that of
  ///   the first board that could not be tested.
  func perform() async throws {
    var outcomes: [Int: TestRun.Outcome] = [:]
    await withTaskGroup(of: (Int, TestRun.Outcome).self) { group in
      var next = 0
      while next < min(jobs, boards.count) {
        start(next, in: &group)
        next += 1
      }
      for await (index, outcome) in group {
        outcomes[index] = outcome
        if next < boards.count, !Task.isCancelled { start(next, in: &group) }
        next += 1
      }
    }
    let done = boards.indices.map { index in
      outcomes[index]
        ?? TestRun.Outcome(
          report: boards[index].run.missing("interrupted before it was tested"),
          failure: Failure(.interrupted, "interrupted"))
    }
    printSummary(done)
    try reports.write(done.map(\.report))
    let ends = zip(boards, done).map { (name: $0.name, failure: $1.failure) }
    if let failure = AllBoards.judgement(of: ends) { throw failure }
  }

  private func start(_ index: Int, in group: inout TaskGroup<(Int, TestRun.Outcome)>) {
    let (board, reports) = (boards[index], reports)
    group.addTask {
      guard reports.gitHub != nil else {
        return (index, await board.run.perform { reports.printLine("[\(board.name.printable)] \($0)") })
      }
      // Groups in a workflow's log cannot be interleaved.
      let lines = Mutex<[String]>([])
      let outcome = await board.run.perform { line in lines.withLock { $0.append(line) } }
      let text =
        [GitHubReport.groupStart(board.name.printable)] + lines.withLock(\.self).map(WorkflowText.line)
        + [outcome.failure.map { WorkflowText.line($0.description) }, GitHubReport.groupEnd].compactMap(
          \.self)
      reports.printRaw(text.joined(separator: "\n"))
      return (index, outcome)
    }
  }

  private func printSummary(_ outcomes: [TestRun.Outcome]) {
    reports.printLine("")
    for (board, outcome) in zip(boards, outcomes) {
      let counts = outcome.report.totals.sentence + (outcome.report.part.map { "; \($0)" } ?? "")
      let trouble = outcome.report.rigTrouble.map { "; \($0.printable)" } ?? ""
      reports.printLine(
        "\(outcome.failure == nil ? "ok  " : "FAIL") \(board.name.printable): \(counts)\(trouble)")
    }
  }
}

extension TestRun {
  /// The report of a run that did not begin.
  func missing(_ reason: String) -> Report {
    var report = makeReport([], Date(), .now)
    report.rigTrouble = reason
    return report
  }
}

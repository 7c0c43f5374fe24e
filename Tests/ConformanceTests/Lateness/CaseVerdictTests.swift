import Testing

@testable import Conformance

/// The verdict from the runs of one case, row by row.
@Suite struct CaseVerdictTests {
  /// A run: its outcome, and whether anything was late.
  enum Run: Sendable {
    case passed, failed, failedLate, passedLate, differs, differsLate, errored, erroredLate, skipped

    var value: CaseRun {
      let late = Lateness(bench: .milliseconds(30))
      let finding = Outcome.failed([Finding("wrong", file: "f", line: 1)])
      return switch self {
      case .passed: CaseRun(.passed, lateness: Lateness())
      case .passedLate: CaseRun(.passed, lateness: late)
      case .failed: CaseRun(finding, lateness: Lateness(), transcript: ["calm"])
      case .failedLate: CaseRun(finding, lateness: late, transcript: ["late"])
      case .differs: CaseRun(.differs([]), lateness: Lateness())
      case .differsLate: CaseRun(.differs([]), lateness: late)
      case .errored: CaseRun(.errored("no port"), lateness: Lateness())
      case .erroredLate: CaseRun(.errored("no port"), lateness: late)
      case .skipped: CaseRun(.skipped("no room"), lateness: late)
      }
    }
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let runs: [Run]
    /// Nil: it must run again.
    let word: String?
    var testDescription: String { "\(runs) \(word ?? "again")" }
  }

  private static let rows = [
    Row(runs: [], word: nil),
    Row(runs: [.passed], word: "passed"),
    Row(runs: [.passedLate], word: "passed"),
    Row(runs: [.differs], word: "differs"),
    Row(runs: [.differsLate], word: "differs"),
    Row(runs: [.failed, .differs], word: nil),
    Row(runs: [.failed, .differs, .differs], word: "differs"),
    Row(runs: [.failed, .differs, .failed], word: "failed"),
    Row(runs: [.skipped], word: "skipped"),
    Row(runs: [.errored], word: "errored"),
    Row(runs: [.erroredLate], word: nil),
    Row(runs: [.erroredLate, .passed], word: "passed"),
    Row(runs: [.failed], word: nil),
    Row(runs: [.failed, .failed], word: "failed"),
    Row(runs: [.failed, .failedLate], word: nil),
    Row(runs: [.failed, .failedLate, .failed], word: "failed"),
    Row(runs: [.failedLate], word: nil),
    Row(runs: [.failedLate, .passed], word: "passed"),
    Row(runs: [.failedLate, .passedLate], word: "passed"),
    Row(runs: [.failedLate, .skipped], word: "errored"),
    Row(runs: [.failed, .skipped], word: "errored"),
    Row(runs: [.erroredLate, .skipped], word: "skipped"),
    Row(runs: [.failed, .passed], word: nil),
    Row(runs: [.failed, .passed, .passed], word: "passed"),
    Row(runs: [.failed, .passed, .failed], word: "failed"),
    Row(runs: [.failedLate, .failedLate, .failedLate, .failedLate], word: nil),
    Row(runs: Array(repeating: .failedLate, count: 8), word: "errored"),
    Row(runs: [.failed] + Array(repeating: .failedLate, count: 7), word: "errored"),
    Row(runs: Array(repeating: .erroredLate, count: 8), word: "errored"),
    Row(runs: [.failed, .failedLate, .failedLate, .failedLate, .failed], word: "failed"),
  ]

  @Test(arguments: rows)
  func `runs result in a verdict`(row: Row) {
    var verdict = CaseVerdict()
    row.runs.forEach { verdict.add($0.value) }
    #expect(verdict.decision?.outcome.word == row.word)
  }

  @Test func `if no clock can be late the first run decides`() {
    var verdict = CaseVerdict()
    verdict.add(CaseRun(.failed([Finding("wrong", file: "f", line: 1)]), lateness: nil))
    #expect(verdict.decision?.outcome.word == "failed")
  }

  @Test func `a pass that outvotes a failure on a calm bench reports it`() {
    var verdict = CaseVerdict()
    for run in [Run.failed, .passed, .passed] { verdict.add(run.value) }
    #expect(
      verdict.decision?.notes == ["failed in 1 run of 3 in which nothing was late: wrong (checked at f:1)"])
  }

  @Test func `the transcript is that of a run on a calm bench if there is one`() {
    var verdict = CaseVerdict()
    for run in [Run.failedLate, .failed, .failedLate] { verdict.add(run.value) }
    #expect(verdict.undecided.transcript == ["calm"])
    verdict.add(Run.failed.value)
    #expect(verdict.decision?.transcript == ["calm"])
  }

  @Test func `a run that cannot be repeated is an error with its reason`() {
    var verdict = CaseVerdict()
    verdict.add(Run.failedLate.value)
    #expect(
      verdict.undecided.outcome
        == .errored(
          "not decided in 1 run: the bench was up to 30 ms late (limit: 10 ms); "
            + "run it on a machine with less load; last finding: wrong (checked at f:1)"))
    var calm = CaseVerdict()
    calm.add(Run.failed.value)
    #expect(
      calm.undecided.outcome
        == .errored(
          "not decided in 1 run: interrupted before it was repeated; last finding: wrong (checked at f:1)"))
  }
}

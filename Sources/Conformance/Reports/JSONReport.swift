import Foundation
import SerialLink

/// The report for programs, one JSON document.
package struct JSONReport: JSONDocument, Sendable {
  /// The name of the format; its version grows when a field is removed or changes its meaning, not
  /// when one is added.
  package static let schema = "notibot.conformance"
  package static let version = 1

  struct Entry: Encodable, Sendable {
    var id: String
    var title: String
    var rules: [String]
    var chapter: String
    var needs: [String]
    var outcome: String
    var seconds: Double
    /// What was found, with the place of each check in the suite.
    var details: [String]
    /// The same without the places.
    var findings: [String]
    /// The first rule's own words; nil if the case passed or was skipped.
    var ruleWords: String?
    var transcript: [String]
    /// How often the case ran, and notes about that.
    var runs: Int
    var notes: [String]
  }

  struct Totals: Encodable, Sendable {
    var cases: Int
    /// All but the skipped ones.
    var run: Int
    var passed: Int
    var failed: Int
    var errored: Int
    /// Cases whose rules a Bluetooth stack's server need not obey, and does not.
    var differs: Int
    var skipped: Int

    init(_ counted: Report.Totals) {
      (cases, run, passed, failed) = (counted.count, counted.run, counted.passed, counted.failed)
      (errored, differs, skipped) = (counted.errored, counted.differing, counted.skipped)
    }
  }

  let schema = Self.schema
  let version = Self.version
  let rig: String
  let port: String
  let seed: UInt64
  let startedAt: String
  let seconds: Double
  let rigTrouble: String?
  let bootID: String?
  let recovery: RecoveryAccount?
  let device: RunIdentity.Device?
  let connection: RunIdentity.Connection?
  let bench: RunIdentity.Bench?
  /// The checks of the line after failed runs; nil if there was none.
  let line: Line?
  let totals: Totals
  /// Which cases were chosen, if others were left out to be quick.
  let part: String?
  /// Where to begin; nil if every case passed.
  let diagnosis: Diagnosis?
  let cases: [Entry]

  struct Diagnosis: Encodable, Sendable {
    /// The ids of the cases that did not pass, the most specific one first.
    var startWith: [String]
    /// What known faulty devices do wrong on which nearly the same cases fail; several if they
    /// cannot be distinguished.
    var similarFaults: [String]
    /// The case of the first of them, if it was not run.
    var missing: String?
  }

  struct Line: Encodable, Sendable {
    /// Frames that were sent as a check, those of them that were lost, and answers that arrived
    /// corrupt.
    var asked: Int
    var lost: Int
    var corrupt: Int
  }

  package init(_ report: Report) {
    rig = report.rig
    port = report.port
    seed = report.seed
    startedAt = report.startedAt.formatted(.iso8601)
    seconds = report.duration.inSeconds
    rigTrouble = report.rigTrouble
    bootID = report.bootID
    recovery = report.recovery
    device = report.identity?.device
    connection = report.identity?.connection
    bench = report.identity?.bench
    let quality = report.line
    line =
      quality.asked == 0
      ? nil : Line(asked: quality.asked, lost: quality.lost, corrupt: quality.corrupt)
    part = report.part
    let (bad, found) = report.diagnosis
    diagnosis =
      bad.isEmpty
      ? nil
      : Diagnosis(
        startWith: bad.map(\.testCase.id), similarFaults: found.faults.map(\.what), missing: found.missing)
    totals = Totals(report.totals)
    cases = report.results.map { result in
      let isBad = result.outcome.isBad
      return Entry(
        id: result.testCase.id, title: result.testCase.title, rules: result.testCase.rules,
        chapter: result.testCase.chapter.rawValue, needs: result.testCase.needs.sorted().map(\.rawValue),
        outcome: result.outcome.word, seconds: result.duration.inSeconds, details: result.outcome.details,
        findings: result.outcome.findings,
        ruleWords: isBad ? RuleWords.words(of: result.testCase.rules[0]) : nil,
        transcript: result.transcript, runs: result.runs, notes: result.notes)
    }
  }
}

/// The report of several boards for programs, one JSON document.
package struct BoardsJSONReport: JSONDocument, Sendable {
  package static let schema = "notibot.conformance.boards"
  package static let version = 1

  let schema = Self.schema
  let version = Self.version
  let totals: JSONReport.Totals
  /// In the order in which they were named or found.
  let boards: [JSONReport]
  /// If they are the two bearers of one board.
  let comparison: BearerComparison?

  package init(_ reports: [Report], comparison: BearerComparison? = nil) {
    self.comparison = comparison
    boards = reports.map(JSONReport.init)
    totals = JSONReport.Totals(Report.Totals(reports.flatMap(\.results)))
  }
}

/// A report that is one JSON document.
package protocol JSONDocument: Encodable {}

extension JSONDocument {
  /// The document, keys sorted. Text of a device cannot act on what shows the document.
  package func document() throws -> String {
    try printableJSON(isPretty: true) + "\n"
  }
}

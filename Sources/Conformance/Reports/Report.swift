package import Foundation
package import SerialLink

/// A run of the suite, as the input of the three reports.
package struct Report: Sendable {
  /// The rig's name.
  package var rig: String
  /// The port or program of the rig, as the user named it.
  package var port: String
  package var seed: UInt64
  package var startedAt: Date
  package var duration: Duration
  package var results: [CaseResult]
  /// Why there was no rig to run on; nil if there was one.
  package var rigTrouble: String?
  /// For a device on a port, its boot id at the beginning of the run: eight hexadecimal digits.
  package var bootID: String?
  /// The tested device and the tester; nil if unknown.
  package var identity: RunIdentity?
  /// Which cases were chosen, in words, if others were left out to be quick; nil: as selected.
  package var part: String?
  /// The recovery of a device that did not answer; nil if none was necessary.
  package var recovery: RecoveryAccount?

  package init(
    rig: String, port: String, seed: UInt64, startedAt: Date, duration: Duration, results: [CaseResult],
    rigTrouble: String? = nil
  ) {
    self.rig = rig
    self.port = port
    self.seed = seed
    self.startedAt = startedAt
    self.duration = duration
    self.results = results
    self.rigTrouble = rigTrouble
  }

  /// The number of cases with each outcome.
  package struct Totals: Equatable, Sendable {
    package var passed = 0
    package var failed = 0
    package var errored = 0
    /// On a device whose Bluetooth stack has a server of its own.
    package var differing = 0
    package var skipped = 0
    package var count: Int { run + skipped }
    /// All but the skipped ones.
    package var run: Int { passed + failed + errored + differing }

    /// "24 of 24 passed, 14 skipped", with the others in between, if any.
    package var sentence: String {
      let parts = [
        (failed, "failed"), (errored, "errored"), (differing, "stack: differs"), (skipped, "skipped"),
      ].filter { $0.0 > 0 }
      return (["\(passed) of \(run) passed"] + parts.map { "\($0.0) \($0.1)" }).joined(separator: ", ")
    }

    package init(_ results: some Sequence<CaseResult>) {
      for result in results {
        switch result.outcome {
        case .passed: passed += 1
        case .failed: failed += 1
        case .errored: errored += 1
        case .differs: differing += 1
        case .skipped: skipped += 1
        }
      }
    }
  }

  package var totals: Totals { Totals(results) }

  /// The cases that did not pass, as a reader begins with them, and what they have in common.
  package var diagnosis: (results: [CaseResult], found: FaultMatrix.Diagnosis) {
    let bad = results.filter(\.outcome.isBad)
    let failed = bad.filter { $0.outcome.word == "failed" }
    let run = Set(results.filter { $0.outcome.word != "skipped" }.map(\.testCase.id))
    let found = FaultMatrix.measured.diagnosis(of: failed.map(\.testCase.id), run: run)
    let byID = Dictionary(failed.map { ($0.testCase.id, $0) }) { first, _ in first }
    return (found.caseIDs.compactMap { byID[$0] } + bad.filter { $0.outcome.word == "errored" }, found)
  }

  /// The checks of the line after failed runs.
  package var line: LineQuality { results.map(\.line).reduce(LineQuality(), +) }

  /// The results of each chapter that has any, in the suite's order.
  package var chapters: [(chapter: Chapter, results: [CaseResult])] {
    Chapter.allCases.compactMap { chapter in
      let results = results.filter { $0.testCase.chapter == chapter }
      return results.isEmpty ? nil : (chapter, results)
    }
  }
}

extension Duration {
  /// In seconds, for reports.
  package var inSeconds: Double { inMilliseconds / 1000 }
}

extension Outcome {
  /// One word, the same in every report.
  package var word: String {
    switch self {
    case .passed: "passed"
    case .failed: "failed"
    case .differs: "differs"
    case .skipped: "skipped"
    case .errored: "errored"
    }
  }

  /// The same as `details` for a user of the device: without the place in the suite.
  package var findings: [String] {
    switch self {
    case .passed: []
    case .failed(let findings), .differs(let findings): findings.map(\.message)
    case .skipped(let reason): [reason]
    case .errored(let trouble): [trouble]
    }
  }

  /// Further text in addition to the word, one entry per line.
  package var details: [String] {
    switch self {
    case .passed: []
    case .failed(let findings), .differs(let findings): findings.map(\.description)
    case .skipped(let reason): [reason]
    case .errored(let trouble): [trouble]
    }
  }
}

import Conformance
import Foundation
import Testing

/// The reports of `test` other than the page: the same hostile text.
@Suite struct OtherReportsTests {
  private func makeReport(_ text: String) -> Report {
    let outcomes: [Outcome] = [
      .passed, .failed([Finding(text, file: "f", line: 1)]), .errored(text), .skipped(text),
    ]
    let results = zip(Suite.cases, outcomes).map {
      CaseResult(
        testCase: $0, outcome: $1, duration: .zero, transcript: ["0.1 < \(text)"], runs: 2, notes: [text])
    }
    var report = Report(
      rig: "port", port: text, seed: 1, startedAt: Date(timeIntervalSince1970: 0), duration: .zero,
      results: results, rigTrouble: text)
    report.identity = RunIdentity(connection: .init(path: text), bench: .init(notibot: text))
    return report
  }

  @Test(arguments: HostileText.corpus)
  func `JUnit has the same elements whatever the text`(text: String) throws {
    let document = JUnitReport.document(of: makeReport(text))
    let body = try #require(document.range(of: "<testsuites"))
    let reader = try PageReader(fragment: String(document[body.lowerBound...]))
    let plain = JUnitReport.document(of: makeReport("x"))
    let start = try #require(plain.range(of: "<testsuites"))
    let expected = try PageReader(fragment: String(plain[start.lowerBound...]))
    #expect(reader.elements == expected.elements && reader.attributes == expected.attributes)
  }

  @Test(arguments: HostileText.corpus)
  func `the text and Markdown have the same lines, and no control of a terminal`(text: String) {
    let report = makeReport(text)
    let plain = makeReport("x")
    func summary(_ report: Report) -> [Substring] {
      GitHubReport.summary(of: [report]).split(separator: "\n", omittingEmptySubsequences: false)
    }
    #expect(summary(report).count == summary(plain).count)
    // A table's row has as many cells, whatever is in them.
    #expect(HostileText.unescaped("|", in: summary(report)[4]) == 8)
    for line in summary(report) { #expect(HostileText.unescaped("<", in: line) == 0) }
    var writer = TextReport(cases: report.results.map(\.testCase), usesColor: false)
    let lines = report.results.flatMap { writer.lines(for: $0) } + writer.summary(of: report)
    for line in lines + summary(report).map(String.init) {
      #expect(
        line.unicodeScalars.allSatisfy {
          $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && !(0x2028...0x202E).contains($0.value)
        })
    }
  }
}

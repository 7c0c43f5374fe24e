import Conformance
import Foundation
import SerialLink
import Testing
import SuiteWire

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

  private struct Announced: Decodable {
    struct Device: Decodable {
      var firmware: String
    }
    var device: Device
  }

  @Test(arguments: HostileText.corpus + ["\u{202E}evil \u{1B}[2J\u{2066}\u{200F}\u{061C}\t\u{2028}"])
  func `JUnit and JSON show hidden characters by their numbers, and JSON keeps the text`(
    text: String
  ) throws {
    func makeReport(_ text: String) -> Report {
      var report = self.makeReport(text)
      report.identity?.device = .init(announced: [TLV(0x0F, Array(text.utf8))])
      return report
    }
    let report = makeReport(text)
    let junit = JUnitReport.document(of: report)
    let json = try JSONReport(report).document()
    let boards = [JUnitReport.document(of: [report]), try BoardsJSONReport([report]).document()]
    for document in [junit, json] + boards {
      #expect(document.unicodeScalars.allSatisfy { $0 == "\n" || !$0.isHidden })
    }
    // Text begins no line of its own.
    func lineCount(_ document: String) -> Int { document.components(separatedBy: "&#10;").count }
    #expect(lineCount(junit) == lineCount(JUnitReport.document(of: makeReport("x"))))
    let announced = try JSONDecoder().decode(Announced.self, from: Data(json.utf8))
    #expect(announced.device.firmware == text)
  }

  @Test func `JUnit names an escape sequence of a device as the text report does`() {
    let document = JUnitReport.document(of: makeReport("\u{1B}[2J\u{202E}\n"))
    #expect(document.contains(#"<property name="port" value="\u{1b}[2J\u{202e}\u{a}"/>"#))
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

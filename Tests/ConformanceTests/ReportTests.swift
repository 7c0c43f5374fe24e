import Foundation
import FoundationXML
import Testing

@testable import Conformance

/// The three reports of one invented run.
@Suite struct ReportTests {
  private static func makeReport(rigTrouble: String? = nil) -> Report {
    let outcomes: [Outcome] = [
      .passed, .failed([Finding("a <b> & \"c\" \u{1B}[2J\u{0} d", file: "F.swift", line: 7)]),
      .skipped("needs control"), .errored("the port is gone"),
      .differs([Finding("the stack <answers> 06", file: "F.swift", line: 9, isOfServer: true)]),
    ]
    let results = zip(Suite.cases, outcomes).map {
      CaseResult(testCase: $0, outcome: $1, duration: .milliseconds(1500), transcript: ["0.1 > 00\u{7}"])
    }
    return Report(
      rig: "port", port: "/dev/tty\u{1B}[1m", seed: 5, startedAt: Date(timeIntervalSince1970: 1_700_000_000),
      duration: .seconds(6), results: rigTrouble == nil ? results : [], rigTrouble: rigTrouble)
  }

  @Test func `JUnit parses, and its counts agree at every level`() throws {
    let reader = try JUnitReader(JUnitReport.document(of: Self.makeReport()))
    #expect(reader.counts["testsuites"] == ["tests": 5, "failures": 1, "errors": 1])
    #expect(reader.counts["testsuite"] == ["tests": 5, "failures": 1, "errors": 1, "skipped": 2])
    #expect(reader.elements["testcase"] == 5)
    #expect(reader.elements["failure"] == 1)
    #expect(reader.elements["error"] == 1)
    #expect(reader.elements["skipped"] == 2)
    #expect(reader.timestamps.allSatisfy { $0 == "2023-11-14T22:13:20Z" })
  }

  @Test func `JUnit has nothing that Jenkins, GitHub or GitLab refuses`() throws {
    let report = Self.makeReport()
    let broken = Self.makeReport(rigTrouble: "no such port")
    for document in [
      JUnitReport.document(of: report), JUnitReport.document(of: broken),
      JUnitReport.document(of: [report, broken]),
    ] {
      #expect(try JUnitReader(document).faults == [])
    }
  }

  @Test func `the same case of two boards has two names`() throws {
    var other = Self.makeReport()
    other.port = "/dev/other"
    let names = try JUnitReader(JUnitReport.document(of: [Self.makeReport(), other])).names
    #expect(names.count == 10 && Set(names).count == 10)
    #expect(names.contains { $0.hasPrefix("\(other.rig)./dev/other.") })
  }

  @Test func `JUnit contains the reason of a failure, without characters that XML does not allow`() throws {
    let document = JUnitReport.document(of: Self.makeReport())
    #expect(document.contains("a &lt;b&gt; &amp; &quot;c&quot; \\u{1b}[2J\\u{0} d (checked at F.swift:7)"))
    #expect(document.unicodeScalars.allSatisfy { $0.value >= 0x20 || $0 == "\n" })
  }

  @Test func `each report names what a stack does in its own way, and no failure counts it`() throws {
    let report = Self.makeReport()
    let id = report.results[4].testCase.id
    #expect(
      JUnitReport.document(of: report).contains(
        #"<skipped message="stack: differs: the stack &lt;answers&gt; 06 (checked at F.swift:9)"/>"#))
    let summary = TextReport(cases: report.results.map(\.testCase), usesColor: false).summary(of: report)
    #expect(summary.contains("Stack: differs, which the protocol permits (†): 1"))
    #expect(summary.contains("  \(id)  the stack <answers> 06"))
    #expect(JSONReport(report).totals.differs == 1)
    #expect(JSONReport(report).totals.failed == 1)
    #expect(GitHubReport.summary(of: [report]).contains(GitHubReport.markdown("stack: differs: 1: \(id)")))
    #expect(!report.diagnosis.results.contains { $0.testCase.id == id })
  }

  @Test func `without a rig JUnit holds one case that errored`() throws {
    let reader = try JUnitReader(JUnitReport.document(of: Self.makeReport(rigTrouble: "no such port")))
    #expect(reader.counts["testsuites"] == ["tests": 1, "failures": 0, "errors": 1])
    #expect(reader.elements["error"] == 1)
  }

  @Test func `JSON names its schema and every case`() throws {
    let document = try JSONReport(Self.makeReport()).document()
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String: Any])
    #expect(object["schema"] as? String == "notibot.conformance")
    #expect(object["version"] as? Int == 1)
    let cases = try #require(object["cases"] as? [[String: Any]])
    #expect(cases.map { $0["outcome"] as? String } == ["passed", "failed", "skipped", "errored", "differs"])
    #expect(cases.first?["rules"] as? [String] == Suite.cases[0].rules)
  }

  @Test func `by default the text has what did not pass, and where to begin`() {
    let report = Self.makeReport()
    var text = TextReport(cases: report.results.map(\.testCase), usesColor: false) { _ in "again: it" }
    let soon = report.results.flatMap { text.lines(for: $0) }
    #expect(soon.count == 2 && soon[0].contains(report.results[1].testCase.id))
    let lines = text.summary(of: report)
    #expect(lines.contains("Start with: \(report.results[1].testCase.id)"))
    #expect(lines.count { $0.contains("again: it") } == 2)
    #expect(lines.contains { $0.contains("| 0.1 > 00") })
    #expect(!lines.contains { $0.contains(report.results[0].testCase.id) })
  }

  @Test func `a part of the suite is called so in every report`() throws {
    var report = Self.makeReport()
    report.part = "--quick: 4 of 500 cases"
    let text = TextReport(cases: [], usesColor: false).result(of: report)
    for document in [
      JUnitReport.document(of: report), JUnitReport.document(of: [report]), try JSONReport(report).document(),
      text.last ?? "", GitHubReport.summary(of: [report]),
    ] { #expect(document.contains("4 of 500 cases")) }
    #expect(try JUnitReader(JUnitReport.document(of: report)).faults == [])
  }

  @Test func `with --verbose the text has one line per case, names skips, and does not move the cursor`() {
    let report = Self.makeReport()
    var text = TextReport(cases: report.results.map(\.testCase), usesColor: false, isVerbose: true)
    let lines = report.results.flatMap { text.lines(for: $0) } + text.summary(of: report)
    for result in report.results { #expect(lines.contains { $0.contains(result.testCase.title) }) }
    #expect(lines.contains("Skipped, needs control: 1"))
    #expect(lines.contains("  \(report.results[2].testCase.id)"))
    #expect(lines.last?.contains("1 of 4 passed, 1 failed, 1 errored, 1 stack: differs, 1 skipped") == true)
    #expect(
      lines.joined().unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
  }
}

/// Parses a JUnit document as a CI server would.
final class JUnitReader: NSObject, XMLParserDelegate {
  /// The sum of each count over all elements with a name.
  private(set) var counts: [String: [String: Int]] = [:]
  private(set) var elements: [String: Int] = [:]
  private(set) var timestamps: [String] = []
  /// The class name and the name of each case.
  private(set) var names: [String] = []
  /// What is not in `schema`.
  private(set) var faults: [String] = []
  private var path: [String] = []

  /// For each element its parents and its attributes, after Jenkins's junit-10.xsd.
  private static let schema: [String: (parents: Set<String>, attributes: Set<String>)] = [
    "testsuites": ([""], ["name", "time", "tests", "failures", "disabled", "errors"]),
    "testsuite": (
      ["testsuites"],
      [
        "name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname", "id",
        "package", "file", "log", "url", "version",
      ]
    ),
    "properties": (["testsuite"], []), "property": (["properties"], ["name", "value"]),
    "testcase": (["testsuite"], ["name", "time", "classname", "group"]),
    "skipped": (["testcase"], ["type", "message"]), "error": (["testcase"], ["type", "message"]),
    "failure": (["testcase"], ["type", "message"]), "system-out": (["testcase", "testsuite"], []),
    "system-err": (["testcase", "testsuite"], []),
  ]

  init(_ document: String) throws {
    super.init()
    let parser = XMLParser(data: Data(document.utf8))
    parser.delegate = self
    guard parser.parse() else { throw parser.parserError ?? CocoaError(.fileReadCorruptFile) }
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    elements[name, default: 0] += 1
    if name == "testcase" { names.append("\(attributes["classname"] ?? "") \(attributes["name"] ?? "")") }
    let (parents, allowed) = Self.schema[name] ?? ([], [])
    let unknown = Set(attributes.keys).subtracting(allowed).sorted()
    if !parents.contains(path.last ?? "") { faults.append("\(name) in \(path.last ?? "")") }
    faults += unknown.map { "\($0) of \(name)" }
    // At most three decimals.
    if let time = attributes["time"], time.wholeMatch(of: /[0-9]+(\.[0-9]{1,3})?/) == nil {
      faults.append("time \(time)")
    }
    path.append(name)
    timestamps += [attributes["timestamp"]].compactMap { $0 }
    for key in ["tests", "failures", "errors", "skipped"] {
      if let value = attributes[key].flatMap({ Int($0) }) {
        counts[name, default: [:]][key, default: 0] += value
      }
    }
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    path.removeLast()
  }
}

import Conformance
import Foundation
import SerialLink
import Testing

@testable import Reports
import SuiteWire

/// The report of `test`, from its JSON.
@Suite struct SuitePageTests {
  private static let elements: Set<String> = [
    "body", "main", "header", "section", "article", "h1", "h2", "h3", "p", "span", "table", "thead", "tbody",
    "tr",
    "th", "td", "ul", "li", "a", "dl", "dt", "dd", "details", "summary", "figure", "figcaption", "svg", "g",
    "line",
    "polyline", "text", "title", "code",
  ]

  private func page(_ outcomes: [Outcome], text: String = "text", trouble: String? = nil) throws -> String {
    let cases = (0..<outcomes.count).map { Suite.cases[$0 % Suite.cases.count] }
    let results = zip(cases, outcomes).map {
      CaseResult(
        testCase: $0, outcome: $1, duration: .milliseconds(5),
        transcript: (0..<40).map { "0.00\($0) \($0 % 2 == 0 ? ">" : "<") \(text)" }, notes: [text])
    }
    var report = Report(
      rig: "port", port: text, seed: .max, startedAt: Date(timeIntervalSince1970: 1_700_000_000),
      duration: .seconds(6), results: results, rigTrouble: trouble)
    report.identity = RunIdentity(connection: .init(path: text, board: text), bench: .init(notibot: text))
    report.identity?.device = .init(announced: [TLV(0x0F, Array(text.utf8)), TLV(0x10, Array(text.utf8))])
    return try ReportDocument(parsing: Data(try JSONReport(report).document().utf8)).html
  }

  private func failed(_ text: String) -> Outcome { .failed([Finding(text, file: "F.swift", line: 7)]) }

  private func differs(_ text: String) -> Outcome {
    .differs([Finding(text, file: "F.swift", line: 7, isOfServer: true)])
  }

  @Test func `what a stack does in its own way is named, and is no failure`() throws {
    let text = try PageReader(document: try page([.passed, differs("the answer was 06")])).text
    for words in ["1 of 2 cases passed, 1 stack: differs", "≠ stack: differs", "(the answer was 06"] {
      #expect(text.contains(words), "\(words)")
    }
    #expect(!text.contains("Not passed"))
  }

  @Test(arguments: HostileText.corpus)
  func `text of a device stays in its cell`(text: String) throws {
    let page = try page(
      [.passed, failed(text), .errored(text), .skipped(text), differs(text)], text: text, trouble: text)
    let reader = try PageReader(document: page)
    #expect(Set(reader.elements.keys).isSubset(of: Self.elements), "\(reader.elements.keys)")
    #expect(!reader.attributes.contains { $0.hasPrefix("on") || $0 == "src" || $0 == "style" })
    #expect(reader.text.contains(text.printable.replacing("\u{FFFE}\u{FFFF}", with: "\u{FFFD}\u{FFFD}")))
    #expect(
      page.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) || $0 == "\n" })
  }

  @Test func `the verdict comes first, then the failures with rule and wire`() throws {
    let page = try page([.passed, failed("the answer was 7"), .skipped("needs control")])
    let text = try PageReader(document: page).text
    let order = [
      "Not passed: ", "1 of 2 cases passed, 1 failed, 1 skipped", "the answer was 7", "Rules", "All 3 cases",
      "Environment",
    ]
    let places = order.map { text.range(of: $0)?.lowerBound }
    #expect(places.allSatisfy { $0 != nil } && zip(places, places.dropFirst()).allSatisfy { $0! < $1! })
    let rule = Suite.cases[1].rules[0]
    #expect(text.contains("\(rule): \(try #require(RuleWords.words(of: rule)))"))
    #expect(page.contains("<svg class=\"wire\"") && page.contains("class=\"fromBench\""))
    #expect(!text.contains("F.swift"))
  }

  @Test func `two bearers have a column each, and their differences come first`() throws {
    func report(_ port: String, _ outcomes: [Outcome]) -> Report {
      let results = zip(Suite.cases, outcomes).map {
        CaseResult(testCase: $0, outcome: $1, duration: .milliseconds(5), transcript: [])
      }
      return Report(
        rig: "port", port: port, seed: 1, startedAt: Date(timeIntervalSince1970: 0), duration: .seconds(6),
        results: results)
    }
    let both = [
      report("/dev/a", [.passed, .passed, .passed]),
      report("ble:<A>", [failed("the answer was 7"), .passed, .skipped("needs session")]),
    ]
    let json = try BoardsJSONReport(both, comparison: BearerComparison(both[0], both[1])).document()
    let text = try PageReader(document: try ReportDocument(parsing: Data(json.utf8)).html).text
    let order = [
      "Not passed: ", "1 difference in 2 cases of both bearers", "Differences", "/dev/a", "ble:<A>",
      Suite.cases[0].id, "passed", "failed", "the answer was 7", "Cases of one bearer alone: 1",
      Suite.cases[2].id,
      "needs session", "Slowest cases",
    ]
    var rest = text[...]
    for part in order {
      let found = try #require(rest.range(of: part), "\(part) is missing behind what precedes it")
      rest = rest[found.upperBound...]
    }
  }

  @Test func `it needs nothing from elsewhere`() throws {
    let page = try page([failed("x")])
    #expect(page.contains("default-src 'none'"))
    for loading in ["<script", "src=", "@import", "url(", "<link rel=\"stylesheet", "http://", "https://"] {
      #expect(!page.contains(loading), "\(loading)")
    }
  }

  @Test func `a run in which everything fails is a report of at most 1 MB`() throws {
    let long = String(repeating: "<&\u{1B}", count: 60)
    let page = try page(Array(repeating: failed(long), count: 458), text: long)
    #expect(page.utf8.count <= 1_000_000, "\(page.utf8.count)")
    #expect(page.contains("further ones are in the table below"))
    let reader = try PageReader(document: page)
    #expect(reader.links.contains("cases-0") && reader.links.count > 1)
    #expect(reader.links.isSubset(of: reader.ids))
  }

  @Test func `a report of many boards has at most 1 MB, and names what is left out`() throws {
    let results = (0..<458).map { index in
      CaseResult(
        testCase: Suite.cases[index % Suite.cases.count], outcome: index == 7 ? failed("wrong") : .passed,
        duration: .milliseconds(5), transcript: [])
    }
    let boards = (0..<64).map {
      Report(
        rig: "port", port: "/dev/board-\($0)", seed: 1, startedAt: Date(timeIntervalSince1970: 0),
        duration: .seconds(6), results: results)
    }
    let json = try BoardsJSONReport(boards).document()
    let page = try ReportDocument(parsing: Data(json.utf8)).html
    #expect(page.utf8.count <= 1_000_000, "\(page.utf8.count)")
    let reader = try PageReader(document: page)
    #expect(reader.links.isSubset(of: reader.ids))
    let failedCase = String(results[7].testCase.id.map { $0.isLetter || $0.isNumber ? $0 : "-" })
    for index in 0..<64 { #expect(reader.ids.contains("case-\(index)-\(failedCase)")) }
    #expect(reader.text.contains("Its rules and cases are in the JSON report."))
  }

  @Test func `a long text is cut, and a page without room for a part says so`() throws {
    let long = String(repeating: "x", count: 100_000)
    #expect(try page([failed(long)], text: long, trouble: long).utf8.count < 200_000)
    let parts = (0..<60).map { HTML.element(.p, [], (0..<10).map { _ in .text(long) } + [.text("\($0)")]) }
    let document = Page.document(title: long, parts)
    #expect(document.utf8.count <= 1_000_000)
    #expect(document.contains("further parts are in the JSON report"))
  }

  @Test(arguments: [
    #""errored":9223372036854775807,"failed":1"#,
    #""errored":4611686018427387904,"failed":4611686018427387904"#,
    #""errored":-1,"failed":1"#, #""errored":9007199254740993,"failed":1"#,
    #""differs":9223372036854775807,"errored":1,"failed":1"#,
  ])
  func `counts that cannot be added are refused`(counts: String) {
    let suite = """
      {"schema":"notibot.conformance","version":1,"rig":"r","port":"p","seed":18446744073709551615,"cases":[],
      "startedAt":"","seconds":1,"totals":{"cases":1,"run":1,"passed":0,"skipped":0,\(counts)}}
      """
    let boards = #"{"schema":"notibot.conformance.boards","version":1,"boards":[\#(suite),\#(suite)]}"#
    for json in [suite, boards] {
      #expect(throws: ReportDocument.notAReport) { try ReportDocument(parsing: Data(json.utf8)) }
      #expect(throws: ReportDocument.notAReport) { try RunSet([Data(json.utf8)]) }
    }
    let sound = suite.replacing(counts, with: #""errored":0,"failed":9007199254740992"#)
    #expect(throws: Never.self) { try ReportDocument(parsing: Data(sound.utf8)) }
  }

  @Test func `a run that crashed is a report with its reason`() throws {
    let reader = try PageReader(document: try page([], trouble: "ended in the middle"))
    #expect(reader.text.contains("The run is incomplete: ended in the middle"))
    #expect(reader.text.contains("Not passed"))
  }

  @Test func `a document that is none is refused with the reason`() {
    func reason(_ json: String) -> String? {
      do {
        _ = try ReportDocument(parsing: Data(json.utf8))
        return nil
      } catch {
        return error.message
      }
    }
    #expect(reason("") == "it is not a JSON report of this program")
    #expect(reason("{}") == "it is not a JSON report of this program")
    #expect(reason(#"{"schema":"x\u001b","version":1}"#) == #"its schema is 'x\u{1b}'"#)
    #expect(reason(#"{"schema":"notibot.soak","version":2}"#)?.contains("version 2") == true)
    #expect(reason(#"{"schema":"notibot.soak","version":1}"#) == "it is not a JSON report of this program")
    #expect(reason(String(repeating: "[", count: 100_000)) == "it is not a JSON report of this program")
    #expect(reason(#"{"schema":"notibot.measure","version":1,"a":[{"bMs":3}]}"#) == nil)
    let flashed = #"{"schema":"notibot.boards","version":1,"boards":[{"report":{"schema":"a","version":1}}]}"#
    #expect(reason(flashed) == "the schema of its boards is 'a'")
  }
}

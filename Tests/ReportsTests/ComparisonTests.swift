import Foundation
import NotibotProtocol
import SerialLink
import Testing

@testable import Reports

/// What is worse, and what is noise.
@Suite struct ComparisonTests {
  private func runs(_ figures: [[String: Any]], trouble: String? = nil) throws -> RunSet {
    try RunSet(
      figures.map { figures in
        var object: [String: Any] = ["schema": "notibot.measure", "version": 1]
        object.merge(figures) { $1 }
        if let trouble { object["trouble"] = trouble }
        return try JSONSerialization.data(withJSONObject: object)
      })
  }

  private func suite(_ outcomes: [String: String], trouble: String? = nil) throws -> Data {
    let cases = outcomes.map { id, outcome -> [String: Any] in
      [
        "id": id, "title": "t", "rules": ["r"], "chapter": "c", "outcome": outcome, "seconds": 1,
        "details": [],
        "transcript": [], "runs": 1, "notes": [],
      ]
    }
    let totals = ["cases": 0, "run": 0, "passed": 0, "failed": 0, "errored": 0, "skipped": 0]
    var object: [String: Any] = [
      "schema": "notibot.conformance", "version": 1, "rig": "emulator", "port": "p", "seed": 1,
      "startedAt": "",
      "seconds": 1, "totals": totals, "cases": cases,
    ]
    if let trouble { object["rigTrouble"] = trouble }
    return try JSONSerialization.data(withJSONObject: object)
  }

  private func compare(_ old: [Double], _ new: [Double], _ name: String = "ratePerSecond") throws
    -> Comparison.Verdict?
  {
    let comparison = try Comparison(
      old: try runs(old.map { [name: $0] }), new: try runs(new.map { [name: $0] }))
    return comparison.figures.first { $0.name == name }?.verdict
  }

  @Test(arguments: [
    ([100.0, 101, 99], [100.0, 102, 98], Comparison.Verdict.same),
    ([100, 101, 99], [80, 81, 79], .worse), ([100, 101, 99], [120, 121, 119], .better),
    // As far apart, but the runs differ as much.
    ([100, 130, 70], [80, 110, 50], .same),
    // 2.2 deviations apart: runs that do not overlap count from 5 on.
    ([8197, 5081, 6433, 3380, 4208], [1184, 991, 721, 1033, 638], .worse),
    ([8197, 5081, 6433, 3380], [1184, 991, 721, 1033], .same),
    ([8197, 5081, 6433, 3380, 1000], [1184, 991, 721, 1033, 638], .same),
    // Repeatable to the digit, but less than 5 %.
    ([100, 100, 100], [96, 96, 96], .same),
    // Single runs: 20 %.
    ([100], [85], .same), ([100], [79], .worse), ([100], [121], .better), ([100, 100], [85], .same),
    ([0, 0], [0, 0], .same),
  ])
  func `a change counts beyond the noise of the runs`(
    old: [Double], new: [Double], verdict: Comparison.Verdict
  ) throws {
    #expect(try compare(old, new) == verdict)
  }

  @Test(arguments: [
    ("notificationsPerSecond", 50.0, Comparison.Verdict.worse), ("roundTripMicroseconds.p99", 50, .better),
    ("network.rateCommandMs.p50", 50, .better), ("residentBytesEnd", 50, .same),
    ("hostEndBytes", 200e6, .worse),
    ("lost", 101, .same), ("count", 200, .different), ("textBytes", 200, .different),
    ("count.medianMs", 200, .worse),
    ("resends", 104, .same), ("seconds", 200, .worse),
    ("journal.batches.1.microsecondsPerNotification", 200, .worse),
  ])
  func `the name of a figure decides which direction is better`(
    name: String, new: Double, verdict: Comparison.Verdict
  ) throws {
    #expect(try compare([100], [new], name) == verdict)
  }

  @Test func `a figure whose square would overflow is refused`() throws {
    #expect(throws: ReportDocument.notAReport) { try runs([["aPerSecond": 1e200]]) }
    let largest = try runs([["aPerSecond": 1e100], ["aPerSecond": -1e100]])
    #expect(throws: Never.self) { try Comparison(old: largest, new: largest).json() }
  }

  @Test func `one lost notification is a regression`() throws {
    #expect(try compare([0, 0, 0], [1, 1, 1], "lost") == .worse)
    #expect(try compare([0], [1], "doubled") == .worse)
    #expect(try compare([0], [4], "resends") == .same)
  }

  @Test func `of 2000 equal pairs of noisy runs few are called changed`() throws {
    var random = SeededGenerator(seed: 2026)
    func noisy() -> Double {
      100 * (1 + 0.1 * ((0..<12).reduce(-6) { sum, _ in sum + Double.random(in: 0...1, using: &random) }))
    }
    var wrong = 0
    for _ in 0..<2000 {
      let old = (0..<5).map { _ in noisy() }
      let new = (0..<5).map { _ in noisy() }
      if Comparison.figure("xPerSecond", old, new)?.verdict != .same { wrong += 1 }
    }
    #expect(wrong <= 10, "\(wrong) of 2000")
  }

  @Test func `a case that failed never before is worse with its first failure`() throws {
    let old = try RunSet([try suite(["A/a": "passed", "B/b": "failed", "C/c": "passed", "D/d": "skipped"])])
    let new = try RunSet([try suite(["A/a": "failed", "B/b": "passed", "C/c": "passed", "D/d": "errored"])])
    let comparison = try Comparison(old: old, new: new)
    #expect(comparison.cases.map(\.id) == ["A/a", "B/b", "D/d"])
    #expect(comparison.cases.map(\.verdict) == [.worse, .better, .worse])
    #expect(comparison.isRegression && comparison.sentence == "worse: 2 cases; better: 1 case")
    #expect(!(try Comparison(old: old, new: old)).isRegression)
  }

  @Test func `a case that fails now and then is noise until it always fails`() throws {
    func set(_ outcomes: [String]) throws -> RunSet {
      try RunSet(try outcomes.map { try suite(["A/a": $0]) })
    }
    let flaky = try set(["passed", "failed", "passed", "passed"])
    #expect(!(try Comparison(old: flaky, new: try set(["failed", "passed", "passed"]))).isRegression)
    #expect(try Comparison(old: flaky, new: try set(["failed", "failed", "failed"])).isRegression)
    #expect(!(try Comparison(old: flaky, new: try set(["passed"]))).isRegression)
  }

  @Test func `an incomplete new run is a regression, other kinds cannot be compared`() throws {
    let good = try RunSet([try suite(["A/a": "passed"])])
    let cut = try RunSet([try suite([:], trouble: "crashed")])
    let comparison = try Comparison(old: good, new: cut)
    #expect(comparison.isRegression && comparison.warnings.contains("a new run is incomplete: crashed"))
    #expect(throws: Failure.self) { try Comparison(old: good, new: try runs([[:]])) }
    #expect(throws: Failure.self) {
      try RunSet([try suite([:]), Data(#"{"schema":"notibot.measure","version":1}"#.utf8)])
    }
    #expect(throws: Failure.self) { try RunSet([]) }
  }

  @Test func `repeated runs of one report are its noise`() throws {
    let runs: [[String: Any]] = [80, 100, 120].map { ["aPerSecond": $0] }
    let set = try self.runs([["runs": runs, "aPerSecond": 100]])
    #expect(set.figures["aPerSecond"] == [80, 100, 120])
  }

  @Test(arguments: HostileText.corpus)
  func `names and outcomes from a file stay in their cells`(text: String) throws {
    let old = try RunSet([try suite([text: "passed"])])
    let new = try RunSet([try suite([text: "failed"], trouble: text)])
    let comparison = try Comparison(old: old, new: new)
    let reader = try PageReader(document: comparison.html)
    #expect(
      Set(reader.elements.keys).isSubset(of: [
        "body", "main", "header", "h1", "h2", "p", "span", "section", "table", "thead", "tbody", "tr", "th",
        "td", "code",
      ]))
    let markdown = comparison.markdown()
    let row = try #require(markdown.split(separator: "\n").first { $0.hasPrefix("| 🔴") })
    #expect(HostileText.unescaped("|", in: row) == 5)
    #expect(HostileText.unescaped("<", in: markdown) == 0)
    for output in [markdown, comparison.text] {
      #expect(
        output.unicodeScalars.allSatisfy {
          $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) || $0 == "\n"
        })
      #expect(!output.unicodeScalars.contains { $0.value == 0x202E })
    }
  }
}

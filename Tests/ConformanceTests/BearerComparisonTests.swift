import Foundation
import Testing

@testable import Conformance

/// What two bearers of one board answer differently.
@Suite struct BearerComparisonTests {
  private static let cases = Array(Suite.cases.filter { $0.chapter == .att }.prefix(4))

  private func report(_ port: String, _ outcomes: [Outcome], answers: [[Answer]] = []) -> Report {
    let results = outcomes.indices.map { index in
      CaseResult(
        testCase: Self.cases[index], outcome: outcomes[index], duration: .milliseconds(1), transcript: [],
        answers: answers.indices.contains(index) ? answers[index] : [])
    }
    return Report(
      rig: "port", port: port, seed: 5, startedAt: Date(timeIntervalSince1970: 1_700_000_000),
      duration: .seconds(6), results: results)
  }

  private func failed(_ text: String) -> Outcome { .failed([Finding(text, file: "F.swift", line: 7)]) }

  @Test func `a PDU is an answer if it is a response`() {
    #expect(Answer([0x13]) == Answer(request: 0x12))
    #expect(Answer([0x01, 0x12, 6, 0, 0x80]) == Answer(request: 0x12, error: 0x80))
    for pdu: [UInt8] in [
      [], [0x1B, 3, 0, 1, 0], [0x1D, 3, 0], [0x12, 6, 0], [0x52, 6, 0], [0x01, 0x12, 6, 0],
    ] {
      #expect(Answer(pdu) == nil)
    }
  }

  @Test func `what only one bearer decided is not compared, and named with the reason`() {
    let comparison = BearerComparison(
      report("/dev/a", [.passed, .passed, .skipped("needs connection"), .skipped("x")]),
      report("ble:A", [.passed, .skipped("needs session"), .passed, .errored("gone")]))
    #expect(comparison.compared == 1 && comparison.differences.isEmpty && comparison.undecided == 1)
    #expect(
      comparison.singles == [
        .init(id: Self.cases[1].id, bearer: "/dev/a", reason: "needs session"),
        .init(id: Self.cases[2].id, bearer: "ble:A", reason: "needs connection"),
      ])
  }

  @Test func `another outcome is a difference, the same failure is none`() {
    let comparison = BearerComparison(
      report("/dev/a", [.passed, failed("Count is 1"), failed("x")]),
      report("ble:A", [failed("Count is 2"), failed("Count is 1"), .passed]))
    #expect(comparison.differences.map(\.id) == [Self.cases[0].id, Self.cases[2].id])
    #expect(comparison.differences[0].columns.map(\.outcome) == ["passed", "failed"])
    #expect(comparison.differences[0].columns.map(\.finding) == [nil, "Count is 2"])
  }

  @Test func `another answer to the same request is a difference, though both passed`() throws {
    let (write, refusal, long) = (
      Answer(request: 0x12), Answer(request: 0x12, error: 0x80), Answer(request: 0x18)
    )
    let comparison = BearerComparison(
      report(
        "/dev/a", [.passed, .passed, .passed], answers: [[write], [write, refusal, write], [refusal]]),
      report("ble:A", [.passed, .passed, .passed], answers: [[write], [write, write, write], [long]]))
    #expect(comparison.compared == 3 && comparison.comparedByAnswer == 2)
    let difference = try #require(comparison.differences.first)
    #expect(comparison.differences.count == 1 && difference.id == Self.cases[1].id)
    #expect(difference.columns.map(\.answers) == [["12: error 80"], ["12: ok"]])
  }

  private var both: [Report] {
    [report("/dev/a", [.passed, .passed]), report("ble:<A>", [failed("a <b>"), .passed])]
  }

  @Test func `differences come first in text, JUnit and JSON`() throws {
    let comparison = BearerComparison(both[0], both[1])
    #expect(comparison.lines[0] == "Differences: 1 in 2 compared cases, 2 of them answer by answer")
    #expect(comparison.lines[1].contains(Self.cases[0].id))
    #expect(comparison.lines[2].contains("/dev/a") && comparison.lines[2].contains("passed"))
    #expect(comparison.lines[3].contains("ble:<A>") && comparison.lines[3].contains("failed; a <b>"))
    let junit = JUnitReport.document(of: both, comparison: comparison)
    let reader = try JUnitReader(junit)
    #expect(reader.faults == [])
    #expect(reader.counts["testsuites"] == ["tests": 5, "failures": 2, "errors": 0])
    #expect(reader.names.first == "bearers \(Self.cases[0].id): \(Self.cases[0].title)")
    let json = try JSONSerialization.jsonObject(
      with: Data(try BoardsJSONReport(both, comparison: comparison).document().utf8))
    let member = (json as? [String: Any])?["comparison"] as? [String: Any]
    #expect((member?["differences"] as? [[String: Any]])?.first?["id"] as? String == Self.cases[0].id)
  }

  @Test func `without a difference JUnit has one case that passed`() throws {
    let alike = [both[0], both[0]]
    let reader = try JUnitReader(
      JUnitReport.document(of: alike, comparison: BearerComparison(alike[0], alike[1])))
    #expect(reader.faults == [])
    #expect(reader.counts["testsuites"] == ["tests": 5, "failures": 0, "errors": 0])
    #expect(reader.names.first == "bearers both bearers answer alike in 2 cases")
  }
}

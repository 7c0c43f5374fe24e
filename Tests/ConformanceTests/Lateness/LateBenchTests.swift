import Foundation
import Rigs
import Testing

@testable import Conformance
import SuiteWire

/// A late bench: the device is never blamed for it, and it hides no fault of the device.
@Suite struct LateBenchTests {
  /// Cases that fail if the bench's reader is late: the device retransmits, as LNK-51 demands.
  static let victims = ["LNK-34/repeated-ack", "LNK-34/nak-outside", "LNK-51/resend-stops"]
  private static let late = Duration.milliseconds(312)
  private static let broken = Mutant(
    name: "answers a repeated ACK", caught: "LNK-51/resend-stops", received: Mutant.repeating(.data, times: 2)
  )

  private func testCase(_ id: String) throws -> Case { try #require(Suite.cases.first { $0.id == id }) }

  private func run(
    _ id: String, lateness: [Duration], mutant: Mutant? = nil, gauge: ScriptedGauge? = ScriptedGauge()
  ) async throws -> CaseResult {
    let rig = LateRig(lateness: lateness, mutant: mutant)
    return await Runner(rig: rig, seed: 3, gauge: gauge).run(try testCase(id))
  }

  private func isFailed(_ outcome: Outcome) -> Bool {
    if case .failed = outcome { true } else { false }
  }

  @Test(arguments: victims)
  func `the lateness of this suite is one that fails the case`(id: String) async throws {
    #expect(try await run(id, lateness: [.zero], gauge: nil).outcome == .passed)
    #expect(isFailed(try await run(id, lateness: [Self.late], gauge: nil).outcome))
  }

  @Test(arguments: victims)
  func `a case that fails on a late bench and then passes has passed, with a note`(id: String) async throws {
    let gauge = ScriptedGauge()
    let result = try await run(id, lateness: [Self.late, .zero], gauge: gauge)
    #expect(result.outcome == .passed)
    #expect(result.runs == 2)
    #expect(result.notes == ["1 run did not count: the bench was up to 312 ms late"])
    #expect(result.transcript.isEmpty)
    #expect(await gauge.waits == 1)
  }

  @Test(arguments: victims)
  func `a case that never runs on a calm bench is an error of the rig`(id: String) async throws {
    let result = try await run(id, lateness: [Self.late])
    guard case .errored(let reason) = result.outcome else {
      Issue.record("\(result.outcome)")
      return
    }
    #expect(reason.hasPrefix("not decided in 8 runs: the bench was up to 312 ms late"))
    #expect(result.runs == CaseVerdict.runsLimit)
    #expect(!result.transcript.isEmpty)
  }

  @Test func `a case that is cancelled while it waits for its turn does not run`() async throws {
    let turns = BenchTurns()
    let held = await turns.begin(alone: true)
    let testCase = try testCase(Self.victims[0])
    let runner = Runner(
      rig: LateRig(lateness: [.zero], mutant: nil), seed: 3, gauge: ScriptedGauge(), turns: turns)
    let running = Task { await runner.run(testCase) }
    running.cancel()
    await turns.end(held, isLate: false)
    let result = await running.value
    #expect(result.runs == 0)
    #expect(await turns.running == 0)
  }

  @Test func `a broken device on a calm bench fails, by two runs`() async throws {
    let result = try await run(Self.broken.caught, lateness: [.zero], mutant: Self.broken)
    #expect(isFailed(result.outcome), "\(result.outcome)")
    #expect(result.runs == 2)
    #expect(result.notes.isEmpty)
    #expect(!result.transcript.isEmpty)
  }

  @Test func `a broken device fails as soon as a late bench is calm twice`() async throws {
    let result = try await run(
      Self.broken.caught, lateness: [Self.late, .zero, Self.late, .zero], mutant: Self.broken)
    #expect(isFailed(result.outcome), "\(result.outcome)")
    #expect(result.runs == 4)
    #expect(result.notes == ["2 runs did not count: the bench was up to 312 ms late"])
  }

  @Test func `a broken device on a bench that is always late is an error of the rig`() async throws {
    let result = try await run(Self.broken.caught, lateness: [Self.late], mutant: Self.broken)
    #expect(result.outcome.word == "errored")
  }

  @Test func `a late peer is as good a reason as a late bench`() async throws {
    let gauge = ScriptedGauge([Lateness(peer: .milliseconds(40)), Lateness()])
    let flaky = ScriptedCase([.failed([Finding("late", file: "f", line: 1)]), .passed])
    let result = await Runner(rig: LateRig(lateness: [.zero]), seed: 3, gauge: gauge).run(flaky.testCase)
    #expect(result.outcome == .passed)
    #expect(result.notes == ["1 run did not count: the peer was up to 40 ms late"])
  }

  @Test func `each run has its own seed`() async throws {
    let seen = Seeds()
    let failing = Case("FRM-1/fails", "It fails", chapter: .framing) { _, bench in
      await seen.add(bench.seed)
      throw CaseEnd.fault("wrong", file: "f", line: 1)
    }
    _ = await Runner(rig: LateRig(lateness: [.zero]), seed: 3, gauge: ScriptedGauge()).run(failing)
    #expect(Set(await seen.all).count == 2)
  }

  @Test func `on a virtual clock nothing is repeated`() async throws {
    let flaky = ScriptedCase([.failed([Finding("wrong", file: "f", line: 1)]), .passed])
    let result = await Runner(rig: EmulatorRig(), seed: 3).run(flaky.testCase)
    #expect(isFailed(result.outcome))
    #expect(result.runs == 1)
  }

  @Test func `every report contains the reason why a case was repeated`() async throws {
    let result = try await run(Self.victims[0], lateness: [Self.late, .zero])
    let report = Report(
      rig: "pty", port: "x", seed: 1, startedAt: Date(timeIntervalSince1970: 0), duration: .seconds(1),
      results: [result])
    let why = "1 run did not count: the bench was up to 312 ms late"
    var text = TextReport(cases: [result.testCase], usesColor: false, isVerbose: true)
    #expect(text.lines(for: result).contains("      (\(why))"))
    #expect(text.summary(of: report).contains("  \(result.testCase.id) (passed, 2 runs): \(why)"))
    #expect(JUnitReport.document(of: report).contains("&#10;note: \(why)"))
    let json = try JSONReport(report).document()
    #expect(json.contains("\"\(why)\"") && json.contains("\"runs\" : 2"))
    #expect(GitHubReport.summary(of: [report]).contains(GitHubReport.markdown(why)))
  }
}

/// A case with scripted outcomes, run by run.
private struct ScriptedCase {
  let testCase: Case

  init(_ outcomes: [Outcome]) {
    let left = Outcomes(outcomes)
    testCase = Case("FRM-1/scripted", "It ends as scripted", chapter: .framing) { _, bench in
      switch await left.next() {
      case .passed: break
      case .failed(let findings), .differs(let findings): findings.forEach { bench.record.add($0) }
      case .skipped(let reason): throw CaseEnd.skip(reason)
      case .errored(let trouble): throw RigTrouble(trouble, remedy: "")
      }
    }
  }

  private actor Outcomes {
    private var left: [Outcome]
    init(_ left: [Outcome]) { self.left = left }
    func next() -> Outcome { left.count > 1 ? left.removeFirst() : left[0] }
  }
}

private actor Seeds {
  private(set) var all: [UInt64] = []
  func add(_ seed: UInt64) { all.append(seed) }
}

import Conformance
import Rigs
import Testing

/// Cases that wait for many seconds in real time, and those that wait for less there.
@Suite struct LongWaitTests {
  private static let waiting = Case("ATT-1/waits", "Is a test", chapter: .att, needs: [.longWaits]) {
    _, bench in
    guard bench.waitsLong else { throw CaseEnd.skip("the bench does not wait") }
  }

  private static let absent: Set<Need> = [.virtualTime, .firmwareMode, .reopen, .connection]

  @Test func `they run in real time only on demand`() async {
    let rig = LateRig(lateness: [.zero])
    let skipped = await Runner(rig: rig, seed: 3).run(Self.waiting).outcome
    #expect(skipped == .skipped("needs long waits (--slow)"))
    #expect(await Runner(rig: rig, seed: 3, waitsLong: true).run(Self.waiting).outcome == .passed)
  }

  @Test func `they always run in virtual time`() async {
    #expect(await Runner(rig: EmulatorRig(), seed: 3).run(Self.waiting).outcome == .passed)
  }

  @Test func `a queue passes the demand on`() async {
    let queue = CaseQueue([Self.waiting], policy: RunPolicy(repetitions: 2, waitsLong: true)) { _ in }
    await queue.run(on: LateRig(lateness: [.zero]), seed: 1)
    #expect(await queue.results.map(\.outcome) == [.passed])
    #expect(await queue.results.map(\.runs) == [2])
  }

  /// The times and repetitions of real time, on a line without lateness.
  @Test(arguments: Suite.cases.map(\.id))
  func `holds with the limits of real time`(id: String) async throws {
    let testCase = try #require(Suite.cases.first { $0.id == id })
    let runner = Runner(rig: LateRig(lateness: [.zero]), seed: 11, gauge: nil, waitsLong: true)
    expectPassed(await runner.run(testCase), onRigWithout: Self.absent)
  }
}

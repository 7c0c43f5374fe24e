import Conformance
import NotibotProtocol
import Testing

/// The list on devices that nothing but their line reaches, and that stay the same from case to case.
@Suite struct PlainBoardTests {
  @Test(arguments: PlainBoard.all)
  func `a sound board fails no case, in any order`(board: PlainBoard) async throws {
    let rig = try await board.makeRig()
    var cases = Suite.cases
    var generator = SeededGenerator(seed: SuiteRun.seed)
    var skipped: [String: String] = [:]
    for round in 1...2 {
      let results = await Runner(rig: rig, seed: SuiteRun.seed).run(cases) { _ in }
      for result in results {
        switch result.outcome {
        case .passed: break
        case .skipped(let reason): skipped[result.testCase.id] = reason
        case .failed, .errored:
          let text = (result.outcome.details + result.transcript).joined(separator: "\n")
          Issue.record("round \(round): \(result.testCase.id)\n\(text)")
        }
      }
      if round == 1 { #expect(unexplained(skipped, board, rig) == []) }
      cases.shuffle(using: &generator)
    }
  }

  /// What was skipped and is not in the board's table, or is there and was not skipped. What the rig does not offer goes
  /// without saying.
  private func unexplained(_ skipped: [String: String], _ board: PlainBoard, _ rig: any Rig) -> [String] {
    let offered = Set(Suite.cases.filter { $0.needs.isSubset(of: rig.offers) }.map(\.id))
    var expected: Set<String> = []
    for (reason, ids) in board.skips {
      for id in ids where skipped[id]?.hasPrefix(reason) == true { expected.insert(id) }
    }
    let surprising = skipped.filter { id, reason in
      let isForRoom = board.hasSmallStore && reason.hasPrefix("the store has room for")
      return offered.contains(id) && !expected.contains(id) && !isForRoom
    }
    let missing = board.skips.flatMap(\.value).filter { offered.contains($0) && !expected.contains($0) }
    return surprising.map { "\($0.value): \($0.key)" }.sorted()
      + missing.map { "not skipped, or for another reason: \($0)" }.sorted()
  }

  @Test func `what a case wrote with an identity is gone when it has ended`() async throws {
    let rig = try await PlainBoard.all[0].makeRig()
    let testCase = try #require(Suite.cases.first { $0.id == "NTF-23/new-id" })
    let before = try await rig.count()
    #expect(await Runner(rig: rig, seed: 1).run(testCase).outcome == .passed)
    #expect(try await rig.count() == before)
  }
}

extension Rig {
  /// Count as a new session reads it.
  fileprivate func count() async throws -> Int {
    let bench = try await makeBench(for: Suite.cases[0], seed: 99)
    try await bench.probe.open()
    return try await bench.probe.readCount()
  }
}

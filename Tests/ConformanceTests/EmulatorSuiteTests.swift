import Conformance
import Testing

/// The list on the emulator in this process, one test a case.
@Suite struct EmulatorSuiteTests {
  static let seed: UInt64 = 2026

  @Test(arguments: Suite.cases.map(\.id))
  func `holds on the emulator`(id: String) async throws {
    let testCase = try #require(Suite.cases.first { $0.id == id })
    let result = await Runner(rig: EmulatorRig(), seed: Self.seed).run(testCase)
    expectPassed(testCase, result)
  }

  @Test(
    arguments: Suite.cases.filter { !$0.needs.contains(.host) && [.link, .throughput].contains($0.chapter) }
      .map(\.id))
  func `holds on a device that drops what comes too early`(id: String) async throws {
    let testCase = try #require(Suite.cases.first { $0.id == id })
    expectPassed(testCase, await Runner(rig: EmulatorRig(profile: .dropping), seed: Self.seed).run(testCase))
  }

  private func expectPassed(_ testCase: Case, _ result: CaseResult) {
    switch result.outcome {
    case .passed: break
    case .skipped(let reason):
      // There is neither a port to open again in one process nor a connection; every other skip is a failure.
      #expect(!testCase.needs.isDisjoint(with: [.reopen, .connection]), "skipped: \(reason)")
    case .errored(let trouble): Issue.record("rig: \(trouble)")
    case .failed(let findings):
      let text = (findings.map(\.description) + result.transcript).joined(separator: "\n")
      Issue.record("\(testCase.id), seed \(Self.seed)\n\(text)")
    }
  }
}

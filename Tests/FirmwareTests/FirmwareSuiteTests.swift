import Conformance
import Rigs
import Testing

/// The suite on the C firmware in this process.
@Suite struct FirmwareSuiteTests {
  static let seed: UInt64 = 2026

  @Test(arguments: Suite.cases.filter { $0.needs.isDisjoint(with: [.connection]) }.map(\.id))
  func `holds on the firmware`(id: String) async throws {
    let testCase = try #require(Suite.cases.first { $0.id == id })
    let result = await Runner(rig: FirmwareRig(), seed: Self.seed).run(testCase)
    switch result.outcome {
    case .passed: break
    case .skipped(let reason):
      // A device in this process has neither a port to reopen nor a connection; any other skip is a
      // failure.
      #expect(!testCase.needs.isDisjoint(with: [.reopen, .connection]), "skipped: \(reason)")
    case .errored(let trouble): Issue.record("rig: \(trouble)")
    case .failed(let findings), .differs(let findings):
      let text = (findings.map(\.description) + result.transcript).joined(separator: "\n")
      Issue.record("\(id), seed \(Self.seed)\n\(text)")
    }
  }

  /// A small build does not support every case, but must not fail any.
  @Test(arguments: [FirmwareProfile.small, .plain])
  func `breaks no rule in a smaller build`(profile: FirmwareProfile) async {
    let cases = Suite.cases.filter { $0.needs.isDisjoint(with: [.connection]) }
    let results = await Runner(rig: FirmwareRig(profile: profile), seed: Self.seed).run(cases) { _ in }
    var passedCount = 0
    for result in results {
      switch result.outcome {
      case .passed: passedCount += 1
      case .skipped: break
      case .errored(let trouble): Issue.record("\(result.testCase.id): \(trouble)")
      case .failed(let findings), .differs(let findings):
        let text = (findings.map(\.description) + result.transcript).joined(separator: "\n")
        Issue.record("\(result.testCase.id) on \(profile.name), seed \(Self.seed)\n\(text)")
      }
    }
    #expect(passedCount > 100, "only \(passedCount) cases could be asked of \(profile.name)")
  }
}

import Conformance
import Foundation
import Testing

/// The list on an emulator in a process of its own, over RFC 2217, in real time. The cases run one after the other on
/// one emulator; each is a test of its own.
@Suite struct RFC2217SuiteTests {
  private static let run = Task { () -> Result<[CaseResult], any Error> in
    do {
      let rig = try await PTYRig.start(program: PTYSuiteTests.program, front: .rfc2217)
      let results = await Runner(rig: rig, seed: EmulatorSuiteTests.seed).run(Suite.cases) { _ in }
      await rig.close()
      return .success(results)
    } catch {
      return .failure(error)
    }
  }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("rfc2217")
        || FileManager.default.isExecutableFile(atPath: PTYSuiteTests.program),
      "the rig 'rfc2217' needs the program notibot beside the tests"),
    arguments: Suite.cases.map(\.id))
  func `holds over RFC 2217`(id: String) async throws {
    let results = try await Self.run.value.get()
    let result = try #require(results.first { $0.testCase.id == id })
    switch result.outcome {
    case .passed: #expect(!PTYSuiteTests.expectedSkips.contains(id))
    case .skipped(let reason):
      #expect(PTYSuiteTests.expectedSkips.contains(id), "skipped: \(reason)")
    case .errored(let trouble): Issue.record("rig: \(trouble)")
    case .failed(let findings):
      let text = (findings.map(\.description) + result.transcript).joined(separator: "\n")
      Issue.record("\(id)\n\(text)")
    }
  }
}

import Conformance
import Foundation
import Testing

/// The list on an emulator in a process of its own, over a real terminal pair, in real time. The cases run one after
/// the other on one emulator; each is a test of its own.
@Suite struct PTYSuiteTests {
  /// What the rig cannot offer, case by case. A skip that is not here is a failure.
  static let expectedSkips = Set(
    Suite.cases.filter { !$0.needs.isDisjoint(with: [.virtualTime, .connection]) }.map(\.id))

  private static let run = Task { () -> Result<[CaseResult], any Error> in
    do {
      let rig = try await PTYRig.start(program: Self.program)
      let results = await Runner(rig: rig, seed: EmulatorSuiteTests.seed).run(Suite.cases) { _ in }
      await rig.close()
      return .success(results)
    } catch {
      return .failure(error)
    }
  }

  /// The `notibot` that was built beside this test.
  static var program: String {
    let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("notibot").path
  }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("pty") || FileManager.default.isExecutableFile(atPath: Self.program),
      "the rig 'pty' needs the program notibot beside the tests"),
    arguments: Suite.cases.map(\.id))
  func `holds over a terminal pair`(id: String) async throws {
    let results = try await Self.run.value.get()
    let result = try #require(results.first { $0.testCase.id == id })
    switch result.outcome {
    case .passed: #expect(!Self.expectedSkips.contains(id))
    case .skipped(let reason):
      #expect(Self.expectedSkips.contains(id), "skipped: \(reason)")
    case .errored(let trouble): Issue.record("rig: \(trouble)")
    case .failed(let findings):
      let text = (findings.map(\.description) + result.transcript).joined(separator: "\n")
      Issue.record("\(id)\n\(text)")
    }
  }
}

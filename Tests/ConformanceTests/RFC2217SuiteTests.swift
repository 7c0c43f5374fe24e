import Conformance
import Foundation
import Testing

/// The list on an emulator in a process of its own, over RFC 2217, in real time. The cases run one after the other on
/// one emulator; each is a test of its own.
@Suite struct RFC2217SuiteTests {
  private static let run = SuiteRun(Suite.cases) {
    try await PTYRig.start(program: PTYSuiteTests.program, front: .rfc2217)
  }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("rfc2217")
        || FileManager.default.isExecutableFile(atPath: PTYSuiteTests.program),
      "the rig 'rfc2217' needs the program notibot beside the tests"),
    arguments: Suite.cases.map(\.id))
  func `holds over RFC 2217`(id: String) async throws {
    expectPassed(try await Self.run.result(of: id), onRigWithout: PTYSuiteTests.absent)
  }
}

import Conformance
import Foundation
import Rigs
import Testing

/// The suite on emulators in separate processes, over RFC 2217, in real time. Four share the cases;
/// each is a separate test.
@Suite struct RFC2217SuiteTests {
  private static let run = SuiteRun(Suite.cases, rigs: 4) {
    try await PTYRig.start(program: PTYSuiteTests.program, front: .rfc2217)
  }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("rfc2217")
        || FileManager.default.isExecutableFile(atPath: PTYSuiteTests.program),
      "the rig 'rfc2217' needs the program notibot next to the tests"),
    arguments: Suite.cases.map(\.id))
  func `holds over RFC 2217`(id: String) async throws {
    expectPassed(try await Self.run.result(of: id), onRigWithout: PTYSuiteTests.absent)
  }
}

import Conformance
import Foundation
import Rigs
import Testing

/// The cases of `--quick` on emulators in separate processes, over RFC 2217, in real time: the line
/// is tested, the device by `PTYSuiteTests`. Four share the cases; each is a separate test.
@Suite struct RFC2217SuiteTests {
  private static let cases = FaultMatrix.measured.quick(Suite.cases)
  private static let run = SuiteRun(cases, rigs: 4) {
    try await PTYRig.start(program: PTYSuiteTests.program, front: .rfc2217)
  }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("rfc2217")
        || FileManager.default.isExecutableFile(atPath: PTYSuiteTests.program),
      "the rig 'rfc2217' needs the program notibot next to the tests"),
    arguments: cases.map(\.id))
  func `holds over RFC 2217`(id: String) async throws {
    expectPassed(try await Self.run.result(of: id), onRigWithout: PTYSuiteTests.absent)
  }
}

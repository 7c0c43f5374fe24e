import Conformance
import Foundation
import Rigs
import Testing

/// The suite on emulators in separate processes, over real terminal pairs, in real time. Four share
/// the cases; each is a separate test.
@Suite struct PTYSuiteTests {
  /// Needs that a port in real time cannot meet.
  static let absent: Set<Need> = [.virtualTime, .longWaits, .connection]

  private static let run = SuiteRun(Suite.cases, rigs: 4) {
    try await PTYRig.start(program: program)
  }

  /// The `notibot` that was built next to this test.
  static var program: String {
    let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("notibot").path
  }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("pty") || FileManager.default.isExecutableFile(atPath: Self.program),
      "the rig 'pty' needs the program notibot next to the tests"),
    arguments: Suite.cases.map(\.id))
  func `holds over a terminal pair`(id: String) async throws {
    expectPassed(try await Self.run.result(of: id), onRigWithout: Self.absent)
  }

  @Test(arguments: [("/bin/sh", "emulate"), ("/bin/echo", "does not start: it printed no port")])
  func `a program that does not emulate is named with its reason`(program: String, reason: String) async {
    let trouble = await #expect(throws: RigTrouble.self) { try await PTYRig.start(program: program) }
    #expect(trouble?.message.hasPrefix("\(program) emulate does not start: ") == true, "\(trouble as Any)")
    #expect(trouble?.message.contains(reason) == true)
  }
}

/// The cases of `--quick` without the control socket: a board on a desk offers only its port.
/// `PlainBoardTests` run them all in virtual time.
@Suite struct PlainPTYSuiteTests {
  private static let cases = FaultMatrix.measured.quick(Suite.cases)
  private static let absent = PTYSuiteTests.absent.union([.control, .firmwareMode])

  private static let run = SuiteRun(cases, rigs: 4) {
    try await PTYRig.start(program: PTYSuiteTests.program, isPlain: true)
  }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("pty")
        || FileManager.default.isExecutableFile(atPath: PTYSuiteTests.program),
      "the rig 'pty' needs the program notibot next to the tests"),
    arguments: cases.map(\.id))
  func `holds over a terminal pair alone`(id: String) async throws {
    expectPassed(try await Self.run.result(of: id), onRigWithout: Self.absent)
  }
}

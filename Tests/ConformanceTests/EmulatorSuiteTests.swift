import Conformance
import Testing

/// The list on the emulator in this process, one test a case.
@Suite struct EmulatorSuiteTests {
  /// There is neither a port to open again in one process nor a connection.
  private static let absent: Set<Need> = [.reopen, .connection]

  @Test(arguments: Suite.all.map(\.id))
  func `holds on the emulator`(id: String) async throws {
    let testCase = try #require(Suite.all.first { $0.id == id })
    expectPassed(
      await Runner(rig: EmulatorRig(), seed: SuiteRun.seed).run(testCase), onRigWithout: Self.absent)
  }

  @Test(
    arguments: Suite.cases.filter { [.link, .throughput].contains($0.chapter) }.map(\.id))
  func `holds on a device that drops what comes too early`(id: String) async throws {
    let testCase = try #require(Suite.cases.first { $0.id == id })
    let rig = EmulatorRig(profile: .dropping)
    expectPassed(await Runner(rig: rig, seed: SuiteRun.seed).run(testCase), onRigWithout: Self.absent)
  }
}

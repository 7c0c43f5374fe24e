import Conformance
import HostSuite
import DeviceEmulator
import Rigs
import Testing

/// The suite on the emulator in this process, one test per case.
@Suite struct EmulatorSuiteTests {
  /// One process has neither a port to reopen nor a connection.
  private static let absent: Set<Need> = [.reopen, .connection]

  /// A device that logs every 10 s would fill 60 days of silence.
  private static func profile(_ profile: DeviceProfile, for testCase: Case) -> DeviceProfile {
    guard testCase.id.hasSuffix("60-days") else { return profile }
    var quiet = profile
    quiet.console.logInterval = nil
    return quiet
  }

  @Test(arguments: HostSuite.cases.map(\.id))
  func `holds for the host`(id: String) async throws {
    let testCase = try #require(HostSuite.cases.first { $0.id == id })
    expectPassed(await Runner(rig: HostRig(), seed: SuiteRun.seed).run(testCase), onRigWithout: [])
  }

  @Test(arguments: Suite.cases.map(\.id))
  func `holds on the emulator`(id: String) async throws {
    let testCase = try #require(Suite.cases.first { $0.id == id })
    let rig = EmulatorRig(profile: Self.profile(.standard, for: testCase))
    expectPassed(await Runner(rig: rig, seed: SuiteRun.seed).run(testCase), onRigWithout: Self.absent)
  }

  @Test(
    arguments: Suite.cases.filter { [.link, .throughput].contains($0.chapter) }.map(\.id))
  func `holds on a device that drops early frames`(id: String) async throws {
    let testCase = try #require(Suite.cases.first { $0.id == id })
    let rig = EmulatorRig(profile: Self.profile(.dropping, for: testCase))
    expectPassed(await Runner(rig: rig, seed: SuiteRun.seed).run(testCase), onRigWithout: Self.absent)
  }
}

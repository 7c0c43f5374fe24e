import Conformance
import Foundation
import Testing

/// The cases that need no session, on an emulator in a process of its own, each bearer a connection to its attribute
/// socket. The cases run one after the other on one emulator; each is a test of its own.
@Suite struct BLESuiteTests {
  private static let offers: Set<Need> = [.connection, .control, .strict, .firmwareMode]
  static let cases = Suite.cases.filter { $0.needs.isSubset(of: offers) }

  private static let run = SuiteRun(cases) { try await BLERig.start(program: PTYSuiteTests.program) }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("ble")
        || FileManager.default.isExecutableFile(atPath: PTYSuiteTests.program),
      "the rig 'ble' needs the program notibot beside the tests"),
    arguments: cases.map(\.id))
  func `holds over connections`(id: String) async throws {
    expectPassed(try await Self.run.result(of: id), onRigWithout: [])
  }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("ble")
        || FileManager.default.isExecutableFile(atPath: PTYSuiteTests.program),
      "the rig 'ble' needs the program notibot beside the tests"))
  func `a device that lets Data be read is caught over connections, too`() async throws {
    let refusal: [UInt8] = [5, 0, 0x01, 0x0A, 6, 0, 0x02]
    let rig = try await BLERig.start(program: PTYSuiteTests.program) { line in
      MutantLine(line, sent: { $0 }, received: { $0 == refusal ? [1, 0, 0x0B] : $0 })
    }
    let permissions = try #require(Self.cases.first { $0.id == "ATT-11/permissions" })
    // The load of this machine must not change the verdict.
    let result = await Runner(rig: rig, seed: 7, gauge: nil).run(permissions)
    await rig.close()
    guard case .failed(let findings) = result.outcome else {
      Issue.record("\(result.outcome)")
      return
    }
    #expect(findings.count == 1)
    #expect(findings.first?.message == "the answer to 0a 0600 is [0b], expected [010a060002]")
  }

  @Test func `what is left out is about sessions, the host or the clock, and nothing else is`() {
    let chapters = Set(Self.cases.map(\.chapter))
    #expect(chapters == [.att, .notifications])
    for testCase in Suite.cases
    where chapters.contains(testCase.chapter) && !Self.cases.contains(where: { $0.id == testCase.id }) {
      #expect(
        !testCase.needs.isDisjoint(with: [.session, .host, .virtualTime, .reopen]), "\(testCase.id)")
    }
    let rules = Set(Self.cases.flatMap(\.rules).filter { $0.hasPrefix("ATT-") })
    // PROFILE_HASH comes in a SYNACK, 30 s are the host's, and so is the choice of a long write.
    #expect(Set((1...20).map { "ATT-\($0)" }).subtracting(rules) == ["ATT-4", "ATT-7", "ATT-20"])
  }
}

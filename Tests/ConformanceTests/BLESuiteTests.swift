import Conformance
import HostSuite
import Foundation
import Rigs
import Testing

/// The cases that need no session, on an emulator in a separate process; each bearer is a
/// connection to its attribute socket. The cases run in sequence on one emulator; each is a
/// separate test.
@Suite struct BLESuiteTests {
  private static let offers: Set<Need> = [.connection, .control, .strict, .firmwareMode]
  static let cases = Suite.cases.filter { $0.needs.isSubset(of: offers) }

  private static let run = SuiteRun(cases) { try await BLERig.start(program: PTYSuiteTests.program) }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("ble")
        || FileManager.default.isExecutableFile(atPath: PTYSuiteTests.program),
      "the rig 'ble' needs the program notibot next to the tests"),
    arguments: cases.map(\.id))
  func `holds over connections`(id: String) async throws {
    expectPassed(try await Self.run.result(of: id), onRigWithout: [])
  }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("ble")
        || FileManager.default.isExecutableFile(atPath: PTYSuiteTests.program),
      "the rig 'ble' needs the program notibot next to the tests"))
  func `a device whose Data can be read is detected over connections too`() async throws {
    let refusal: [UInt8] = [5, 0, 0x01, 0x0A, 6, 0, 0x02]
    let rig = try await BLERig.start(program: PTYSuiteTests.program) { line in
      MutantLine(line, sent: { $0 }, received: { $0 == refusal ? [1, 0, 0x0B] : $0 })
    }
    let permissions = try #require(Self.cases.first { $0.id == "ATT-11/permissions" })
    // The load of this computer must not change the verdict.
    let result = await Runner(rig: rig, seed: 7, gauge: nil).run(permissions)
    await rig.close()
    guard case .failed(let findings) = result.outcome else {
      Issue.record("\(result.outcome)")
      return
    }
    #expect(findings.count == 1)
    #expect(
      findings.first?.message
        == "the answer to 0a 0600 is Value, no value [0b], expected Error 0x02, read not permitted (to Read) [010a060002]"
    )
  }

  @Test(
    .enabled(
      if: RequiredRigs.names.contains("ble")
        || FileManager.default.isExecutableFile(atPath: PTYSuiteTests.program),
      "the rig 'ble' needs the program notibot next to the tests"),
    arguments: [
      ("default", ["--first-handle", "65529"], AttributeServer.own, "passed"),
      ("stack-nimble", [], .stack, "differs"),
      ("stack-nimble", ["--first-handle", "200"], .stack, "differs"),
    ])
  func `other handles and a stack's server are found in a process of their own`(
    profile: String, arguments: [String], server: AttributeServer, word: String
  ) async throws {
    let rig = try await BLERig.start(program: PTYSuiteTests.program, profile: profile, arguments: arguments)
    #expect(rig.server == server)
    let words = [
      "ATT-2/characteristics": "passed", "ATT-11/permissions": "passed", "ATT-14/long-write": "passed",
      "ATT-18/after-the-response": "passed", "ATT-15/write-command": word,
    ]
    for testCase in Self.cases {
      guard let word = words[testCase.id] else { continue }
      let result = await Runner(rig: rig, seed: 7).run(testCase)
      #expect(result.outcome.word == word, "\(result)")
    }
    await rig.close()
  }

  @Test func `only cases about sessions or the clock are excluded`() {
    let chapters = Set(Self.cases.map(\.chapter))
    #expect(chapters == [.att, .notifications])
    for testCase in Suite.cases
    where chapters.contains(testCase.chapter) && !Self.cases.contains(where: { $0.id == testCase.id }) {
      #expect(
        !testCase.needs.isDisjoint(with: [.session, .virtualTime, .longWaits, .reopen]),
        "\(testCase.id)")
    }
    let rules = Set(Self.cases.flatMap(\.rules).filter { $0.hasPrefix("ATT-") })
    // PROFILE_HASH is in a SYNACK, the 30 s apply to the host, and so does the choice of a long
    // write.
    #expect(Set((1...20).map { "ATT-\($0)" }).subtracting(rules) == ["ATT-4", "ATT-7", "ATT-20"])
  }
}

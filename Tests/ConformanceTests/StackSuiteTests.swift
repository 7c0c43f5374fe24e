import Conformance
import DeviceEmulator
import Rigs
import Testing

/// The suite on devices whose Bluetooth stack has a server of its own, and on other handles.
@Suite struct StackSuiteTests {
  private static let offers: Set<Need> = [
    .connection, .control, .virtualTime, .strict, .firmwareMode, .longWaits,
  ]
  private static let cases = Suite.cases.filter { $0.needs.isSubset(of: offers) }

  private static func results(
    _ profile: DeviceProfile, _ bearer: EmulatorRig.Bearer = .connections
  ) async -> [String: Outcome] {
    let rig = EmulatorRig(profile: profile, bearer: bearer)
    let cases = bearer == .line ? Suite.cases.filter { $0.chapter == .att } : cases
    let results = await Runner(rig: rig, seed: SuiteRun.seed).run(cases) { _ in }
    return Dictionary(uniqueKeysWithValues: results.map { ($0.testCase.id, $0.outcome) })
  }

  private static func ids(_ results: [String: Outcome], _ word: String) -> [String] {
    results.filter { $0.value.word == word }.map(\.key).sorted()
  }

  /// The cases that are not passed, each with its reason, for a message.
  private static func others(_ results: [String: Outcome]) -> [String] {
    results.filter { $0.value != .passed }.map { "\($0.key): \($0.value)" }.sorted()
  }

  @Test(arguments: [1, 2, 9, 10, 14, 200, 250, 65_280, 65_529] as [UInt16])
  func `a device passes wherever its handles begin`(first: UInt16) async {
    var profile = DeviceProfile.standard
    profile.firstHandle = first
    #expect(Self.others(await Self.results(profile)) == [])
    #expect(Self.others(await Self.results(profile, .line)) == [])
  }

  @Test(arguments: [14, 200, 65_529] as [UInt16])
  func `NimBLE's differences are listed, and no rule of the application fails`(first: UInt16) async {
    var profile = DeviceProfile.stackNimBLE
    profile.stack?.firstHandle = first
    let results = await Self.results(profile)
    #expect(results.filter { !["passed", "differs"].contains($0.value.word) } == [:])
    // The last service ends at FFFF: here it does with our own server, too.
    let same = first == 65_529 ? Self.ofLastService : []
    #expect(Self.ids(results, "differs") == Self.nimble.filter { !same.contains($0) })
    // What a client of any board relies on.
    for id in [
      "ATT-2/characteristics", "ATT-11/permissions", "ATT-14/long-write", "ATT-18/after-the-response",
    ] {
      #expect(results[id] == .passed)
    }
  }

  @Test func `Bluedroid's differences are fewer, as far as they are documented`() async {
    let results = await Self.results(.stackBluedroid)
    #expect(results.filter { !["passed", "differs"].contains($0.value.word) } == [:])
    let differing = Set(Self.ids(results, "differs"))
    #expect(differing.isStrictSubset(of: Self.nimble))
    #expect(differing.isSuperset(of: ["ATT-2/primary-service", "ATT-12/cccd", "ATT-15/write-command"]))
  }

  @Test func `on a serial line such a board has the device's own server`() async {
    #expect(Self.others(await Self.results(.stackNimBLE, .line)) == [])
  }

  @Test func `a notification from within the write fails on a stack, too`() async {
    let results = await Self.results(.stackEager)
    #expect(results["ATT-18/after-the-response"]?.word == "failed")
    #expect(Self.ids(results, "errored") == [])
  }

  @Test func `only a finding about the server can be a difference, and only where a stack answers`() {
    let server = Finding("a", file: "", line: 1, isOfServer: true)
    let application = Finding("b", file: "", line: 1)
    #expect(Outcome.judged([server], server: .stack) == .differs([server]))
    #expect(Outcome.judged([server, application], server: .stack) == .failed([server, application]))
    #expect(Outcome.judged([server], server: .own) == .failed([server]))
  }

  private static let ofLastService: Set = [
    "ATT-2/primary-service", "ATT-9/find-by-type-value", "ATT-9/last-handle", "ATT-9/whole-values",
  ]
  private static let nimble = [
    "ATT-1/one-pdu-a-frame", "ATT-10/far-offsets", "ATT-10/read-and-blob", "ATT-12/cccd",
    "ATT-14/bad-flag-empties", "ATT-14/cccds-by-handle", "ATT-14/order-of-checks",
    "ATT-14/random-walk-of-writes", "ATT-14/subscribed-after-data", "ATT-14/two-handles-refused",
    "ATT-15/before-length", "ATT-15/indication", "ATT-15/unknown-opcodes", "ATT-15/write-command",
    "ATT-16/longer-than-mtu", "ATT-16/one-beyond-mtu", "ATT-16/wrong-lengths", "ATT-2/primary-service",
    "ATT-8/exchange-mtu", "ATT-8/smaller-of-both", "ATT-9/discovery-errors", "ATT-9/find-by-type-value",
    "ATT-9/group-ends", "ATT-9/last-handle", "ATT-9/long-form-of-a-type", "ATT-9/whole-values",
  ]
}

import Conformance
import DeviceEmulator
import NotibotProtocol
import Testing

@testable import Rigs

/// The suite on devices that only their line reaches, and whose state stays from case to case.
@Suite struct PlainBoardTests {
  /// Each board runs the cases in the suite's order; every sixth one then runs them again,
  /// shuffled. All boards would take CI too long.
  @Test(arguments: PlainBoard.all.indices)
  func `a correct board fails no case, in any order`(index: Int) async throws {
    let board = PlainBoard.all[index]
    let rig = try await board.makeRig()
    var cases = Suite.cases
    var generator = SeededGenerator(seed: SuiteRun.seed)
    var skipped: [String: String] = [:]
    for round in 1...(index.isMultiple(of: 6) ? 2 : 1) {
      let results = await Runner(rig: rig, seed: SuiteRun.seed).run(cases) { _ in }
      skipped.merge(reasonsOfSkipped(among: results, "round \(round)")) { $1 }
      if round == 1 { #expect(unexplained(skipped, board, rig) == []) }
      cases.shuffle(using: &generator)
    }
  }

  /// Cases that were skipped and are not in the board's table, or vice versa. Needs that the rig
  /// does not meet are not listed.
  private func unexplained(_ skipped: [String: String], _ board: PlainBoard, _ rig: any Rig) -> [String] {
    let offers = rig.offers.union([.longWaits])
    let offered = Set(Suite.cases.filter { $0.needs.isSubset(of: offers) }.map(\.id))
    // Notifications without identity stay, so the remaining room depends on the previous cases.
    let withoutRoom = skipped.filter { board.hasSmallStore && $0.value.hasPrefix("the store ") }
    var expected = Set(withoutRoom.keys)
    for (reason, ids) in board.skips {
      for id in ids where skipped[id]?.hasPrefix(reason) == true { expected.insert(id) }
    }
    let surprising = skipped.filter { id, _ in offered.contains(id) && !expected.contains(id) }
    let missing = board.skips.flatMap(\.value).filter { offered.contains($0) && !expected.contains($0) }
    return surprising.map { "\($0.value): \($0.key)" }.sorted()
      + missing.map { "not skipped, or for another reason: \($0)" }.sorted()
  }

  @Test func `notifications with an identity are gone when the case that wrote them has ended`() async throws
  {
    var profile = DeviceProfile.standard
    profile.writersLimit = 1000
    let device = VirtualDevice(wired: WiredDevice(profile: profile, seed: 5, now: .zero))
    let rig = try await PlainBoardRig(device, seed: 11, isStrict: true)
    var largest = 0
    for testCase in Suite.cases {
      _ = await Runner(rig: rig, seed: SuiteRun.seed).run(testCase)
      let line = try rig.makeBench(for: testCase, seed: 1).probe.line
      let store = try #require(line as? VirtualLine<VirtualDevice>).peer.wired.device.store
      let left = store.items.filter { $0.identity != nil }.map { String(decoding: $0.json, as: UTF8.self) }
      #expect(left == [], "\(testCase.id)")
      largest = max(largest, store.writers.records.count)
    }
    // Or nothing was written in the first place.
    #expect(largest > 40)
  }

  @Test func `a board that was in use has forgotten its writers before the first case`() async throws {
    for board in PlainBoard.all where board.description.contains("others' notifications") {
      let bench = try await board.makeRig().makeBench(for: Suite.cases[0], seed: 1)
      try await bench.probe.open()
      // The one without identity stays.
      #expect(try await bench.probe.readCount() == 1, "\(board)")
    }
  }

  @Test func `others' evicted notifications take places in the memory of what is gone`() async throws {
    var profile = DeviceProfile.standard
    profile.capacity = 40
    let device = VirtualDevice(wired: WiredDevice(profile: profile, seed: 5, now: .zero))
    let rig = try await PlainBoardRig(device, seed: 11, isStrict: true)
    let testCase = try #require(Suite.cases.first { $0.id == "NTF-26/evicted-64" })
    // Of another writer, when the board has been prepared: they stay.
    let probe = try rig.makeBench(for: testCase, seed: 1).probe
    try await probe.openDelivery()
    let source = probe.makeSource()
    for id in 1...20 {
      let json = #"{"app":"","title":"","text":"","timestamp":1,"id":\#(id),"src":\#(source)}"#
      try await probe.expectWritten(Array(json.utf8))
    }
    #expect(try await probe.readCount() == 20)
    let result = await Runner(rig: rig, seed: SuiteRun.seed).run(testCase)
    #expect(result.outcome == .passed, "\(result)")
  }
}

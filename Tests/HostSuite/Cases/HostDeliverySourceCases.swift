import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// Hosts whose journal is not the one that wrote last, and devices without identities.
extension HostSuite {
  static let hostDeliverySources = Suite.chapter(.delivery) {
    Case.host(
      "NTF-35/host-highest",
      "A device that knows higher ids leads to a new source; shown ones are removed, and written under the new one",
      also: ["NTF-21", "NTF-24", "NTF-36"]
    ) { probe, bench in
      let device = bench.makeForwarder()
      let one = Self.held("one")
      device.add("one")
      try await device.open()
      try await device.expectSync(known: 0, held: [])
      try await device.answerSync(held: [], highest: 0)
      try await device.expectWrite(one[0].json)
      try await device.answer()
      device.crash()
      device.add("two")
      try await device.open()
      try await device.expectSync(known: 1, held: one)
      try await device.answerSync(held: one, highest: 9)
      try await device.expectWrite(one[0].json)
      try await device.answer()
      try await device.expectSync(known: 1, held: one)
      device.isJournalHeld = true
      try await device.answerSync(held: one, highest: 9)
      try await device.expectNothing("before the journal knows that it is removed")
      device.confirmCommit()
      try await device.expectWrite(Sample.removal(id: 1))
      try await device.answer()
      try await device.expectNothing("before the new source is in the journal")
      device.confirmCommit()
      device.isJournalHeld = false
      let source = try await Self.awaitNewSource(device)
      _ = device.drainReports()
      try await device.answerSync(source: source, held: [], highest: 0)
      try await device.expectWrite(Self.moved(1, "one"))
      try await device.answer()
      try await device.expectWrite(Sample.json(id: 2, "two"))
      try await device.answer()
      try await device.expectNothing("when all is written")
      device.probe.expect(
        "reports", device.drainReports(), is: [.synced(rounds: 0), .delivered(Self.number(2))])
      try await device.endSession()
      let syn = try await device.open()
      device.probe.expect("SRC", syn.number(of: 0x07), is: UInt64(source))
    }

    Case.host(
      "NTF-35/host-restart-between",
      "A notification unknown to the device in this boot can be reported gone, and is written under the new source",
      also: ["NTF-26", "NTF-36"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one", "two"])
      let both = Self.held("one", "two")
      device.bootID += 1
      device.add("three")
      try await device.open()
      try await device.expectSync(known: 2, held: both)
      _ = device.drainReports()
      try await device.notify("{\"ev\":\"dismissed\",\"id\":2,\"src\":\(ForwardingBench.source)}")
      try await device.answerSync(held: [], highest: 22)
      for holding in both { try await device.expectWrite(holding.json) }
      for id in 1...2 {
        try await device.answer()
        try await device.notify("{\"ev\":\"dismissed\",\"id\":\(id),\"src\":\(ForwardingBench.source)}")
      }
      try await device.expectSync(known: 2, held: both)
      try await device.answerSync(held: [], highest: 22)
      let source = try await Self.awaitNewSource(device)
      try await device.answerSync(source: source, held: [], highest: 0)
      for json in [Self.moved(1, "one"), Self.moved(2, "two"), Sample.json(id: 3, "three")] {
        try await device.expectWrite(json)
        try await device.answer()
      }
      device.probe.expect(
        "reports", device.drainReports(),
        is: [.newSource(source), .synced(rounds: 0), .delivered(Self.number(3))])
    }

    Case.host(
      "NTF-35/host-others-boot",
      "Ids that a device knows in a boot in which the host has written nothing are another's, however low",
      also: ["NTF-23", "NTF-24"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one", "two", "three"])
      let all = Self.held("one", "two", "three")
      // Both copies know the first one; the second is another's.
      let others = [all[0], Holding(2, Sample.json(id: 2, "another", more: ",\"rev\":1"))]
      device.bootID += 1
      try await device.open()
      try await device.expectSync(known: 3, held: all)
      try await device.answerSync(held: others, highest: 2)
      try await device.expectWrite(all[0].json)
      try await device.expectWrite(all[1].json)
      try await device.answer()
      try await device.answer(0x81)
      try await device.expectSync(known: 3, held: all)
      try await device.answerSync(held: others, highest: 2)
      try await device.expectWrite(Sample.removal(id: 1))
      try await device.answer()
      let source = try await Self.awaitNewSource(device)
      _ = device.drainReports()
      try await device.answerSync(source: source, held: [], highest: 0)
      for (id, text) in [(1, "one"), (2, "two"), (3, "three")] as [(UInt32, String)] {
        try await device.expectWrite(Self.moved(id, text))
        try await device.answer()
      }
      try await device.expectNothing("when all is written")
      device.probe.expect("reports", device.drainReports(), is: [.synced(rounds: 0)])
    }

    Case.host(
      "NTF-35/host-conflict", "Error 0x81 leads to a new source, and the notification is written under it",
      also: ["NTF-23", "NTF-36"]
    ) { _, bench in
      let device = bench.makeForwarder(holding: ["one"])
      let one = Self.held("one")
      device.add("two")
      try await device.open()
      try await device.expectSync(known: 1, held: one)
      try await device.answerSync(held: one, highest: 1)
      try await device.expectWrite(Sample.json(id: 2, "two"))
      try await device.answer(0x81)
      try await device.expectWrite(one[0].json)
      try await device.answer()
      try await device.expectSync(known: 1, held: one)
      try await device.answerSync(held: one, highest: 1)
      try await device.expectWrite(Sample.removal(id: 1))
      try await device.answer()
      let source = try await Self.awaitNewSource(device)
      try await device.answerSync(source: source, held: [], highest: 0)
      try await device.expectWrite(Self.moved(1, "one"))
      try await device.answer()
      try await device.expectWrite(Sample.json(id: 2, "two"))
      try await device.answer()
      try await device.expectNothing("when all is written")
    }

    Case.host(
      "NTF-36/host-boot-first", "Before the first write in a boot the journal records that there is one",
      also: ["NTF-35"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one"])
      device.bootID += 1
      try await device.open()
      try await device.expectSync(known: 1, held: Self.held("one"))
      device.isJournalHeld = true
      try await device.answerSync(held: [], highest: 0)
      try await device.expectNothing("before the journal records that it writes in this boot")
      device.confirmCommit()
      try await device.expectWrite(Self.held("one")[0].json)
      device.probe.expect("the boot", device.journal.header.writtenBootID, is: device.bootID)
    }

    Case.host(
      "NTF-37/host-plain",
      "A device without identities gets the four keys: unanswered ones once more, answered ones never again",
      also: ["NTF-5", "NTF-36"]
    ) { probe, bench in
      let device = bench.makeForwarder()
      device.features = 0b0001
      device.add("one")
      device.submit(.add(ForwardingBench.notification("two", level: .critical)))
      try await device.open()
      try await device.expectWrite(Sample.json("two"))
      try await device.expectWrite(Sample.json("one"))
      try await device.answer()
      try await device.endSession()
      try await device.open()
      try await device.expectWrite(Sample.json("one"))
      try await device.answer()
      let delivered = device.drainReports().filter { if case .delivered = $0 { true } else { false } }
      device.probe.expect("reports", delivered, is: [.delivered(Self.number(2)), .delivered(Self.number(1))])
      try await device.restart()
      try await device.open()
      try await device.expectNothing("after a restart", for: .seconds(5))
    }

    Case.host(
      "NTF-37/host-plain-in-doubt",
      "A host with that setting does not write doubtful ones again, and reports them"
    ) { probe, bench in
      let device = bench.makeForwarder { $0.outbox.resendsPlain = false }
      device.features = 0b0001
      device.add("one")
      try await device.open()
      try await device.expectWrite(Sample.json("one"))
      try await device.endSession()
      _ = device.drainReports()
      try await device.open()
      try await device.expectNothing("the doubtful ones")
      device.probe.expect("reports", device.drainReports(), is: [.outcomeUnknown(Self.number(1))])
    }

    Case.host(
      "NTF-37/host-half-a-feature",
      "Identities without SYNC, or SYNC without identities, are treated as neither", also: ["NTF-30"]
    ) { _, bench in
      for features: UInt32 in [0b0011, 0b0101] {
        let device = bench.makeForwarder()
        device.features = features
        device.add("one")
        try await device.open()
        try await device.expectWrite(Sample.json("one"))
        try await device.answer()
        try await device.expectNothing("with features \(features)")
      }
    }
  }

  private static func number(_ number: Int64) -> OutboxNumber { OutboxNumber(rawValue: number) }

  /// The SYNC of a new source without any notifications. Returns the source.
  private static func awaitNewSource(
    _ device: ForwardingBench, file: String = #fileID, line: Int = #line
  ) async throws -> UInt32 {
    let sync = try await device.awaitSync(file: file, line: line)
    let isNew = sync.source != 0 && sync.source != ForwardingBench.source
    device.probe.expect(isNew, "the source is \(sync.source), not a new one", file: file, line: line)
    device.probe.expect(
      "SYNC", sync, is: ReceivedSync(source: sync.source, known: 0, held: []), file: file, line: line)
    return sync.source
  }

  /// As the host writes it under a new id if it was shown before.
  private static func moved(_ id: UInt32, _ text: String) -> [UInt8] {
    Sample.json(id: id, text, more: ",\"ev\":\"m\"")
  }
}

import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// How a host guarantees delivery: what it writes, when, and how it handles a missing answer.
extension HostSuite {
  static let hostDelivery = Suite.chapter(.delivery) {
    Case.host(
      "NTF-36/host-journal-first", "Nothing is written or reported before the journal has it"
    ) { _, bench in
      let device = bench.makeForwarder()
      let probe = device.probe
      device.isJournalHeld = true
      device.add("one")
      try await device.open()
      try await device.expectSync(known: 0, held: [])
      try await device.answerSync(held: [], highest: 0)
      try await device.expectNothing("before the notification is in the journal")
      probe.expect("reports", device.drainReports(), is: [.synced(rounds: 0)])
      device.confirmCommit()
      try await device.expectNothing("before its bytes are in the journal")
      probe.expect("reports", device.drainReports(), is: [.queued(Self.number(1), token: 1)])
      device.confirmCommit()
      try await device.expectWrite(Sample.json(id: 1, "one"))
      try await device.answer()
      probe.expect("reports before the answer is in the journal", device.drainReports(), is: [])
      device.confirmCommit()
      probe.expect("reports", device.drainReports(), is: [.delivered(Self.number(1))])
    }

    Case.host(
      "NTF-36/host-rising-ids", "Ids rise from 1 in the order of sending, the highest level first",
      also: ["NTF-20"]
    ) { _, bench in
      let device = bench.makeForwarder()
      let levels: [(String, NotificationDetails.Level)] = [
        ("low", .passive), ("middle", .active), ("top", .critical), ("high", .timeSensitive),
        ("other", .active),
      ]
      for (text, level) in levels { device.submit(.add(ForwardingBench.notification(text, level: level))) }
      try await device.open()
      try await device.expectSync(known: 0, held: [])
      try await device.answerSync(held: [], highest: 0)
      let order = [
        ("top", ",\"lvl\":3"), ("high", ",\"lvl\":2"), ("middle", ""), ("other", ""), ("low", ",\"lvl\":0"),
      ]
      for (index, (text, more)) in order.enumerated() {
        try await device.expectWrite(Sample.json(id: UInt32(index + 1), text, more: more))
      }
    }

    Case.host(
      "NTF-36/host-unknown-outcome",
      "A write without an answer is repeated in the next session, byte for byte, before any new one",
      also: ["NTF-34", "LNK-22", "LNK-23"]
    ) { _, bench in
      let device = bench.makeForwarder()
      let both = Self.held("one", "two")
      device.add("one", "two")
      try await device.open()
      try await device.expectSync(known: 0, held: [])
      try await device.answerSync(held: [], highest: 0)
      try await device.expectWrite(both[0].json)
      try await device.expectWrite(both[1].json)
      try await device.answer()
      try await device.endSession()
      device.submit(.add(ForwardingBench.notification("three", level: .critical)))
      try await device.open()
      try await device.expectSync(known: 1, held: [both[0]])
      // It was received nevertheless: the host cannot know which one is the additional one.
      try await device.answerSync(held: both, highest: 2)
      try await device.expectWrite(both[1].json)
      try await device.expectNothing("before the outcome is known")
      try await device.answer()
      try await device.expectSync(known: 2, held: both)
      try await device.answerSync(held: both, highest: 2)
      try await device.expectWrite(Sample.json(id: 3, "three", more: ",\"lvl\":3"))
    }

    Case.host(
      "NTF-36/host-crash", "A host that was killed continues with the ids and bytes of its journal",
      also: ["NTF-21"]
    ) { probe, bench in
      let device = bench.makeForwarder()
      device.add("one")
      try await device.open()
      try await device.expectSync(known: 0, held: [])
      try await device.answerSync(held: [], highest: 0)
      try await device.expectWrite(Sample.json(id: 1, "one"))
      device.crash()
      device.add("two")
      let syn = try await device.open()
      device.probe.expect("SRC", syn.number(of: 0x07), is: UInt64(ForwardingBench.source))
      try await device.expectSync(known: 0, held: [])
      try await device.answerSync(held: Self.held("one"), highest: 1)
      try await device.expectWrite(Sample.json(id: 1, "one"))
      try await device.answer()
      try await device.expectSync(known: 1, held: Self.held("one"))
      try await device.answerSync(held: Self.held("one"), highest: 1)
      try await device.expectWrite(Sample.json(id: 2, "two"))
    }

    Case.host(
      "NTF-36/host-port-lost", "When the port comes back the same journal is used",
      also: ["LNK-23", "NTF-31"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one"])
      let one = Self.held("one")
      device.add("two")
      try await device.open()
      try await device.expectSync(known: 1, held: one)
      try await device.answerSync(held: one, highest: 1)
      try await device.expectWrite(Sample.json(id: 2, "two"))
      device.unplug()
      device.add("three")
      let strays = try await device.probe.frames(for: .seconds(5))
      device.probe.expect("frames without a port", strays, is: [])
      device.plug()
      let syn = try await device.open()
      device.probe.expect("SRC", syn.number(of: 0x07), is: UInt64(ForwardingBench.source))
      try await device.expectSync(known: 1, held: one)
      try await device.answerSync(held: one, highest: 1)
      try await device.expectWrite(Sample.json(id: 2, "two"))
      try await device.answer()
      try await device.expectSync(known: 2, held: Self.held("one", "two"))
      try await device.answerSync(held: Self.held("one", "two"), highest: 2)
      try await device.expectWrite(Sample.json(id: 3, "three"))
    }

    Case.host(
      "NTF-23/host-changes", "A change has the same id and a higher rev; a removal has the four keys empty",
      also: ["NTF-20", "NTF-24", "NTF-36"]
    ) { _, bench in
      let device = bench.makeForwarder(holding: ["one"])
      let probe = device.probe
      let one = Self.held("one")
      try await device.open()
      try await device.expectSync(known: 1, held: one)
      try await device.answerSync(held: one, highest: 1)
      for (text, revision) in [("more", 1), ("most", 2)] {
        device.submit(.update(Self.number(1), ForwardingBench.notification(text)))
        try await device.expectWrite(
          Sample.json(id: 1, text, more: ",\"rev\":\(revision),\"ev\":\"m\""))
        try await device.answer()
      }
      _ = device.drainReports()
      device.isJournalHeld = true
      device.submit(.remove(Self.number(1)))
      try await device.expectNothing("a removal before the journal has it")
      device.confirmCommit()
      try await device.expectWrite(Sample.removal(id: 1))
      try await device.answer()
      device.confirmCommit()
      probe.expect(
        "reports", device.drainReports(), is: [.queued(Self.number(1), token: 3), .removed(Self.number(1))])
    }

    Case.host(
      "NTF-23/host-full",
      "A notification that a full store refused is written again when there is room, under a new id",
      also: ["NTF-8", "NTF-10", "NTF-36"]
    ) { _, bench in
      let device = bench.makeForwarder()
      let probe = device.probe
      device.add("one", "two")
      try await device.open()
      try await device.expectSync(known: 0, held: [])
      try await device.answerSync(held: [], highest: 0)
      try await device.expectWrite(Sample.json(id: 1, "one"))
      try await device.expectWrite(Sample.json(id: 2, "two"))
      try await probe.sendData(Wire.literal("1b 0300 0500"))
      try await device.answer(0x11)
      try await device.answer(0x11)
      try await device.expectNothing("while the store is full", for: .seconds(1))
      probe.expect(device.drainReports().contains(.storeFull), "a full store is not reported")
      try await probe.sendData(Wire.literal("1b 0300 0400"))
      try await device.expectWrite(Sample.json(id: 3, "one"))
      try await device.answer()
      try await device.expectWrite(Sample.json(id: 4, "two"))
    }

    Case.host(
      "ATT-6/host-tiny-delivery",
      "A device that accepts one request at a time, whole or in parts, gets everything: SYNC, lost ones, new ones",
      also: ["NTF-34", "NTF-36", "ATT-14"]
    ) { _, bench in
      for mtu: UInt16 in [517, 23] {
        let device = bench.makeForwarder(holding: ["one"])
        device.features = 0b0110
        device.requests = 1
        device.mtu = mtu
        device.bootID += 1
        device.add("two", "three")
        try await device.open()
        try await device.expectSync(known: 1, held: Self.held("one"))
        try await device.answerSync(held: [], highest: 0)
        try await device.expectWrite(Sample.json(id: 1, "one"))
        try await device.answer()
        try await device.expectSync(known: 1, held: Self.held("one"))
        try await device.answerSync(held: Self.held("one"), highest: 1)
        try await device.expectWrite(Sample.json(id: 2, "two"))
        try await device.expectNothing("while a request is outstanding")
        try await device.answer()
        try await device.expectWrite(Sample.json(id: 3, "three"))
      }
    }
  }

  /// Notifications of a test, by id, as they are on the device.
  static func held(_ texts: String...) -> [Holding] {
    texts.enumerated().map { Holding(UInt32($0 + 1), Sample.json(id: UInt32($0 + 1), $1)) }
  }

  private static func number(_ number: Int64) -> OutboxNumber { OutboxNumber(rawValue: number) }
}

import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// How a host reaches agreement with a device: SYNC, repeated writes, reports of gone
/// notifications.
extension HostSuite {
  static let hostDeliverySynced = Suite.chapter(.delivery) {
    Case.host(
      "NTF-31/host-sync-first",
      "SYNC comes first, once the host has subscribed; after a SYNCED that agrees only new ones are written",
      also: ["NTF-21", "NTF-30", "NTF-32", "NTF-34"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one", "two"])
      let both = Self.held("one", "two")
      device.add("three")
      let syn = try await device.open()
      device.probe.expect("SRC", syn.number(of: 0x07), is: UInt64(ForwardingBench.source))
      try await device.expectSync(known: 2, held: both)
      try await device.expectNothing("before SYNCED", for: .seconds(5))
      try await device.answerSync(held: both, highest: 2)
      try await device.expectWrite(Sample.json(id: 3, "three"))
      try await device.answer()
      try await device.expectNothing("when all is written", for: .seconds(5))
    }

    Case.host(
      "NTF-31/host-other-synced", "A SYNCED of another source, or an unsolicited one, is ignored",
      also: ["NTF-30"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one"])
      let one = Self.held("one")
      device.add("two")
      try await device.open()
      try await device.expectSync(known: 1, held: one)
      try await device.answerSync(source: 7, held: one, highest: 1)
      try await device.answerSync(source: 7, held: [], highest: 99)
      try await device.expectNothing("after a SYNCED of another source")
      try await device.answerSync(held: one, highest: 1)
      try await device.expectWrite(Sample.json(id: 2, "two"))
      try await device.answer()
      try await device.answerSync(held: [], highest: 99)
      try await device.expectNothing("after an unsolicited SYNCED", for: .seconds(5))
      device.probe.expect("the source", device.journal.header.source, is: ForwardingBench.source)
    }

    Case.host(
      "NTF-34/host-resends",
      "After a restart of the device the host writes the lost ones again: the same bytes, in rising order, before new ones",
      also: ["NTF-28", "NTF-30", "NTF-36", "LNK-22"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one", "two", "three"])
      let all = Self.held("one", "two", "three")
      try await device.open()
      try await device.expectSync(known: 3, held: all)
      try await device.answerSync(held: all, highest: 3)
      try await device.restart()
      device.add("four")
      try await device.open()
      _ = device.drainReports()
      try await device.expectSync(known: 3, held: all)
      try await device.answerSync(held: [], highest: 0)
      for holding in all { try await device.expectWrite(holding.json) }
      for _ in all { try await device.answer() }
      try await device.expectSync(known: 3, held: all)
      try await device.answerSync(held: all, highest: 3)
      device.probe.expect("reports", device.drainReports(), is: [.synced(rounds: 1)])
      try await device.expectWrite(Sample.json(id: 4, "four"))
    }

    Case.host(
      "NTF-34/host-capacity", "The host writes no more of them again than the device has room for"
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one", "two", "three", "four"])
      let all = Self.held("one", "two", "three", "four")
      device.bootID += 1
      try await device.open()
      try await device.expectSync(known: 4, held: all)
      try await device.answerSync(held: [], highest: 0, capacity: 2)
      var written: [[UInt8]] = []
      while case .write(let json)? = try await device.nextMessage() {
        written.append(json)
        try await device.answer()
      }
      device.probe.expect("the writes before SYNC", written, is: [all[0].json, all[1].json])
    }

    Case.host(
      "NTF-34/host-two-rounds", "After two rounds the host reports that the two differ, and continues"
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one"])
      let one = Self.held("one")
      device.add("two")
      try await device.open()
      for _ in 0..<2 {
        try await device.expectSync(known: 1, held: one)
        try await device.answerSync(held: [], highest: 0)
        try await device.expectWrite(one[0].json)
        try await device.answer()
      }
      try await device.expectSync(known: 1, held: one)
      _ = device.drainReports()
      try await device.answerSync(held: [], highest: 0)
      try await device.expectWrite(Sample.json(id: 2, "two"))
      device.probe.expect("reports", device.drainReports(), is: [.diverged])
    }

    Case.host(
      "NTF-33/host-resync", "After RESYNC the host sends SYNC, once no write is outstanding",
      also: ["NTF-30", "NTF-31"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one"])
      device.add("two")
      try await device.open()
      try await device.expectSync(known: 1, held: Self.held("one"))
      try await device.answerSync(held: Self.held("one"), highest: 1)
      try await device.expectWrite(Sample.json(id: 2, "two"))
      try await device.probe.sendData([3], channel: 0)
      try await device.expectNothing("while a write is outstanding", for: .seconds(5))
      try await device.answer()
      try await device.expectSync(known: 2, held: Self.held("one", "two"))
      try await device.answerSync(held: Self.held("one", "two"), highest: 2)
      try await device.expectNothing("after one RESYNC", for: .seconds(5))
    }

    Case.host(
      "NTF-26/host-confirms-gone",
      "The host forgets a gone notification, then writes its removal, so that the reports end",
      also: ["NTF-24", "NTF-36"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one", "two"])
      let both = Self.held("one", "two")
      try await device.open()
      try await device.expectSync(known: 2, held: both)
      try await device.answerSync(held: both, highest: 2)
      _ = device.drainReports()
      device.isJournalHeld = true
      try await device.notify(Self.gone("dismissed", id: 1))
      try await device.expectNothing("before the journal has forgotten it")
      device.probe.expect("reports", device.drainReports(), is: [])
      device.confirmCommit()
      try await device.expectWrite(Sample.removal(id: 1))
      device.probe.expect("reports", device.drainReports(), is: [.gone(Self.number(1), .dismissed)])
      try await device.answer()
      device.isJournalHeld = false
      try await device.probe.sendData([4, 2] + Wire.u32(ForwardingBench.source) + Wire.u32(2), channel: 0)
      try await device.expectWrite(Sample.removal(id: 2))
      device.probe.expect("reports", device.drainReports(), is: [.gone(Self.number(2), .evicted)])
      try await device.answer()
      try await device.probe.sendData([3], channel: 0)
      try await device.expectSync(known: 2, held: [])
    }

    Case.host(
      "NTF-31/host-gone-before-synced",
      "SYNCED counts earlier reports: dismissed and evicted are excluded, expired are included until removed",
      also: ["NTF-26", "NTF-27", "NTF-32"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one", "two", "three", "four", "five"])
      let all = Self.held("one", "two", "three", "four", "five")
      let source = Wire.u32(ForwardingBench.source)
      device.add("six")
      try await device.open()
      try await device.expectSync(known: 5, held: all)
      try await device.notify(Self.gone("dismissed", id: 1))
      try await device.notify(Self.gone("expired", id: 2))
      try await device.probe.sendData([4, 2] + source + Wire.u32(3), channel: 0)
      try await device.probe.sendData([4, 3] + source + Wire.u32(4), channel: 0)
      try await device.answerSync(held: [all[1], all[3], all[4]], highest: 5)
      var removals: Set<[UInt8]> = []
      for _ in 0..<4 {
        guard case .write(let json)? = try await device.nextMessage() else { break }
        removals.insert(json)
      }
      device.probe.expect("removals", removals, is: Set((1...4).map { Sample.removal(id: $0) }))
      try await device.expectWrite(Sample.json(id: 6, "six"))
      device.probe.expect(
        device.drainReports().contains(.synced(rounds: 0)), "host and device did not agree at once")
    }

    Case.host(
      "NTF-26/host-other-source",
      "A gone notification of another source, or with an unknown id, does not concern the host"
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one"])
      try await device.open()
      try await device.expectSync(known: 1, held: Self.held("one"))
      try await device.answerSync(held: Self.held("one"), highest: 1)
      _ = device.drainReports()
      try await device.notify(Self.gone("dismissed", id: 1, source: ForwardingBench.source - 1))
      try await device.notify(Self.gone("evicted", id: 9))
      try await device.probe.sendData([4, 1] + Wire.u32(7) + Wire.u32(1), channel: 0)
      try await device.expectNothing("for another's notification")
      device.probe.expect("reports", device.drainReports(), is: [])
      device.probe.expect("notifications in the journal", device.journal.entries.count, is: 1)
    }
  }

  private static func number(_ number: Int64) -> OutboxNumber { OutboxNumber(rawValue: number) }

  private static func gone(_ event: String, id: UInt32, source: UInt32 = ForwardingBench.source) -> String {
    "{\"ev\":\"\(event)\",\"item\":3,\"id\":\(id),\"src\":\(source)}"
  }
}

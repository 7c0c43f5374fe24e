import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// The content of events, those that are sent even if they do not fit, and those that a SYNC makes
/// unnecessary.
extension Suite {
  static let events = chapter(.delivery) {
    Case(
      "NTF-26/all-dismissed", "Dismissing all at once reports each one that has an identity",
      also: ["NTF-11", "NTF-10", "NTF-32"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      let other = probe.makeSource()
      let inputs = [
        Sample.json(id: 1), Sample.json("plain"), Sample.json(id: 2),
        Sample.json(id: 3, more: ",\"src\":\(other)"),
        Sample.removal(id: 2), Sample.json(id: 4, more: ",\"lvl\":3"),
      ]
      for json in inputs { try await probe.expectWritten(json) }
      try await control.perform(.clear)
      let unsolicited = try await probe.listen()
      for (of, id, item) in [(source, 1, 1), (other, 3, 4), (source, 4, 5)] as [(UInt32, UInt32, UInt32)] {
        probe.expect("events of id \(id)", unsolicited.count("dismissed", of, id, item: item), is: 1)
      }
      probe.expect("ids that are gone", unsolicited.goneIDs(source).sorted(), is: [1, 4])
      let count = try await probe.readCount()
      probe.expect("Count", count, is: 0)
      for (of, gone) in [(other, [3]), (source, [1, 4])] as [(UInt32, [UInt32])] {
        var unsolicited = Unsolicited()
        let synced = try await probe.sync(Sync(of, known: 4), unsolicited: &unsolicited)
        probe.expect("ids that are gone at SYNC", unsolicited.goneIDs(of).sorted(), is: gone)
        probe.expect("n", synced.count, is: 0)
        for id in gone { try await probe.expectWritten(Sample.removal(id: id)) }
      }
    }

    Case(
      "NTF-11/action-numbers",
      "An event contains its numbers in full: act up to 255, item, id and src of any length",
      also: ["NTF-26"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      _ = try await bench.openAfterRestart()
      try probe.requireEventRoom()
      try await probe.requireStoreRoom(12)
      let keys: [(source: UInt32, id: UInt32)] = [
        (1, 1), (.max, .max), (4_000_000_000, 10), (9, 1_000_000_009),
      ]
      for key in keys {
        try await probe.expectWritten(Sample.json(id: key.id, more: ",\"src\":\(key.source)"))
      }
      for index in 5...11 { try await probe.expectWritten(Sample.json("item \(index)")) }
      for act in [0, 9, 10, 99, 100, 255] as [UInt8] {
        for (index, key) in keys.enumerated() {
          try await control.perform(.action(UInt32(index + 1), act))
          let unsolicited = try await probe.listen()
          probe.expect(
            "events of act \(act)", unsolicited.actions(key.source, key.id, act: UInt32(act)), is: 1)
          probe.expect("items", unsolicited.items(key.source, key.id), is: [UInt32(index + 1)])
        }
        for item in [9, 10, 11] as [UInt32] {
          try await control.perform(.action(item, act))
          let unsolicited = try await probe.listen()
          probe.expect("events of item \(item)", unsolicited.events.count, is: 1)
          probe.expect("those without id and src", unsolicited.plainEvents, is: unsolicited.events)
          let text = unsolicited.events.first ?? ""
          probe.expect(Sample.isEvent(text, "action", item: item, action: act), "the event is \(text)")
        }
      }
      try await control.perform(.clear)
      for key in keys {
        try await probe.expectWritten(Sample.removal(id: key.id, more: ",\"src\":\(key.source)"))
      }
    }

    Case(
      "NTF-26/only-gone-in-gone",
      "At MTU 23 GONE reports gone notifications with an identity, and nothing reports actions and plain ones",
      also: ["NTF-11", "NTF-30"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      try await probe.expectWritten(Sample.json(id: 7))
      try await probe.expectWritten(Sample.json("plain"))
      try await probe.openNarrow()
      for command in [DeviceCommand.action(1, 1), .action(2, 0), .dismiss(2)] {
        try await control.perform(command)
        let unsolicited = try await probe.listen()
        probe.expect("reports of \(command)", unsolicited.items, is: [])
      }
      let gone = [4, 1] + Wire.u32(source) + Wire.u32(7)
      try await control.perform(.dismiss(1))
      var unsolicited = try await probe.listen()
      try await probe.sync(Sync(source), unsolicited: &unsolicited)
      probe.expect(
        "reports of the other one, at once and at SYNC", unsolicited.items,
        is: [.message(gone), .message(gone)])
      try await probe.openDelivery(source: source)
      try await probe.expectWritten(Sample.removal(id: 7))
    }

    Case(
      "NTF-30/gone-expired", "GONE has the reason of the event that it replaces", also: ["NTF-26", "NTF-27"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try await probe.requireStoreRoom(1)
      try await probe.expectWritten(Sample.json(id: 0x0102_0304, more: ",\"exp\":\(Sample.noon + 1000)"))
      try await probe.openNarrow(clock: Sample.noon + 2000)
      var unsolicited = Unsolicited()
      try await probe.sync(Sync(source), unsolicited: &unsolicited)
      probe.expect(
        "reports at SYNC", unsolicited.items,
        is: [.message([4, 3] + Wire.u32(source) + Wire.literal("04030201"))])
      try await probe.openDelivery(source: source)
      try await probe.expectWritten(Sample.removal(id: 0x0102_0304))
    }

    Case(
      "NTF-33/sync-comes-first", "A RESYNC that is pending when a SYNC is handled is sent at most once",
      also: ["NTF-22", "NTF-31"]
    ) { probe, _ in
      let source = probe.makeSource()
      let tlvs = Probe.synTLVs(nonce: probe.makeNonce(), features: Probe.deliveryFeatures, frames: 2)
      try await probe.openWide(tlvs)
      guard probe.session.features & 0b110 == 0b110 else {
        throw CaseEnd.skip("the device announces features \(probe.session.features): no SYNC")
      }
      // One frame at a time.
      probe.session.credit = 1
      try await probe.requireStoreRoom(1)
      try await probe.sync(Sync(source))
      let sources = try await probe.pushOutSource()
      try await probe.sync(Sync(source))
      if sources > 1 {
        let pushed = try await probe.pushOutSource(limit: sources - 1)
        probe.expect("writers until the next RESYNC, at least", pushed, is: sources - 1)
      }
      let more = ",\"src\":\(probe.makeSource())"
      let pdu = try await probe.writePDU(Sample.json(id: 1, more: more))
      _ = try await probe.fence()
      guard probe.session.room >= 2 else { throw CaseEnd.skip("the device takes one frame at a time") }
      try await probe.sendData(pdu)
      // The answer is not acknowledged yet, so that RESYNC is queued. It can come before SYNCED:
      // the two can cross on the line.
      try await probe.sendData(Sync(source).bytes, channel: 0)
      _ = try await probe.fence()
      var unsolicited = Unsolicited()
      let synced = try await probe.awaitSynced(unsolicited: &unsolicited)
      probe.expect("hwm of the forgotten writer", synced.highest, is: 0)
      let behind = try await probe.listen()
      probe.expect("reports after SYNCED", behind.items.filter { $0 != .message([3]) }, is: [])
      let resyncs = unsolicited.messages.count + behind.messages.count
      probe.expect(resyncs <= 1, "\(resyncs) RESYNCs")
      try await probe.writeData(Sample.removal(id: 1, more: more))
    }

    Case(
      "NTF-22/queued-events-are-sent",
      "Events that were queued before their src was forgotten are still sent", also: ["NTF-26", "ATT-19"],
      needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      try await probe.requireStoreRoom(9)
      // One frame at a time.
      probe.session.credit = 1
      try await probe.sync(Sync(source))
      let sources = try await probe.pushOutSource()
      try await probe.sync(Sync(source))
      for id in 1...8 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.json(id: id)) }
      if sources > 1 { _ = try await probe.pushOutSource(limit: sources - 1) }
      guard probe.session.room >= 2 else { throw CaseEnd.skip("the device takes one frame at a time") }
      // While the answer is not acknowledged, events have to wait; at least 8 can (ATT-19).
      try await probe.sendData([0x0A, 3, 0])
      _ = try await probe.fence()
      for item in 1...8 { try await control.perform(.dismiss(UInt32(sources + item))) }
      try await probe.sendData(Sync(probe.makeSource()).bytes, channel: 0)
      _ = try await probe.fence()
      var unsolicited = Unsolicited()
      _ = try await probe.awaitSynced(unsolicited: &unsolicited)
      try await probe.listen(into: &unsolicited)
      let again = try await probe.sync(Sync(source))
      guard again.highest == 0 else {
        throw CaseEnd.skip("the device handled no SYNC while its events were waiting")
      }
      probe.expect("ids of the events", unsolicited.goneIDs(source), is: Array(1...8))
    }

    Case(
      "NTF-11/numbers-of-accepted",
      "Each accepted notification takes the next number; what is refused, repeated, changed or removed takes none",
      also: ["NTF-8", "NTF-23", "NTF-24", "NTF-27"], needs: [.strict]
    ) { probe, _ in
      let (source, other, filler) = (probe.makeSource(), probe.makeSource(), probe.makeSource())
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try probe.requireEventRoom()
      try await probe.requireStoreRoom(2)
      // What is expired when it is written is accepted, and reported with its number at once.
      let expired = ",\"exp\":\(Sample.noon - 10)"
      var id = 0 as UInt32
      func nextNumber() async throws -> UInt32 {
        id += 1
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(Sample.json(id: id, more: expired), unsolicited: &unsolicited)
        probe.expect("the answer to notification \(id)", reply, is: [0x13])
        try await probe.listen(into: &unsolicited)
        try await probe.expectWritten(Sample.removal(id: id), "the removal")
        guard let number = unsolicited.items(source, id).first else {
          throw CaseEnd.skip("the device does not report the number of what has expired")
        }
        return number
      }
      var last = try await nextNumber()
      let inputs: [(what: String, json: [UInt8], taken: UInt32)] = [
        ("an accepted one without identity", Sample.plain(expires: Sample.noon - 10), 1),
        ("no JSON", Array("{".utf8), 0), ("a missing key", Array("{\"app\":\"Rig\"}".utf8), 0),
        ("one that was removed", Sample.json(id: 1), 0), ("a removal", Sample.removal(id: 9), 0),
        ("an accepted one of another src", Sample.json(id: 1, more: ",\"src\":\(other)"), 1),
        ("the same again", Sample.json(id: 1, more: ",\"src\":\(other)"), 0),
        ("a change", Sample.json(id: 1, more: ",\"rev\":2,\"src\":\(other)"), 0),
        ("a lower rev", Sample.json(id: 1, more: ",\"rev\":1,\"src\":\(other)"), 0),
        ("a removal of another src", Sample.removal(id: 1, more: ",\"src\":\(other)"), 0),
      ]
      for (what, json, taken) in inputs {
        _ = try await probe.writeData(json)
        let number = try await nextNumber()
        probe.expect("the number after \(what)", number, is: last + taken + 1)
        last = number
      }
      // The last write is refused.
      let held = try await probe.fillStore(as: filler)
      let removals = (1...UInt32(held)).map { Sample.removal(id: $0, more: ",\"src\":\(filler)") }
      try await probe.expectWritten(removals[0], "a removal from the full store")
      let number = try await nextNumber()
      probe.expect("the number after a full store", number, is: last + UInt32(held) + 1)
      for removal in removals.dropFirst() { try await probe.expectWritten(removal, "the removal") }
    }
  }
}

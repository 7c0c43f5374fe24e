import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Identity across lost sessions, lost answers and restarts.
extension Suite {
  static let deliverySessions = chapter(.delivery) {
    Case(
      "NTF-28/known-ids",
      "An id up to known is stored and counted like any other, if the device does not know it",
      also: ["NTF-31", "NTF-23"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery()
      try await probe.requireStoreRoom(3)
      let before = try await probe.readCount()
      let synced = try await probe.sync(Sync(source, known: 8))
      probe.expect("hwm of a device without notifications", synced.highest, is: 0)
      var held: [Holding] = []
      for id in [3, 8, 9] as [UInt32] {
        let json = Sample.json(id: id)
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(json, unsolicited: &unsolicited)
        probe.expect("the answer to id \(id)", reply, is: [0x13])
        probe.expect("notifications of id \(id)", unsolicited.events, is: [])
        held.append(Holding(id, json))
      }
      try await probe.expectHeld(held, of: source, highest: 9)
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before + 3)
    }

    Case(
      "NTF-12/identity-outlives-session", "Identity, rev and hwm outlive the session, closed or interrupted",
      also: ["NTF-22", "NTF-32"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      let (first, second) = (Sample.json(id: 1, more: ",\"rev\":3"), Sample.json(id: 2))
      try await probe.expectWritten(first)
      try await probe.expectWritten(second)
      try await probe.write(probe.frame(.fin))
      _ = try await probe.awaitFrame(.ack)
      try await probe.openDelivery()
      try await probe.expectHeld(
        [Holding(1, first), Holding(2, second)], of: source, highest: 2, "after FIN")
      try await probe.openDelivery(source: source)
      try await probe.expectWritten(first, "the same again in the next session")
      try await probe.expectWritten(second, "the same again in the next session")
      try await probe.expectHeld(
        [Holding(1, first), Holding(2, second)], of: source, highest: 2, "after another SYN")
    }

    Case(
      "NTF-22/since-boot", "After a restart nothing is held, hwm is 0, and the same ids are new again",
      also: ["NTF-23", "NTF-26", "NTF-30"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      let source = try await probe.beginDelivery(room: 2)
      let (first, second) = (Sample.json(id: 1), Sample.json(id: 2))
      try await probe.expectWritten(first)
      try await probe.expectWritten(second)
      try await control.perform(.dismiss(1))
      let before = try await probe.sync(Sync(source, known: 2))
      try await bench.restart()
      try await probe.openDelivery()
      var unsolicited = Unsolicited()
      let after = try await probe.sync(
        Sync(source, known: 2, held: [Holding(2, second)]), unsolicited: &unsolicited)
      guard after.count == 0 else { throw CaseEnd.skip("the device keeps its store over a restart (NTF-12)") }
      probe.expect("digest", after.digest, is: 0)
      probe.expect("hwm", after.highest, is: 0)
      probe.expect("ids that are reported gone", unsolicited.items, is: [])
      probe.expect(after.bootID != before.bootID, "the boot id is the same")
      try await probe.expectWritten(first, "an old id after the restart")
      try await probe.expectWritten(second, "the next one")
      try await probe.expectHeld([Holding(1, first), Holding(2, second)], of: source, highest: 2)
    }

    Case(
      "NTF-23/broken-off", "A write that was cut off with its session is stored once when it is repeated",
      also: ["NTF-12", "LNK-14"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 1)
      let before = try await probe.readCount()
      let json = Sample.json(id: 1)
      for missing in [nil, 2, 0] as [Int?] {
        let write = try await probe.writePDU(json)
        try await probe.awaitRoom()
        let frame = probe.data(write, seq: probe.session.nextSeq).bytes
        let sent = missing.map { frame.count - $0 } ?? frame.count / 2
        // The frame, or its beginning, and another session before any answer is read.
        try await probe.write(Array(frame.prefix(sent)))
        try await probe.openDelivery(source: source)
        try await probe.expectWritten(json, "the write after \(sent) of \(frame.count) bytes")
      }
      try await probe.expectHeld([Holding(1, json)], of: source, highest: 1)
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before + 1)
    }

    Case(
      "NTF-23/answer-lost",
      "Writes whose answers were lost with the session are stored once when they are repeated",
      also: ["NTF-12", "NTF-31"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 6)
      let before = try await probe.readCount()
      let held = (1...6).map { Holding($0, Sample.json(id: $0, "number \($0)")) }
      for holding in held {
        let write = try await probe.writePDU(holding.json)
        try await probe.awaitRoom()
        try await probe.sendData(write)
        // The answer is not awaited.
        try await probe.openDelivery()
        try await probe.sync(Sync(source, known: holding.id - 1))
        try await probe.expectWritten(holding.json, "id \(holding.id) once more")
      }
      try await probe.expectHeld(held, of: source, highest: 6)
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before + 6)
    }
  }
}

import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// The order of refusals, writes that need no room, and the remaining bytes after a change.
extension Suite {
  static let storeRare = chapter(.delivery) {
    Case(
      "NTF-8/bad-json-first", "A full store answers 0x0D, 0x80 and 0x81 before 0x11, and takes changes",
      also: ["NTF-4", "NTF-23", "NTF-24", "ATT-13"], needs: [.control, .strict]
    ) { probe, bench in
      let source = try await bench.openAfterRestart()
      let first = Sample.json(id: 1, more: ",\"rev\":1,\"lvl\":3")
      try await probe.expectWritten(first)
      try await probe.fillStore()
      let rows: [(what: String, json: [UInt8], code: UInt8)] = [
        ("one too many", Sample.json("one too many"), 0x11),
        ("one too many with an id", Sample.json(id: 2, more: ",\"lvl\":0"), 0x11),
        ("bad JSON", [0x7B], 0x80), ("nothing", [], 0x80),
        ("a level of 4", Sample.json(id: 2, more: ",\"lvl\":4"), 0x80),
        ("no title", Array("{\"app\":\"a\",\"text\":\"b\",\"timestamp\":1}".utf8), 0x80),
        ("other bytes of the same rev", Sample.json(id: 1, "other", more: ",\"rev\":1"), 0x81),
        ("a lower rev", Sample.json(id: 1), 0x81), ("513 bytes", Sample.json(length: 513), 0x0D),
      ]
      for row in rows {
        let reply = try await probe.writeData(row.json)
        probe.expect("the answer to \(row.what)", reply, is: [0x01, 0x12, 6, 0, row.code])
      }
      try await probe.expectWritten(first, "the same again")
      let changed = Sample.json(id: 1, "changed", more: ",\"rev\":2,\"lvl\":3")
      try await probe.expectWritten(changed, "a change")
      try await probe.expectWritten(Sample.removal(id: 9), "the removal of a missing one")
      try await probe.expectHeld([Holding(1, changed)], of: source, highest: 1)
      try await probe.expectWritten(Sample.removal(id: 1), "a removal")
      // With none that could be evicted.
      try await probe.expectWritten(Sample.json("plain"), "one in its place")
      for row in rows where row.code != 0x81 {
        let reply = try await probe.writeData(row.json)
        probe.expect("the answer to \(row.what) without identities", reply, is: [0x01, 0x12, 6, 0, row.code])
      }
      try await probe.expectWritten(Sample.removal(id: 9), "the removal of what is not there")
      try await bench.requireControl().perform(.clear)
    }

    Case(
      "NTF-22/refused-forgets-none", "A write that a full store refuses forgets no src, and none is evicted",
      also: ["NTF-8", "NTF-23", "NTF-33"], needs: [.control, .strict]
    ) { probe, bench in
      let source = try await bench.openAfterRestart()
      try await probe.sync(Sync(source))
      try await probe.expectWritten(Sample.json(id: 7))
      try await probe.expectWritten(Sample.removal(id: 7))
      // The first is the oldest of at least four.
      for _ in 2...4 {
        let more = ",\"src\":\(probe.makeSource())"
        try await probe.expectWritten(Sample.json(id: 7, more: more))
        try await probe.expectWritten(Sample.removal(id: 7, more: more))
      }
      try await probe.fillStore()
      var unsolicited = Unsolicited()
      for _ in 0..<64 {
        let more = ",\"lvl\":3,\"src\":\(probe.makeSource())"
        let reply = try await probe.writeData(Sample.json(id: 1, more: more), unsolicited: &unsolicited)
        probe.expect("the answer of a full store", reply, is: Wire.literal("01 12 0600 11"))
      }
      probe.expect("the reports", unsolicited.items, is: [])
      try await probe.expectHeld([], of: source, highest: 7)
      try await bench.requireControl().perform(.clear)
    }

    Case(
      "NTF-22/refused-keeps-the-oldest",
      "A write of a further src that a full store refuses does not forget the src of longest ago",
      also: ["NTF-8", "NTF-25"], needs: [.strict]
    ) { probe, _ in
      let (source, filler) = (probe.makeSource(), probe.makeSource())
      try await probe.openDelivery()
      try await probe.requireStoreRoom(2)
      try await probe.sync(Sync(probe.makeSource()))
      let places = try await probe.pushOutSource()
      // The session's source has nothing stored, and is the next one that the device forgets.
      try await probe.sync(Sync(source))
      try await probe.expectWritten(Sample.json(id: 7))
      try await probe.expectWritten(Sample.removal(id: 7))
      _ = try await probe.pushOutSource(limit: places - 2)
      let of = { (source: UInt32) in ",\"src\":\(source)" }
      let held = try await probe.fillStore(as: filler)
      for _ in 0..<8 {
        let further = Sample.json(id: 1, more: ",\"lvl\":0" + of(probe.makeSource()))
        let reply = try await probe.writeData(further)
        probe.expect("the answer of a full store", reply, is: Wire.literal("01 12 0600 11"))
      }
      try await probe.expectHeld([], of: source, highest: 7)
      for id in 1...UInt32(held) { try await probe.expectWritten(Sample.removal(id: id, more: of(filler))) }
    }

    Case(
      "NTF-10/forgotten-by-sync",
      "Count is notified when a SYNC of a further src makes the device forget another's notifications",
      also: ["NTF-22"]
    ) { probe, _ in
      try await probe.openDelivery(source: probe.makeSource())
      try await probe.requireStoreRoom(1)
      try await probe.request(Wire.literal("12 0400 0100"))
      try await probe.expectWritten(Sample.json(id: 1))
      let before = try await probe.readCount()
      var count = before
      var unsolicited = Unsolicited()
      for _ in 0..<Probe.sourcesLimit where count == before {
        unsolicited = try await probe.listen()
        try await probe.sync(Sync(probe.makeSource()), unsolicited: &unsolicited)
        let value = try await probe.request(
          [0x0A, 3, 0], unsolicited: &unsolicited, file: #fileID, line: #line)
        count = Int(Wire.number(Array(value.dropFirst())))
      }
      guard count != before else {
        throw CaseEnd.skip("the device keeps more than \(Probe.sourcesLimit) writers")
      }
      try await probe.listen(into: &unsolicited)
      probe.expect("the last notification of Count", unsolicited.counts.last.map { Int($0) }, is: count)
    }

    Case(
      "NTF-27/forgotten-makes-room", "An expired notification without identity frees its room in the store",
      also: ["NTF-8", "NTF-10"], needs: [.control, .strict]
    ) { probe, bench in
      _ = try await bench.openAfterRestart()
      try await probe.openDelivery(clock: Sample.noon)
      let before = try await probe.readCount()
      let room = try probe.roomToFill(stored: before)
      guard room >= 3 else { throw CaseEnd.skip("the store has room for \(room) more, the case needs 3") }
      for index in 1...3 {
        try await probe.expectWritten(Sample.plain(expires: Sample.noon - 10), "expired one \(index)")
        try await probe.expectWritten(
          Sample.plain(expires: Sample.noon + 5000), "one that will expire \(index)")
      }
      let between = try await probe.readCount()
      probe.expect("Count with expired ones", between, is: before + 3)
      try await probe.fillStore()
      try await probe.openDelivery(clock: Sample.noon + 6000)
      let after = try await probe.readCount()
      probe.expect("Count after three have expired", after, is: before + room - 3)
      for index in 1...3 { try await probe.expectWritten(Sample.json("in its place"), "new one \(index)") }
      let full = try await probe.writeData(Sample.json("one too many"))
      probe.expect("the answer of a full store", full, is: Wire.literal("01 12 0600 11"))
      try await bench.requireControl().perform(.clear)
    }

    Case(
      "NTF-27/zone-offset", "CLOCK is in UTC: its zone offset does not affect exp", also: ["LNK-5"]
    ) { probe, _ in
      let noon = Sample.noon
      for zone in [60, -60, 840, -720, .max, .min, 0] as [Int16] {
        let source = probe.makeSource()
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce(), features: Probe.deliveryFeatures)
        try await probe.openWide(tlvs + [.source(source), .clock(noon, zoneMinutes: zone)])
        try probe.requireFeatures(Probe.deliveryFeatures)
        try await probe.requireStoreRoom(2)
        let before = try await probe.readCount()
        try await probe.expectWritten(Sample.json(id: 1, more: ",\"exp\":\(noon + 1500)"))
        try await probe.expectWritten(Sample.json(id: 2, more: ",\"exp\":\(noon - 30)"))
        let after = try await probe.readCount()
        probe.expect("Count at a zone offset of \(zone) minutes", after, is: before + 1)
        for id in [1, 2] as [UInt32] { try await probe.expectWritten(Sample.removal(id: id)) }
      }
    }

    Case(
      "NTF-23/change-of-length", "A change is compared completely: of any length, and with equal first bytes",
      also: ["NTF-32"], needs: [.strict]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 1)
      let text = { (count: Int) in String(repeating: "x", count: count) }
      for (index, length) in [300, 10, 11, 0, 150, 149, 1].enumerated() {
        let json = Sample.json(id: 1, text(length), more: ",\"rev\":\(index + 1)")
        try await probe.expectWritten(json, "rev \(index + 1)")
        try await probe.expectWritten(json, "rev \(index + 1) again")
        for other in [json + [0x20], json + [0x0A], [0x20] + json] {
          let reply = try await probe.writeData(other)
          probe.expect("the answer to additional white space", reply, is: Wire.literal("01 12 0600 81"))
        }
        try await probe.expectHeld([Holding(1, json)], of: source, highest: 1, "after rev \(index + 1)")
      }
    }

    Case(
      "NTF-33/during-sync", "An event that is dropped while SYNCED is pending still causes a RESYNC",
      also: ["NTF-31", "ATT-19"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      try probe.requireEventRoom()
      try await probe.expectWritten(Sample.json(id: 1))
      try await probe.openShut(features: Probe.deliveryFeatures)
      try await probe.grant(2)
      try await probe.request(Wire.literal("02 0502"))
      try await probe.request(Wire.literal("12 0700 0100"))
      try await probe.sendData(Sync(source, known: 1).bytes, channel: 0)
      _ = try await probe.fence()
      let count = 200
      for _ in 0..<count { try await control.perform(.action(1, 0)) }
      try await probe.grantAll()
      var unsolicited = Unsolicited()
      _ = try await probe.awaitSynced(unsolicited: &unsolicited)
      var behind = try await probe.listenUntilQuiet(for: .milliseconds(600))
      behind.items = unsolicited.items + behind.items
      let events = behind.actions(source, 1, act: 0)
      probe.expect(
        "messages, with \(events) of \(count) events", behind.messages, is: events < count ? [[3]] : [])
    }
  }
}

extension Probe {
  /// The largest store that a case fills.
  private static var fillLimit: Int { 2000 }

  /// The free places of the store.
  ///
  /// - Throws: `CaseEnd.skip` if that is not announced, or too many.
  func roomToFill(stored: Int) throws -> Int {
    guard let capacity = session.announced.number(of: 0x13).map({ Int($0) }),
      capacity > stored, capacity <= Self.fillLimit
    else { throw CaseEnd.skip("the room in the store is unknown, or too much to fill") }
    return capacity - stored
  }

  /// Fills the store with notifications that only a dismissal removes.
  func fillStore(file: String = #fileID, line: Int = #line) async throws {
    let stored = try await readCount()
    for index in 0..<(try roomToFill(stored: stored)) {
      try await expectWritten(Sample.json("filler"), "filler \(index)", file: file, line: line)
    }
  }
}

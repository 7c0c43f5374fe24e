import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// The effects of a change, the order of eviction and of forgetting, and the numbers of
/// notifications.
extension Suite {
  static let storeOrder =
    chapter(.delivery) {
      Case(
        "NTF-25/order",
        "The oldest of the lowest level is evicted first: by its latest level and by its time of acceptance",
        also: ["NTF-23", "NTF-26", "NTF-20"], needs: [.control, .strict]
      ) { probe, bench in
        let control = try bench.requireControl()
        let source = try await bench.openAfterRestart()
        try await probe.openDelivery(source: source, clock: Sample.noon)
        let capacity = Int(probe.session.announced.number(of: 0x13) ?? 0)
        let stored = try await probe.readCount()
        guard capacity >= stored + 12, capacity <= 2000 else {
          throw CaseEnd.skip("the store holds \(capacity), too many or too few to fill")
        }
        let leveled = { (id: UInt32, level: Int, more: String) in
          Sample.json(id: id, more: ",\"lvl\":\(level)\(more)")
        }
        var held: [UInt32: [UInt8]] = [:]
        let write = { (id: UInt32, level: Int) in
          let json = leveled(id, level, "")
          held[id] = json
          try await probe.expectWritten(json, "id \(id)")
        }
        // 1 and 2 make room for 3001 and 3002, which can then precede the others in the device's
        // memory.
        for (id, level) in [(1, 2), (2, 2), (3, 1), (4, 2), (5, 0)] as [(UInt32, Int)] {
          try await write(id, level)
        }
        held[6] = leveled(6, 0, ",\"exp\":\(Sample.noon - 10)")
        try await probe.expectWritten(leveled(6, 0, ",\"exp\":\(Sample.noon - 10)"), "one that has expired")
        held[7] = Sample.json(id: 7)
        try await probe.expectWritten(Sample.json(id: 7), "one without lvl")
        try await probe.expectWritten(
          Array("\(Sample.text("plain").dropLast()),\"lvl\":0}".utf8), "a plain one of level 0")
        for id in 9..<UInt32(capacity - stored + 1) { try await write(id, 2) }
        for id in [1, 2] as [UInt32] {
          try await probe.expectWritten(Sample.removal(id: id))
          held[id] = nil
        }
        try await write(3001, 0)
        try await write(3002, 1)
        for (id, level) in [(4, 0), (5, 2)] as [(UInt32, Int)] {
          held[id] = leveled(id, level, ",\"rev\":1")
          try await probe.expectWritten(leveled(id, level, ",\"rev\":1"), "a change of id \(id)")
        }
        // The level of each further one (nil: no lvl and no identity), and the one that it evicts.
        let steps: [(level: Int?, victim: UInt32?)] = [
          (0, nil), (nil, 4), (1, 6), (2, 3001), (2, 3), (2, 7), (2, 3002), (2, 4003), (2, nil), (1, nil),
          (3, 5),
          (3, 9),
        ]
        for (index, step) in steps.enumerated() {
          let id = 4001 + UInt32(index)
          let json = step.level.map { leveled(id, $0, "") } ?? Sample.json("plain")
          var unsolicited = Unsolicited()
          let reply = try await probe.writeData(json, unsolicited: &unsolicited)
          guard let victim = step.victim, index != 1 || reply == [0x13] else {
            probe.expect("the answer to step \(index)", reply, is: Wire.literal("01 12 0600 11"))
            probe.expect("reports at step \(index)", unsolicited.items, is: [])
            if step.victim == nil { continue }
            try await control.perform(.clear)
            throw CaseEnd.skip("the device does not evict")
          }
          probe.expect("the answer to step \(index)", reply, is: [0x13])
          probe.expect("ids evicted at step \(index)", unsolicited.goneIDs(source), is: [victim])
          probe.expect("notifications before the answer at step \(index)", unsolicited.beforeAnswer, is: [])
          probe.expect("events of id \(victim)", unsolicited.count("evicted", source, victim), is: 1)
          held[victim] = nil
          if step.level != nil { held[id] = json }
        }
        let holdings = held.map { Holding($0.key, $0.value) }
        try await probe.expectHeld(holdings, of: source, highest: held.keys.max() ?? 0)
        var again = Unsolicited()
        try await probe.sync(Sync(source), unsolicited: &again)
        let victims = steps.compactMap(\.victim)
        probe.expect("ids that are gone at SYNC", again.goneIDs(source).sorted(), is: victims.sorted())
        probe.expect(
          victims.allSatisfy { again.count("evicted", source, $0) == 1 }, "another reason is reported at SYNC"
        )
        let count = try await probe.readCount()
        probe.expect("Count", count, is: capacity)
        try await control.perform(.clear)
      }

      Case(
        "NTF-22/what-is-a-write",
        "Every successful write counts as one of its src, whatever it changes; a refused one does not",
        also: ["NTF-23", "NTF-24", "NTF-33"], needs: [.strict]
      ) { probe, _ in
        try await probe.openDelivery()
        try await probe.requireStoreRoom(6)
        let refused = Wire.literal("01 12 0600 81")
        let rows: [(what: String, json: (String) -> [UInt8], isWrite: Bool)] = [
          ("the same again", { Sample.json(id: 5, more: $0) }, true),
          ("a change", { Sample.json(id: 5, more: ",\"rev\":1" + $0) }, true),
          ("a new id", { Sample.json(id: 6, more: $0) }, true),
          ("an old id that is not stored", { Sample.json(id: 4, more: $0) }, true),
          ("a removal", { Sample.removal(id: 5, more: $0) }, true),
          ("the removal of a missing one", { Sample.removal(id: 9, more: $0) }, true),
          ("other bytes of the same rev", { Sample.json(id: 5, "other", more: $0) }, false),
          ("an invalid notification", { Sample.json(id: 7, more: ",\"lvl\":4" + $0) }, false),
        ]
        for row in rows {
          let (mine, other) = (probe.makeSource(), probe.makeSource())
          let of = { (source: UInt32) in ",\"src\":\(source)" }
          // The first of two writers to be forgotten is the session's, so that RESYNC reports it.
          try await probe.sync(Sync(mine))
          let order = row.isWrite ? [other, mine] : [mine, other]
          for source in order { try await probe.expectWritten(Sample.json(id: 5, more: of(source))) }
          let reply = try await probe.writeData(row.json(of(order[0])))
          if row.isWrite {
            probe.expect("the answer to \(row.what)", reply, is: [0x13])
          } else {
            probe.expect(
              reply.count == 5,
              "\(row.what) is answered by [\(Wire.hex(reply))], expected \(Wire.hex(refused))")
          }
          let pushed = try await probe.pushOutSource()
          let synced = try await probe.sync(Sync(other))
          probe.expect(
            synced.highest >= 5, "with \(row.what) the wrong one of two writers is forgotten first: \(synced)"
          )
          for source in [mine, other] {
            for id in [5, 6] as [UInt32] {
              try await probe.expectWritten(Sample.removal(id: id, more: of(source)))
            }
          }
          probe.expect(pushed >= 3, "a writer is forgotten for \(pushed) others, fewer than 3")
        }
      }

      Case(
        "NTF-22/forgotten-as-a-whole",
        "With a writer its notifications, hwm and gone notifications are forgotten, and nothing of another",
        also: ["NTF-23", "NTF-26", "NTF-33"]
      ) { probe, _ in
        for isLowerForgotten in [true, false] {
          let sources = [probe.makeSource(), probe.makeSource()].sorted()
          let (forgotten, kept) = isLowerForgotten ? (sources[0], sources[1]) : (sources[1], sources[0])
          try await probe.openDelivery(clock: Sample.noon)
          try await probe.requireStoreRoom(6)
          try await probe.sync(Sync(forgotten))
          // The same ids of both: one that stays, some that have expired and one that is changed.
          let of = { (source: UInt32) in ",\"src\":\(source)" }
          let expired = { (id: UInt32, source: UInt32) in
            Sample.json(id: id, more: ",\"exp\":\(Sample.noon - 10)" + of(source))
          }
          for source in [kept, forgotten] {
            try await probe.expectWritten(Sample.json(id: 5, more: of(source)))
            try await probe.expectWritten(expired(6, source))
          }
          try await probe.expectWritten(expired(7, forgotten))
          let changed = Sample.json(id: 5, more: ",\"rev\":1" + of(forgotten))
          try await probe.expectWritten(changed, "a change of the later one")
          var unsolicited = Unsolicited()
          let before = try await probe.sync(Sync(forgotten, known: 7), unsolicited: &unsolicited)
          let gone = [6, 7].map { Holding($0, expired($0, forgotten)) }
          let digest = Holding.digest(of: [Holding(5, changed)] + gone)
          probe.expect("digest of the changed one", before.digest, is: digest)
          probe.expect(
            "ids of the first writer that are gone", unsolicited.goneIDs(forgotten).sorted(), is: [6, 7])
          try await probe.expectWritten(Sample.json(id: 5, more: of(kept)), "the same again")
          _ = try await probe.pushOutSource()
          unsolicited = Unsolicited()
          let other = try await probe.sync(Sync(kept, known: 6), unsolicited: &unsolicited)
          probe.expect("n of the other writer", Int(other.count), is: 2)
          probe.expect("ids of the other writer that are gone", unsolicited.goneIDs(kept), is: [6])
          unsolicited = Unsolicited()
          let synced = try await probe.sync(Sync(forgotten, known: 7), unsolicited: &unsolicited)
          probe.expect("n of the forgotten writer", Int(synced.count), is: 0)
          probe.expect("hwm of the forgotten writer", synced.highest, is: 0)
          probe.expect("ids of the forgotten writer that are gone", unsolicited.goneIDs(forgotten), is: [])
          for id in [5, 6] as [UInt32] {
            try await probe.expectWritten(Sample.removal(id: id, more: of(kept)))
          }
        }
      }

      Case(
        "NTF-11/numbers-go-on",
        "Items are numbered through all sessions of a boot; only one accepted as new takes a number",
        also: ["NTF-12", "NTF-23", "NTF-26", "NTF-27"], needs: [.strict]
      ) { probe, _ in
        let source = probe.makeSource()
        try await probe.openDelivery(source: source, clock: Sample.noon)
        try probe.requireEventRoom()
        try await probe.requireStoreRoom(2)
        var id = 0 as UInt32
        // One that is expired when it arrives is reported at once, with its number.
        let number = {
          id += 1
          var unsolicited = Unsolicited()
          let json = Sample.json(id: id, more: ",\"exp\":\(Sample.noon - 10)")
          try await probe.writeData(json, unsolicited: &unsolicited)
          try await probe.expectWritten(Sample.removal(id: id))
          return try probe.require(unsolicited.items(source, id).first, "no event with an item for id \(id)")
        }
        var expected = try await number()
        let expectNext = { (what: String, taken: UInt32) in
          expected += taken + 1
          let seen = try await number()
          probe.expect("the number after \(what)", seen, is: expected)
          expected = seen
        }
        try await expectNext("another one", 0)
        try await probe.writeData(Array("{\"app\":\"no more than this\"}".utf8))
        try await probe.writeData(Sample.json(id: id + 1, more: ",\"lvl\":4"))
        try await expectNext("two that were refused", 0)
        try await probe.expectWritten(Sample.plain(expires: Sample.noon - 10))
        try await expectNext("one without identity", 1)
        id += 1
        try await probe.expectWritten(Sample.json(id: id))
        for more in ["", ",\"rev\":2", ",\"rev\":3,\"ev\":\"m\""] {
          try await probe.expectWritten(Sample.json(id: id, more: more))
        }
        try await probe.writeData(Sample.json(id: id, "other", more: ",\"rev\":3"))
        try await probe.writeData(Sample.json(id: id, more: ",\"rev\":1"))
        try await probe.expectWritten(Sample.removal(id: id))
        try await expectNext("one with changes, refused changes and its removal", 1)
        try await probe.expectWritten(Sample.json(id: 1), "an old id")
        try await probe.expectWritten(Sample.removal(id: 1))
        try await expectNext("an old id that was not stored", 0)
        try await probe.openDelivery(source: source, clock: Sample.noon)
        try await expectNext("another session", 0)
        try await probe.write(probe.frame(.fin))
        _ = try await probe.awaitFrame(.ack)
        try await probe.openDelivery(source: source, clock: Sample.noon)
        try await expectNext("a session that was closed", 0)
      }
    }
    + chapter(.notifications) {
      Case(
        "NTF-11/numbers-in-firmware-mode",
        "In firmware mode too, an invalid notification takes no number", also: ["NTF-9"],
        needs: [.firmwareMode, .control]
      ) { probe, bench in
        let control = try bench.requireControl()
        try await bench.restart()
        // A restart has ended the mode on some rigs.
        try await control.perform(.mode(.firmware))
        try await probe.openWide()
        try probe.requireEventRoom()
        try await probe.requireStoreRoom(1)
        try await probe.request(Wire.literal("12 0700 0100"))
        for input in ["{", "{\"app\":\"a\"}", ""] {
          let reply = try await probe.writeData(Array(input.utf8))
          probe.expect("the answer to an invalid one", reply, is: [0x13])
        }
        try await probe.writeData(Sample.json("the first one"))
        // The rig is allowed to refuse a missing one; the event has the number.
        var isDismissed = false
        for item in 1...8 as ClosedRange<UInt32> where !isDismissed {
          isDismissed = try await control.attempt(.dismiss(item)) == nil
        }
        guard isDismissed else { return probe.expect(false, "the device did not keep the first one") }
        let unsolicited = try await probe.listen()
        let text = unsolicited.events.first ?? ""
        probe.expect(Sample.isEvent(text, "dismissed", item: 1), "the event of the first one is \(text)")
      }
    }
}

extension Probe {
  /// The maximum number of sources of a device; a device with more is not tested.
  static var sourcesLimit: Int { 300 }

  /// Writes under new sources, each with one notification that is removed again, until the device
  /// has forgotten the session's. Returns how many were necessary.
  ///
  /// - Throws: `CaseEnd.skip` if the device keeps too many.
  func pushOutSource(limit: Int = .max, file: String = #fileID, line: Int = #line) async throws -> Int {
    for count in 1...Self.sourcesLimit {
      let more = ",\"src\":\(makeSource())"
      var unsolicited = Unsolicited()
      try await writeData(Sample.json(id: 1, more: more), unsolicited: &unsolicited, file: file, line: line)
      try await writeData(
        Sample.removal(id: 1, more: more), unsolicited: &unsolicited, file: file, line: line)
      if unsolicited.messages.contains([3]) { return count }
      if count == limit { return count }
    }
    throw CaseEnd.skip("the device keeps more than \(Self.sourcesLimit) writers")
  }
}

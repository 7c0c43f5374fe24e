import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Notifications that leave the display without their writer, and dropped events.
extension Suite {
  static let deliveryLeaving = chapter(.delivery) {
    Case(
      "NTF-25/full",
      "A full store answers 0x11, or evicts the oldest of the lowest level if that is lower, and reports it",
      also: ["NTF-8", "NTF-23", "NTF-26"], needs: [.control, .strict]
    ) { probe, bench in
      let source = try await bench.openAfterRestart()
      let capacity = Int(probe.session.announced.number(of: 0x13) ?? 0)
      let before = try await probe.readCount()
      guard capacity >= before + 4, capacity <= 2000 else {
        throw CaseEnd.skip("the store holds \(capacity), too many or too few to fill")
      }
      // A plain one, one of level 1 by default, two of level 0, and the rest of level 2.
      try await probe.expectWritten(Sample.json("plain"))
      var held = [Holding(1, Sample.json(id: 1)), Holding(2, Sample.json(id: 2, more: ",\"lvl\":0"))]
      held.append(Holding(3, Sample.json(id: 3, more: ",\"lvl\":0")))
      for index in 4..<(capacity - before) {
        held.append(Holding(UInt32(index), Sample.json(id: UInt32(index), more: ",\"lvl\":2")))
      }
      for holding in held { try await probe.expectWritten(holding.json, "notification \(holding.id)") }
      var id = UInt32(capacity) + 1
      var victims: [UInt32] = []
      // The ids that each level evicts; none if no level is lower. A refused id can be repeated: a
      // refusal changes nothing.
      for (level, victim) in [(0, nil), (1, 2), (1, 3), (1, nil), (2, 1), (3, nil)] as [(Int, UInt32?)] {
        // The last of these would evict one of those of level 1 that were written here.
        guard level < 3 else { break }
        let json = Sample.json(id: id, more: ",\"lvl\":\(level)")
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(json, unsolicited: &unsolicited)
        guard let victim, reply == [0x13] else {
          probe.expect(
            "the answer of a full store to level \(level)", reply, is: Wire.literal("01 12 0600 11"))
          probe.expect("notifications of it", unsolicited.items, is: [])
          continue
        }
        probe.expect(
          "ids reported evicted for level \(level)", unsolicited.count("evicted", source, victim), is: 1)
        probe.expect("ids reported gone for level \(level)", unsolicited.goneIDs(source), is: [victim])
        probe.expect("notifications before the answer for level \(level)", unsolicited.beforeAnswer, is: [])
        victims.append(victim)
        held.removeAll { $0.id == victim }
        held.append(Holding(id, json))
        id += 1
      }
      let highest = held.map(\.id).max() ?? 0
      try await probe.expectHeld(held, of: source, highest: highest)
      let after = try await probe.readCount()
      probe.expect("Count", after, is: capacity)
      var again = Unsolicited()
      try await probe.sync(Sync(source), unsolicited: &again)
      probe.expect("ids reported at SYNC", again.goneIDs(source).sorted(), is: victims.sorted())
      probe.expect(
        victims.allSatisfy { again.count("evicted", source, $0) == 1 }, "another reason is reported at SYNC")
    }

    Case(
      "NTF-25/replaced-keeps-its-age",
      "A full store evicts the oldest of the lowest level, even a replaced or expired one, and reports it as evicted",
      also: ["NTF-23", "NTF-26", "NTF-27"], needs: [.strict]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try await probe.requireStoreRoom(3)
      let stored = try await probe.readCount()
      let held = try await probe.fillStore(as: source)
      try await probe.expectWritten(
        Sample.json(id: 1, more: ",\"lvl\":0,\"rev\":1"), "a change of the oldest")
      let expired = Sample.json(id: 2, more: ",\"lvl\":0,\"rev\":1,\"exp\":\(Sample.noon - 10)")
      var atOnce = Unsolicited()
      let reply = try await probe.writeData(expired, unsolicited: &atOnce)
      probe.expect("the answer to a change of the next one, which expires", reply, is: [0x13])
      probe.expect("reports that it expired", atOnce.count("expired", source, 2), is: 1)
      var id = UInt32(held + 1)
      var victims: [UInt32] = [1, 2]
      if held >= 4 {
        try await probe.expectWritten(
          Sample.json(id: 3, more: ",\"lvl\":3,\"rev\":1"), "a change of the level")
        victims.append(4)
      }
      for victim in victims {
        var unsolicited = Unsolicited()
        var reply: [UInt8] = []
        // Those of other writers can be older.
        for _ in 0...stored where unsolicited.goneIDs(source).isEmpty {
          id += 1
          reply = try await probe.writeData(
            Sample.json(id: id, more: ",\"lvl\":1"), unsolicited: &unsolicited)
        }
        if reply != [0x13], unsolicited.items.isEmpty { throw CaseEnd.skip("the device does not evict") }
        probe.expect("ids evicted", unsolicited.goneIDs(source), is: [victim])
        probe.expect(
          "reports that \(victim) was evicted", unsolicited.count("evicted", source, victim), is: 1)
        var again = Unsolicited()
        let late = Sample.json(id: victim, more: ",\"lvl\":0,\"rev\":2")
        let answer = try await probe.writeData(late, unsolicited: &again)
        probe.expect("the answer to a write to \(victim)", answer, is: [0x13])
        probe.expect("ids reported because of it", again.goneIDs(source), is: [victim])
        probe.expect("reports that it was evicted", again.count("evicted", source, victim), is: 1)
      }
    }

    Case(
      "NTF-26/evicted-64", "64 evicted notifications are reported at SYNC", also: ["NTF-25", "NTF-31"],
      needs: [.strict]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source)
      try await probe.requireStoreRoom(3)
      let held = try await probe.fillStore(as: source)
      var id = UInt32(held)
      var ids: [UInt32] = []
      // Each level evicts those below it, those of other writers among them: the memory of 64 is
      // for all of them.
      for level in 1...3 {
        var reply: [UInt8] = [0x13]
        while reply == [0x13], id < UInt32(held) + 64 {
          id += 1
          var unsolicited = Unsolicited()
          reply = try await probe.writeData(
            Sample.json(id: id, more: ",\"lvl\":\(level)"), unsolicited: &unsolicited)
          ids += unsolicited.goneIDs(source)
        }
      }
      if ids.isEmpty { throw CaseEnd.skip("the device does not evict") }
      var again = Unsolicited()
      try await probe.sync(Sync(source), unsolicited: &again)
      probe.expect("ids reported at SYNC", again.goneIDs(source).sorted(), is: ids.sorted())
      let other = ids.first { again.count("evicted", source, $0) != 1 }
      probe.expect("an id without its reason", other, is: nil)
      for id in ids { try await probe.expectWritten(Sample.removal(id: id), "the removal") }
      var removed = Unsolicited()
      try await probe.sync(Sync(source), unsolicited: &removed)
      probe.expect("ids reported at SYNC after their removals", removed.goneIDs(source), is: [])
    }

    Case(
      "NTF-27/expires",
      "An expired notification is reported, no longer counted, and stays in n and digest until it is removed",
      also: ["NTF-26", "NTF-10", "NTF-32"]
    ) { probe, bench in
      let source = probe.makeSource()
      let noon = 1_800_000_000 as UInt64
      let seconds = bench.hasVirtualTime ? 60 : 4 as UInt64
      try await probe.openDelivery(source: source, clock: noon)
      try await probe.requireStoreRoom(2)
      try await probe.request(Wire.literal("12 0400 0100"))
      let soon = Sample.json(id: 1, more: ",\"exp\":\(noon + seconds)")
      let later = Sample.json(id: 2, more: ",\"exp\":\(noon + 4000)")
      try await probe.expectWritten(soon)
      try await probe.expectWritten(later)
      let before = try await probe.readCount()
      let early = try await probe.listen(for: .seconds(Int64(seconds)) - .milliseconds(1500))
      probe.expect("notifications before the time", early.events, is: [])
      let unsolicited = try await probe.listen(for: .seconds(bench.hasVirtualTime ? 2 : 3))
      probe.expect("events of the expired one", unsolicited.count("expired", source, 1), is: 1)
      probe.expect("the reported counts", unsolicited.counts, is: [UInt16(clamping: before - 1)])
      try await probe.expectHeld(
        [Holding(1, soon), Holding(2, later)], of: source, highest: 2, "with the expired one")
      var again = Unsolicited()
      try await probe.sync(Sync(source, known: 2), unsolicited: &again)
      probe.expect("events of it before SYNCED", again.count("expired", source, 1), is: 1)
      let changed = Sample.json(id: 1, more: ",\"rev\":1,\"exp\":\(noon + 9000)")
      try await probe.expectWritten(changed, "a change of the expired one")
      let hidden = try await probe.readCount()
      probe.expect("Count after a change of the expired one", hidden, is: before - 1)
      try await probe.expectHeld(
        [Holding(1, changed), Holding(2, later)], of: source, highest: 2, "with the changed one")
      try await probe.expectWritten(Sample.removal(id: 1), "the removal of the expired one")
      try await probe.expectHeld([Holding(2, later)], of: source, highest: 2, "without it")
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before - 1)
    }

    Case(
      "NTF-27/expired-when-written",
      "A notification that is expired when it arrives is stored, not shown, and reported",
      also: ["NTF-26", "NTF-23"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try await probe.requireStoreRoom(2)
      try await probe.request(Wire.literal("12 0400 0100"))
      let before = try await probe.readCount()
      var held: [Holding] = []
      for (id, exp) in [(1, Sample.noon - 10), (2, Sample.noon)] as [(UInt32, UInt64)] {
        let json = Sample.json(id: id, more: ",\"exp\":\(exp)")
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(json, unsolicited: &unsolicited)
        probe.expect("the answer", reply, is: [0x13])
        probe.expect("events of the expired one", unsolicited.count("expired", source, id), is: 1)
        probe.expect("notifications of Count", unsolicited.counts, is: [])
        held.append(Holding(id, json))
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
      try await probe.expectHeld(held, of: source, highest: 2)
    }

    Case(
      "NTF-27/without-identity",
      "An expired notification without identity is no longer counted, and not reported",
      also: ["NTF-10", "NTF-20"], needs: [.longWaits]
    ) { probe, _ in
      let noon = 1_800_000_000 as UInt64
      try await probe.openDelivery(source: probe.makeSource(), clock: noon)
      try await probe.requireStoreRoom(1)
      let before = try await probe.readCount()
      try await probe.expectWritten(Array("\(Sample.text("soon").dropLast()),\"exp\":\(noon + 5)}".utf8))
      let between = try await probe.readCount()
      probe.expect("Count before the time", between, is: before + 1)
      let unsolicited = try await probe.listen(for: .seconds(8))
      probe.expect("the notifications", unsolicited.items, is: [])
      let after = try await probe.readCount()
      probe.expect("Count after it", after, is: before)
    }

    Case(
      "NTF-33/once", "A device that dropped an event sends RESYNC, once until the next SYNC",
      also: ["ATT-19", "NTF-30", "NTF-31"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let (source, other) = (try await bench.openAfterRestart(), probe.makeSource())
      try probe.requireEventRoom()
      try await probe.expectWritten(Sample.json(id: 1))
      try await probe.expectWritten(Sample.json(id: 1, more: ",\"src\":\(other)"))
      try await probe.expectWritten(Sample.json("plain"))
      // Before the first SYNC there need not be any.
      try await probe.sync(Sync(source, known: 1))
      // Events of actions are remembered nowhere else; and nothing is acknowledged, so that most of
      // them are queued. The device decides how many it queues, at least 8.
      var count = 40
      // Of the session's src, of another one, and of none.
      for item in 1...(bench.hasVirtualTime ? 3 : 2) as ClosedRange<UInt32> {
        let actions = { (unsolicited: Unsolicited, act: UInt8) in
          unsolicited.events.filter { Sample.isEvent($0, "action", item: item, action: act) }.count
        }
        var unsolicited = Unsolicited()
        repeat {
          count *= item == 1 ? 2 : 1
          guard count <= 5120 else { throw CaseEnd.skip("the device queues \(count / 2) events") }
          for _ in 0..<count { try await control.perform(.action(item, 0)) }
          unsolicited = try await probe.listenUntilQuiet(for: .milliseconds(600))
        } while actions(unsolicited, 0) == count && item == 1
        let events = actions(unsolicited, 0)
        probe.expect(
          (8..<count).contains(events), "\(events) of \(count) events of item \(item) are reported")
        probe.expect("messages about item \(item)", unsolicited.messages, is: [[3]])
        for _ in 0..<count { try await control.perform(.action(item, 2)) }
        unsolicited = try await probe.listenUntilQuiet(for: .milliseconds(600))
        probe.expect(actions(unsolicited, 2) < count, "\(count) of \(count) events are reported")
        probe.expect("messages when more events were dropped", unsolicited.messages, is: [])
        for _ in 0..<2 { try await control.perform(.action(item, 1)) }
        unsolicited = try await probe.listen()
        probe.expect("events when there is room again", actions(unsolicited, 1), is: 2)
        probe.expect("messages before SYNC", unsolicited.messages, is: [])
        unsolicited = Unsolicited()
        try await probe.sync(Sync(source, known: 1), unsolicited: &unsolicited)
        probe.expect("notifications at SYNC", unsolicited.items, is: [])
      }
    }

    Case(
      "NTF-33/forgotten-src", "A device that forgets the src of the session sends RESYNC, after each SYNC",
      also: ["NTF-22", "NTF-31"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery()
      try await probe.requireStoreRoom(2)
      for round in 1...2 {
        try await probe.sync(Sync(source))
        let json = Sample.json(id: 1)
        try await probe.expectWritten(json)
        var unsolicited = Unsolicited()
        var others = 0
        while unsolicited.messages.isEmpty, others < 64 {
          let more = ",\"src\":\(probe.makeSource())"
          for json in [Sample.json(id: 1, more: more), Sample.removal(id: 1, more: more)] {
            let pdu = try await probe.writePDU(json, unsolicited: &unsolicited)
            _ = try await probe.request(pdu, unsolicited: &unsolicited, file: #fileID, line: #line)
          }
          others += 1
        }
        try await probe.listen(into: &unsolicited)
        let synced = try await probe.sync(
          Sync(source, known: 1, held: [Holding(1, json)]), unsolicited: &unsolicited)
        let isForgotten = synced.highest == 0
        let what = "after \(others) other writers, with hwm \(synced.highest), in round \(round)"
        probe.expect("messages \(what)", unsolicited.messages, is: isForgotten ? [[3]] : [])
        probe.expect("n \(what)", Int(synced.count), is: isForgotten ? 0 : 1)
        guard isForgotten else { break }
      }
    }
  }
}

extension Probe {
  /// Fills the store with notifications of level 0, which evict nothing, with ids from 1. Returns
  /// how many; expired ones of others take room without being counted.
  ///
  /// - Throws: `CaseEnd.skip` if there are fewer than 2 or too many.
  func fillStore(as source: UInt32, level: Int = 0) async throws -> Int {
    // A board takes some milliseconds for each.
    let limit = 2000
    let stored = try await readCount()
    guard let capacity = session.announced.number(of: 0x13), Int(capacity) - stored <= limit else {
      throw CaseEnd.skip("the store has room for more than \(limit), too many to fill")
    }
    let room = Int(capacity) - stored
    var held = 0
    var reply: [UInt8] = []
    repeat {
      let more = ",\"lvl\":\(level),\"src\":\(source)"
      reply = try await writeData(Sample.json(id: UInt32(held + 1), more: more))
      if reply == [0x13] { held += 1 }
    } while reply == [0x13] && held <= room
    expect("the answer after \(held) for \(room) places", reply, is: Wire.literal("01 12 0600 11"))
    guard held >= 2 else { throw CaseEnd.skip("the store takes \(held) more, the case needs 2") }
    return held
  }
}

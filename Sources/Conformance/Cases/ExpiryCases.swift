import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// When a notification expires, and the resulting state.
extension Suite {
  static let expiries = chapter(.delivery) {
    Case(
      "NTF-27/without-exp", "At its exp a notification is hidden; others, with a later exp or none, stay",
      also: ["NTF-10", "NTF-26", "NTF-32"]
    ) { probe, _ in
      let source = probe.makeSource()
      let noon = Sample.noon
      try await probe.openDelivery(source: source, clock: noon)
      try await probe.requireStoreRoom(4)
      let before = try await probe.readCount()
      let held = [("", 1), (",\"exp\":\(noon + 1000)", 2), (",\"exp\":\(noon + 5000)", 3)].map { more, id in
        Holding(id, Sample.json(id: id, more: more))
      }
      for holding in held { try await probe.expectWritten(holding.json) }
      try await probe.expectWritten(Sample.plain(expires: noon + 1000))
      let between = try await probe.readCount()
      probe.expect("Count before the time", between, is: before + 4)
      try await probe.openDelivery(source: source, clock: noon + 1000)
      let after = try await probe.readCount()
      probe.expect("Count at the exp of two of them", after, is: before + 2)
      var unsolicited = Unsolicited()
      let synced = try await probe.sync(Sync(source, known: 3, held: held), unsolicited: &unsolicited)
      probe.expect("ids that are reported gone", unsolicited.goneIDs(source), is: [2])
      probe.expect("events of the expired one", unsolicited.count("expired", source, 2), is: 1)
      probe.expect("digest", synced.digest, is: Holding.digest(of: held))
      // A write makes a device check all of them again.
      try await probe.expectWritten(Sample.json(id: 4))
      let behind = try await probe.listen()
      probe.expect("reports after it", behind.items, is: [])
      for id in 1...4 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
      let last = try await probe.readCount()
      probe.expect("Count when all are removed", last, is: before)
    }

    Case(
      "NTF-27/out-of-order", "Each notification expires at its own time, in whatever order they were written",
      also: ["NTF-26", "NTF-10"], needs: [.longWaits]
    ) { probe, bench in
      let source = probe.makeSource()
      let noon = Sample.noon
      try await probe.openDelivery(source: source, clock: noon)
      let start = probe.now
      try await probe.requireStoreRoom(6)
      let before = try await probe.readCount()
      // In virtual time five times as long.
      let unit = bench.hasVirtualTime ? 5 : 1 as UInt64
      for (id, seconds) in [(1, 60), (2, 20), (3, 40), (4, 8)] as [(UInt32, UInt64)] {
        try await probe.expectWritten(Sample.json(id: id, more: ",\"exp\":\(noon + seconds * unit)"))
      }
      try await probe.expectWritten(Sample.plain(expires: noon + 30 * unit))
      // The soonest is removed before its time, and the next one is changed to a later time.
      try await probe.expectWritten(Sample.removal(id: 4))
      try await probe.expectWritten(Sample.json(id: 3, more: ",\"rev\":1,\"exp\":\(noon + 50 * unit)"))
      var count = before + 4
      // The ids that expire at each second; the plain one is not reported.
      for (units, id) in [(20, 2), (24, 5), (30, nil), (50, 3), (60, 1)] as [(UInt64, UInt32?)] {
        let seconds = Int64(units * unit)
        if id == 5 {
          try await probe.expectWritten(Sample.json(id: 5, more: ",\"exp\":\(noon + units * unit)"))
          count += 1
        }
        let early = try await probe.listen(for: start + .milliseconds(seconds * 1000 - 1500) - probe.now)
        probe.expect("reports before second \(seconds)", early.events, is: [])
        let shown = try await probe.readCount()
        probe.expect("Count before second \(seconds)", shown, is: count)
        let unsolicited = try await probe.listen(
          for: start + .milliseconds(seconds * 1000 + 1500) - probe.now)
        probe.expect(
          "ids that expire at second \(seconds)", unsolicited.goneIDs(source), is: id.map { [$0] } ?? [])
        count -= 1
        let left = try await probe.readCount()
        probe.expect("Count after second \(seconds)", left, is: count)
      }
      probe.expect("Count at the end", count, is: before)
    }

    Case(
      "NTF-27/clock-of-64-bits", "CLOCK has 64 bits and a sign, and is clamped to the range of exp",
      also: ["LNK-5", "NTF-10"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source)
      try await probe.requireStoreRoom(1)
      let rows: [(clock: Int64, exp: UInt32, isHidden: Bool)] = [
        (1_800_000_000, 1_800_001_000, false), (1_800_000_000, 1_799_999_999, true), (1_800_000_000, 0, true),
        (1 << 32 + 1_800_000_000, 1_800_001_000, true), (1 << 32, .max, true), (1 << 32 - 1000, .max, false),
        (.max, .max, true), (-1000, 500, false), (-1000, 0, true), (-1 << 33, 500, false), (.min, 500, false),
        (0, 0, true), (0, 1000, false),
      ]
      do {
        for (index, row) in rows.enumerated() {
          let id = UInt32(index + 1)
          try await probe.openDelivery(source: source, clock: UInt64(bitPattern: row.clock))
          let before = try await probe.readCount()
          var unsolicited = Unsolicited()
          let reply = try await probe.writeData(
            Sample.json(id: id, more: ",\"exp\":\(row.exp)"), unsolicited: &unsolicited)
          probe.expect("the answer", reply, is: [0x13])
          let what = "with exp \(row.exp) at \(row.clock)"
          probe.expect("events \(what)", unsolicited.count("expired", source, id), is: row.isHidden ? 1 : 0)
          let after = try await probe.readCount()
          probe.expect("Count \(what)", after, is: before + (row.isHidden ? 0 : 1))
          try await probe.expectWritten(Sample.removal(id: id))
        }
      } catch {
        try? await probe.openDelivery(clock: Sample.noon)
        throw error
      }
      // Notifications of others on the device need a usual time.
      try await probe.openDelivery(clock: Sample.noon)
    }

    Case(
      "NTF-27/changed-exp", "A change sets its own exp: sooner, later, or none",
      also: ["NTF-23", "NTF-26", "NTF-10"]
    ) { probe, _ in
      let source = probe.makeSource()
      let noon = Sample.noon
      try await probe.openDelivery(source: source, clock: noon)
      try await probe.requireStoreRoom(6)
      let before = try await probe.readCount()
      let exp = { (seconds: Int64?) in seconds.map { ",\"exp\":\(Int64(noon) + $0)" } ?? "" }
      let changes: [(first: Int64?, then: Int64?)] = [
        (5000, -10), (nil, 0), (1000, 5000), (1000, nil), (5000, 1000), (1000, 1000),
      ]
      for (index, change) in changes.enumerated() {
        try await probe.expectWritten(Sample.json(id: UInt32(index + 1), more: exp(change.first)))
      }
      var unsolicited = Unsolicited()
      for (index, change) in changes.enumerated() {
        let json = Sample.json(id: UInt32(index + 1), more: ",\"rev\":1" + exp(change.then))
        try await probe.writeData(json, unsolicited: &unsolicited)
      }
      probe.expect("ids that are gone at once", unsolicited.goneIDs(source), is: [1, 2])
      probe.expect("events of id 1", unsolicited.count("expired", source, 1), is: 1)
      // Later sessions set later times.
      for (seconds, gone) in [(0, [1, 2]), (2000, [1, 2, 5, 6]), (6000, [1, 2, 3, 5, 6])]
        as [(UInt64, [UInt32])]
      {
        try await probe.openDelivery(source: source, clock: noon + seconds)
        var unsolicited = Unsolicited()
        let synced = try await probe.sync(Sync(source, known: 6), unsolicited: &unsolicited)
        probe.expect("ids that are gone \(seconds) s later", unsolicited.goneIDs(source).sorted(), is: gone)
        probe.expect("n", Int(synced.count), is: changes.count)
        let count = try await probe.readCount()
        probe.expect("Count \(seconds) s later", count, is: before + changes.count - gone.count)
      }
      for id in 1...6 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
    }

    Case(
      "NTF-27/no-clock",
      "A device that does not know the time hides nothing; expired ones are hidden when it does",
      also: ["NTF-26", "NTF-10"], needs: [.control]
    ) { probe, bench in
      let source = try await bench.openAfterRestart()
      let before = try await probe.readCount()
      // A time of this century, then the beginning of the range.
      for (index, exp) in [1_000_000_000, 0, 1].enumerated() {
        let id = UInt32(index + 1)
        var unsolicited = Unsolicited()
        try await probe.writeData(Sample.json(id: id, more: ",\"exp\":\(exp)"), unsolicited: &unsolicited)
        let count = try await probe.readCount()
        guard index > 0 || count > before else { throw CaseEnd.skip("the device knows the time on its own") }
        probe.expect("reports of exp \(exp)", unsolicited.items, is: [])
        probe.expect("Count with exp \(exp)", count, is: before + index + 1)
      }
      try await probe.openDelivery(source: source, clock: Sample.noon)
      let after = try await probe.readCount()
      probe.expect("Count when the time is known", after, is: before)
      var unsolicited = Unsolicited()
      try await probe.sync(Sync(source, known: 3), unsolicited: &unsolicited)
      probe.expect("ids that are gone", unsolicited.goneIDs(source).sorted(), is: [1, 2, 3])
      for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
    }

    Case(
      "NTF-27/hidden-from-the-user", "An expired notification can neither be dismissed nor acted upon",
      also: ["NTF-26", "NTF-32"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try await probe.requireStoreRoom(2)
      let (expired, shown) = (Sample.json(id: 1, more: ",\"exp\":\(Sample.noon - 10)"), Sample.json(id: 2))
      try await probe.expectWritten(expired)
      try await probe.expectWritten(shown)
      _ = try await probe.listen()
      for command in [DeviceCommand.dismiss(1), .action(1, 0)] {
        // The rig is allowed to report that there is no such notification.
        _ = try await control.attempt(command)
        let unsolicited = try await probe.listen()
        probe.expect("reports of \(command)", unsolicited.items, is: [])
      }
      try await probe.expectHeld([Holding(1, expired), Holding(2, shown)], of: source, highest: 2)
      try await control.perform(.clear)
      let unsolicited = try await probe.listen()
      probe.expect("ids that are dismissed with all the others", unsolicited.goneIDs(source), is: [2])
      var again = Unsolicited()
      let synced = try await probe.sync(Sync(source, known: 2), unsolicited: &again)
      probe.expect("digest", synced.digest, is: Holding.digest(of: [Holding(1, expired)]))
      probe.expect("events of the expired one at SYNC", again.count("expired", source, 1), is: 1)
      probe.expect("events of the dismissed one at SYNC", again.count("dismissed", source, 2), is: 1)
      for id in 1...2 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
    }

    Case(
      "NTF-26/any-of-several",
      "Each of several gone notifications can be written to, and removed, in any order",
      also: ["NTF-24", "NTF-27"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try await probe.requireStoreRoom(5)
      let json = { (id: UInt32, more: String) in
        Sample.json(id: id, more: ",\"exp\":\(Sample.noon - 10)\(more)")
      }
      var left = Array(1...5 as ClosedRange<UInt32>)
      for id in left { try await probe.expectWritten(json(id, "")) }
      _ = try await probe.listen()
      for id in [3, 5, 1, 4, 2] as [UInt32] {
        for more in ["", ",\"rev\":1"] {
          var unsolicited = Unsolicited()
          try await probe.writeData(json(id, more), unsolicited: &unsolicited)
          probe.expect("events of a write to id \(id)", unsolicited.count("expired", source, id), is: 1)
          probe.expect("all reports of it", unsolicited.items.count, is: 1)
        }
        try await probe.expectWritten(Sample.removal(id: id))
        left.removeAll { $0 == id }
        var unsolicited = Unsolicited()
        let synced = try await probe.sync(Sync(source, known: 5), unsolicited: &unsolicited)
        probe.expect("ids that are gone without \(id)", unsolicited.goneIDs(source).sorted(), is: left)
        probe.expect("n", Int(synced.count), is: left.count)
      }
    }

    Case(
      "NTF-27/after-its-session",
      "A notification of an ended session expires on time: in a session without CLOCK, and in none",
      also: ["NTF-26", "NTF-10"], needs: [.longWaits]
    ) { probe, _ in
      let source = probe.makeSource()
      let noon = Sample.noon
      try await probe.openDelivery(source: source, clock: noon)
      let start = probe.now
      try await probe.requireStoreRoom(5)
      let before = try await probe.readCount()
      for (id, seconds) in [(1, 30), (2, 60), (3, 90)] as [(UInt32, UInt64)] {
        try await probe.expectWritten(Sample.json(id: id, more: ",\"exp\":\(noon + seconds)"))
      }
      try await probe.expectWritten(Sample.plain(expires: noon + 45))
      // The ids that are gone between now and a moment after the first session began, and the
      // number of shown ones then.
      let expectGone = { (ids: [UInt32], milliseconds: Int64, shown: Int) in
        let unsolicited = try await probe.listen(for: start + .milliseconds(milliseconds) - probe.now)
        probe.expect("ids that are gone until \(milliseconds) ms", unsolicited.goneIDs(source), is: ids)
        let count = try await probe.readCount()
        probe.expect("Count at \(milliseconds) ms", count, is: before + shown)
      }
      let beSilent = { (milliseconds: Int64) in
        _ = try await probe.frames(for: start + .milliseconds(milliseconds) - probe.now)
      }
      try await expectGone([], 10_000, 4)
      // Ended by FIN; the time advances in the meantime.
      try await probe.write(probe.frame(.fin))
      try await beSilent(15_000)
      try await probe.openDelivery(source: source)
      try await expectGone([], 28_500, 4)
      try await expectGone([1], 31_500, 3)
      // A write makes a device check all of them again.
      try await probe.expectWritten(Sample.json(id: 4))
      // Ended by a SYN.
      try await probe.openDelivery(source: source)
      try await expectGone([], 43_500, 4)
      try await expectGone([], 46_500, 3)
      // Without a session from now on: nothing is sent, and the next session finds it done.
      try await probe.write(probe.frame(.fin))
      try await beSilent(62_000)
      try await probe.openDelivery()
      try await expectGone([], 63_000, 2)
      var unsolicited = Unsolicited()
      try await probe.sync(Sync(source, known: 4), unsolicited: &unsolicited)
      probe.expect("ids that are gone at SYNC", unsolicited.goneIDs(source).sorted(), is: [1, 2])
      // Ended by silence.
      try await beSilent(75_000)
      try await probe.openDelivery()
      try await expectGone([], 88_500, 2)
      try await expectGone([3], 91_500, 1)
      try await probe.sync(Sync(source))
      for id in 1...4 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
    }
  }
}

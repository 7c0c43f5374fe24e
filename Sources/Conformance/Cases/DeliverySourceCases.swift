import NotibotProtocol
import SuiteWire

/// The source of a notification, and the number of writers.
extension Suite {
  static let deliverySources = chapter(.delivery) {
    Case(
      "NTF-21/src-of-syn", "Without the key and without SYNC, a notification belongs to the SRC of the SYN",
      also: ["LNK-5"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 1)
      let json = Sample.json(id: 1)
      try await probe.expectWritten(json)
      try await probe.expectHeld([Holding(1, json)], of: source, highest: 1)
    }

    Case(
      "NTF-21/src-of-sync", "After a SYNC, a notification belongs to its src; the latest SYNC counts",
      also: ["NTF-31"]
    ) { probe, _ in
      let (ofSYN, first, second) = (probe.makeSource(), probe.makeSource(), probe.makeSource())
      try await probe.openDelivery(source: ofSYN)
      try await probe.requireStoreRoom(2)
      try await probe.sync(Sync(first))
      let one = Sample.json(id: 1, "of the first")
      try await probe.expectWritten(one)
      try await probe.sync(Sync(second))
      let two = Sample.json(id: 1, "of the second")
      try await probe.expectWritten(two)
      try await probe.expectHeld([], of: ofSYN, highest: 0, "of the SYN's SRC")
      try await probe.expectHeld([Holding(1, one)], of: first, highest: 1, "of the first SYNC's src")
      try await probe.expectHeld([Holding(1, two)], of: second, highest: 1, "of the second SYNC's src")
    }

    Case(
      "NTF-21/src-key", "The key src determines the source of a notification, whatever the session's source",
      also: ["NTF-20", "NTF-24"]
    ) { probe, _ in
      let (session, other) = (probe.makeSource(), probe.makeSource())
      try await probe.openDelivery(source: session)
      try await probe.requireStoreRoom(2)
      try await probe.sync(Sync(session))
      let mine = Sample.json(id: 1, "of the session")
      let theirs = Sample.json(id: 1, "of another", more: ",\"src\":\(other)")
      try await probe.expectWritten(mine)
      try await probe.expectWritten(theirs)
      try await probe.expectHeld([Holding(1, mine)], of: session, highest: 1, "of the session")
      try await probe.expectHeld([Holding(1, theirs)], of: other, highest: 1, "of the key")
      try await probe.expectWritten(Sample.removal(id: 1, more: ",\"src\":\(session)"), "a removal with src")
      try await probe.expectHeld([Holding(1, theirs)], of: other, highest: 1, "of the key after the removal")
      try await probe.expectHeld([], of: session, highest: 1, "of the session after the removal")
    }

    Case(
      "NTF-21/no-src",
      "id without key, SYNC and SRC is refused with 0x80, a SRC of 0 counts as none; a SYNC fixes it",
      also: ["LNK-5"], needs: [.strict]
    ) { probe, _ in
      for zero in [nil, 0] as [UInt32?] {
        let source = probe.makeSource()
        try await probe.openDelivery(source: zero)
        try await probe.requireStoreRoom(2)
        let before = try await probe.readCount()
        for json in [Sample.json(id: 1), Sample.removal(id: 1)] {
          let reply = try await probe.writeData(json)
          probe.expect("the answer without a src", reply, is: Wire.literal("01 12 0600 80"))
        }
        let after = try await probe.readCount()
        probe.expect("Count", after, is: before)
        let keyed = Sample.json(id: 1, more: ",\"src\":\(source)")
        try await probe.expectWritten(keyed, "a notification with the key")
        try await probe.sync(Sync(source))
        let plain = Sample.json(id: 2)
        try await probe.expectWritten(plain, "a notification after SYNC")
        try await probe.expectHeld([Holding(1, keyed), Holding(2, plain)], of: source, highest: 2)
      }
    }

    Case(
      "NTF-21/src-ends-with-session", "The src of a SYNC or SYN ends with its session", also: ["NTF-31"],
      needs: [.strict]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source)
      try await probe.sync(Sync(source))
      try await probe.openDelivery()
      let reply = try await probe.writeData(Sample.json(id: 1))
      probe.expect("the answer in a session without a src", reply, is: Wire.literal("01 12 0600 80"))
      let other = probe.makeSource()
      try await probe.openDelivery(source: other)
      try await probe.requireStoreRoom(1)
      let json = Sample.json(id: 1)
      try await probe.expectWritten(json)
      try await probe.expectHeld([], of: source, highest: 0, "of the session before")
      try await probe.expectHeld([Holding(1, json)], of: other, highest: 1, "of the new SYN")
    }

    Case(
      "NTF-22/four-sources", "Four writers have separate notifications and ids", also: ["NTF-32"]
    ) { probe, _ in
      let sources = (1...4).map { _ in probe.makeSource() }
      try await probe.openDelivery()
      try await probe.requireStoreRoom(4)
      var held: [Holding] = []
      for (index, source) in sources.enumerated() {
        let id = UInt32(10 - index)
        let json = Sample.json(id: id, "of \(index)", more: ",\"src\":\(source)")
        try await probe.expectWritten(json)
        held.append(Holding(id, json))
      }
      for (source, holding) in zip(sources, held) {
        try await probe.expectHeld([holding], of: source, highest: holding.id)
      }
    }

    Case(
      "NTF-22/fifth-source",
      "Another writer replaces the one written or synced least recently, with all its state", also: ["NTF-10"]
    ) { probe, _ in
      let sources = (1...5).map { _ in probe.makeSource() }
      try await probe.openDelivery()
      try await probe.requireStoreRoom(5)
      let json = sources.map { Sample.json(id: 7, more: ",\"src\":\($0)") }
      for index in 0..<4 { try await probe.expectWritten(json[index]) }
      let before = try await probe.readCount()
      // Written first, but synced last: the second is the oldest now.
      try await probe.sync(Sync(sources[0]))
      try await probe.expectWritten(json[4])
      let after = try await probe.readCount()
      for index in [0, 4, 3, 2] {
        try await probe.expectHeld(
          [Holding(7, json[index])], of: sources[index], highest: 7, "of writer \(index)")
      }
      let oldest = try await probe.sync(Sync(sources[1]))
      let isForgotten = oldest.count == 0 && oldest.highest == 0
      probe.expect(
        isForgotten || oldest.count == 1 && oldest.highest == 7, "half forgotten: \(oldest)")
      probe.expect("Count with the fifth", after, is: isForgotten ? before : before + 1)
    }

    Case(
      "NTF-22/hwm-per-source", "An id that is old for one writer is new for another", also: ["NTF-23"]
    ) { probe, _ in
      let (first, second) = (probe.makeSource(), probe.makeSource())
      try await probe.openDelivery()
      try await probe.requireStoreRoom(4)
      try await probe.expectWritten(Sample.json(id: 1_000_000, more: ",\"src\":\(first)"))
      let json = Sample.json(id: 1, more: ",\"src\":\(second)")
      var unsolicited = Unsolicited()
      try await probe.writeData(json, unsolicited: &unsolicited)
      probe.expect("the notifications", unsolicited.events, is: [])
      try await probe.expectHeld([Holding(1, json)], of: second, highest: 1)
      // Both are known by now.
      try await probe.expectWritten(Sample.json(id: 1_000_001, more: ",\"src\":\(first)"))
      let next = Sample.json(id: 2, more: ",\"src\":\(second)")
      try await probe.expectWritten(next)
      try await probe.expectHeld([Holding(1, json), Holding(2, next)], of: second, highest: 2)
    }

    Case(
      "NTF-22/removal-takes-no-place", "A removal under an unknown src does not replace another src",
      also: ["NTF-24"]
    ) { probe, _ in
      let sources = (1...4).map { _ in probe.makeSource() }
      try await probe.openDelivery()
      try await probe.requireStoreRoom(1)
      let json = Sample.json(id: 7, more: ",\"src\":\(sources[0])")
      try await probe.expectWritten(json)
      // With these the smallest device has no place left, and the first of the four is the oldest.
      for source in sources.dropFirst() { try await probe.sync(Sync(source)) }
      for _ in 0..<64 {
        let more = ",\"src\":\(probe.makeSource())"
        try await probe.expectWritten(Sample.removal(id: 7, more: more), "a removal")
      }
      try await probe.expectHeld([Holding(7, json)], of: sources[0], highest: 7)
      try await probe.expectWritten(Sample.removal(id: 7))
    }

    Case(
      "NTF-22/syn-is-no-write", "The SRC of a SYN does not make its src the latest one", also: ["LNK-5"]
    ) { probe, _ in
      try await probe.openDelivery()
      try await probe.requireStoreRoom(1)
      try await probe.sync(Sync(probe.makeSource()))
      let others = try await probe.pushOutSource()
      let source = probe.makeSource()
      for json in [
        Sample.json(id: 1, more: ",\"src\":\(source)"), Sample.removal(id: 1, more: ",\"src\":\(source)"),
      ] {
        try await probe.expectWritten(json)
      }
      // With the SYN as a write the writer of this SYNC would be forgotten instead.
      try await probe.sync(Sync(probe.makeSource()))
      try await probe.openDelivery(source: source)
      for _ in 1..<others { try await probe.sync(Sync(probe.makeSource())) }
      let synced = try await probe.sync(Sync(source))
      probe.expect("hwm of a src in a SYN, after SYNCs of \(others) others", synced.highest, is: 0)
    }

    Case(
      "NTF-22/forgotten-frees-room",
      "A further writer in a full store takes the room of the one that is forgotten, and evicts nothing",
      also: ["NTF-8", "NTF-25"], needs: [.strict]
    ) { probe, _ in
      try await probe.openDelivery()
      try await probe.requireStoreRoom(2)
      try await probe.sync(Sync(probe.makeSource()))
      let others = try await probe.pushOutSource()
      let held = try await probe.fillStore(as: probe.makeSource())
      for _ in 1..<others { try await probe.sync(Sync(probe.makeSource())) }
      let before = try await probe.readCount()
      var unsolicited = Unsolicited()
      let json = Sample.json(id: 1, more: ",\"lvl\":3,\"src\":\(probe.makeSource())")
      let reply = try await probe.writeData(json, unsolicited: &unsolicited)
      probe.expect("the answer to the further writer", reply, is: [0x13])
      probe.expect("reports", unsolicited.items, is: [])
      let after = try await probe.readCount()
      probe.expect("Count without the forgotten \(held)", after, is: before - held + 1)
    }

    Case(
      "NTF-22/forgotten-hidden-frees-room",
      "A further writer takes the room of a writer whose notifications are all hidden",
      also: ["NTF-8", "NTF-25", "NTF-27"], needs: [.strict]
    ) { probe, _ in
      try await probe.openDelivery(clock: Sample.noon)
      try await probe.requireStoreRoom(3)
      try await probe.sync(Sync(probe.makeSource()))
      let places = try await probe.pushOutSource()
      let (hidden, filling) = (probe.makeSource(), probe.makeSource())
      try await probe.expectWritten(Sample.json(id: 1, more: ",\"lvl\":3,\"exp\":1,\"src\":\(hidden)"))
      let held = try await probe.fillStore(as: filling, level: 3)
      for _ in 2..<places { try await probe.sync(Sync(probe.makeSource())) }
      let before = try await probe.readCount()
      var unsolicited = Unsolicited()
      let json = Sample.json(id: 1, more: ",\"lvl\":3,\"src\":\(probe.makeSource())")
      let reply = try await probe.writeData(json, unsolicited: &unsolicited)
      probe.expect("the answer to the further writer", reply, is: [0x13])
      probe.expect("reports", unsolicited.items, is: [])
      let after = try await probe.readCount()
      probe.expect("Count with the further one", after, is: before + 1)
      let synced = try await probe.sync(Sync(filling))
      probe.expect("n of the src that fills the store", Int(synced.count), is: held)
    }
  }
}

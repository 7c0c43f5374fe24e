import NotibotProtocol
import SuiteWire

/// What a device forgets because its memory is full, and what it sends then.
extension Suite {
  static let deliveryMemory = chapter(.delivery) {
    Case(
      "NTF-33/forgotten-gone",
      "Beyond 64 that are gone the oldest are forgotten, with one RESYNC if they are of the session's src",
      also: ["NTF-26", "NTF-31"]
    ) { probe, _ in
      let (session, source) = (probe.makeSource(), probe.makeSource())
      try await probe.openDelivery(source: session, clock: Sample.noon)
      let count = UInt32(try await probe.storeRoom(67...150))
      try await probe.sync(Sync(session))
      let more = ",\"exp\":\(Sample.noon - 10),\"src\":\(source)"
      var id: UInt32 = 0
      let write = { (last: UInt32, unsolicited: inout Unsolicited) in
        while id < last, !unsolicited.messages.contains([3]) {
          id += 1
          let pdu = try await probe.writePDU(Sample.json(id: id, more: more), unsolicited: &unsolicited)
          let reply = try probe.judged(
            try await probe.request(pdu, unsolicited: &unsolicited, file: #fileID, line: #line))
          probe.expect("the answer to expired notification \(id)", reply, is: [0x13])
        }
      }
      var others = Unsolicited()
      // The first one goes last.
      let first = Sample.json(id: 1, more: ",\"src\":\(source)")
      try await probe.expectWritten(first)
      id = 1
      try await write(count - 3, &others)
      try await probe.writeData(Sample.json(id: 1, more: ",\"rev\":1" + more), unsolicited: &others)
      var gone = Array((1...id).dropFirst()) + [1]
      try await probe.listen(into: &others)
      probe.expect("RESYNCs for another src", others.messages.filter { $0 == [3] }, is: [])
      var isFull = false
      for round in 1...2 {
        var reports = Unsolicited()
        try await probe.sync(Sync(source, known: id), unsolicited: &reports)
        let ids = reports.goneIDs(source)
        let what = "at SYNC \(round)"
        // At least 64, and the latest ones.
        let remembered = max(min(ids.count, gone.count), min(64, gone.count))
        probe.expect("ids reported \(what)", ids.sorted(), is: gone.suffix(remembered).sorted())
        probe.expect("RESYNCs \(what)", reports.messages.filter { $0 == [3] }, is: [])
        guard round == 1 else { break }
        isFull = remembered < gone.count
        var further = Unsolicited()
        // Up to the first RESYNC, and one more.
        try await write(count - 1, &further)
        var last = Unsolicited()
        try await write(id + 1, &last)
        gone += (UInt32(gone.count) + 1)...id
        try await probe.listen(into: &last)
        let resyncs = (further.messages + last.messages).filter { $0 == [3] }
        probe.expect(
          "RESYNCs when \(remembered) of \(count - 3) are remembered", resyncs.count,
          is: isFull ? 1 : resyncs.count)
        probe.expect(resyncs.count <= 1, "\(resyncs.count) RESYNCs without a SYNC in between")
      }
      for id in 1...id { try await probe.expectWritten(Sample.removal(id: id, more: ",\"src\":\(source)")) }
    }

    Case(
      "NTF-33/oldest-of-other",
      "RESYNC comes when something of the session's src is forgotten, not with the older one of another src",
      also: ["NTF-26", "NTF-31"]
    ) { probe, _ in
      let (source, other) = (probe.makeSource(), probe.makeSource())
      try await probe.openDelivery(source: source, clock: Sample.noon)
      let count = UInt32(try await probe.storeRoom(67...80)) - 1
      try await probe.sync(Sync(source))
      let more = ",\"exp\":\(Sample.noon - 10)"
      let otherSource = ",\"src\":\(other)"
      var unsolicited = Unsolicited()
      try await probe.writeData(Sample.json(id: 1, more: otherSource + more), unsolicited: &unsolicited)
      var id: UInt32 = 0
      while id < count, !unsolicited.messages.contains([3]) {
        id += 1
        try await probe.writeData(Sample.json(id: id, more: more), unsolicited: &unsolicited)
      }
      try await probe.listen(into: &unsolicited)
      var reports = Unsolicited()
      try await probe.sync(Sync(source, known: id), unsolicited: &reports)
      // One that is forgotten, but still stored, can be reported as dismissed.
      let isComplete = (1...id).allSatisfy { reports.count("expired", source, $0) > 0 }
      probe.expect(
        "whether RESYNC came before a SYNC that \(isComplete ? "reports all" : "lacks something")",
        unsolicited.messages.contains([3]), is: !isComplete)
      for id in 1...id { try await probe.expectWritten(Sample.removal(id: id)) }
      try await probe.expectWritten(Sample.removal(id: 1, more: otherSource))
    }

    Case(
      "NTF-30/overflow-without-bit", "Without feature bit 2 dropped reports cause no message on channel 0",
      also: ["ATT-19", "NTF-26", "NTF-33"]
    ) { probe, _ in
      var (source, count): (UInt32, UInt32) = (0, 0)
      try await probe.openShutAtNoon(features: 0b0011) { noon in
        source = probe.makeSource()
        try await probe.openDelivery(source: source, clock: noon - 1000)
        try probe.requireEventRoom()
        count = UInt32(try await probe.storeRoom(1...40))
        for id in 1...count {
          try await probe.expectWritten(Sample.json(id: id, more: ",\"exp\":\(noon + 1)"))
        }
        return source
      }
      let early = try await probe.listen(for: .milliseconds(2300))
      probe.expect("notifications without credit", early.items, is: [])
      try await probe.grantAll()
      let sent = try await probe.listenUntilQuiet(for: .milliseconds(100))
      probe.expect("messages", sent.messages, is: [])
      let reported = sent.goneIDs(source)
      probe.expect("ids reported", reported, is: Array(1...count).filter(Set(reported).contains))
      probe.expect(reported.count >= min(8, Int(count)), "\(reported.count) of \(count) reports are sent")
      try await probe.openDelivery(source: source, clock: Sample.noon)
      for id in 1...count { try await probe.expectWritten(Sample.removal(id: id)) }
    }

    Case(
      "NTF-33/forgotten-by-new-sync", "A SYNC of a new src causes no RESYNC for the src that it pushes out",
      also: ["NTF-22"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      try await probe.sync(Sync(source))
      let places = try await probe.pushOutSource()
      probe.expect(
        places >= 4, "\(places) other writers push out the src of the session, at least 4 are kept")
      try await probe.sync(Sync(source))
      try await probe.expectWritten(Sample.json(id: 1))
      _ = try await probe.pushOutSource(limit: places - 1)
      var unsolicited = Unsolicited()
      try await probe.sync(Sync(probe.makeSource()), unsolicited: &unsolicited)
      try await probe.listen(into: &unsolicited)
      probe.expect("messages around SYNCED", unsolicited.messages, is: [])
      let synced = try await probe.sync(Sync(source))
      // Or the places are not those of the first time, and nothing was seen.
      probe.expect("hwm of the src that was pushed out", synced.highest, is: 0)
    }

    Case(
      "NTF-33/second-time",
      "A src that is forgotten a second time before the next SYNC causes no second RESYNC",
      also: ["NTF-22", "NTF-31"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      try await probe.sync(Sync(source))
      let places = try await probe.pushOutSource()
      for isSynced in [false, true] {
        if isSynced { try await probe.sync(Sync(source)) }
        // Known again.
        try await probe.expectWritten(Sample.json(id: isSynced ? 2 : 1))
        var unsolicited = Unsolicited()
        for _ in 1...places {
          let more = ",\"src\":\(probe.makeSource())"
          try await probe.writeData(Sample.json(id: 1, more: more), unsolicited: &unsolicited)
          try await probe.writeData(Sample.removal(id: 1, more: more), unsolicited: &unsolicited)
        }
        probe.expect(
          "messages \(isSynced ? "after" : "before") the next SYNC", unsolicited.messages,
          is: isSynced ? [[3]] : [])
      }
    }

    Case(
      "NTF-8/answers-when-full",
      "A full store answers what is wrong as an empty one does; a notification in the place of another keeps Count",
      also: ["NTF-10", "NTF-22", "NTF-23", "NTF-25", "NTF-26"], needs: [.strict]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try await probe.requireStoreRoom(4)
      try await probe.sync(Sync(source))
      let places = try await probe.pushOutSource()
      let others = try await probe.readCount()
      // The oldest of level 0, but it has no identity.
      try await probe.expectWritten(
        probe.expiring(Array("\(Sample.text("plain").dropLast()),\"lvl\":0}".utf8)))
      let held = UInt32(try await probe.fillStore(as: source))
      let full = try await probe.readCount()
      try await probe.request(Wire.literal("12 0400 0100"))
      let next = held + 1
      let filling = ",\"lvl\":0,\"src\":\(source)"
      let answers: [(what: String, json: [UInt8], code: UInt8)] = [
        ("no JSON", [0x7B], 0x80),
        ("no title", Array("{\"app\":\"\",\"text\":\"\",\"timestamp\":1}".utf8), 0x80),
        ("level 4", Sample.json(id: next, more: ",\"lvl\":4"), 0x80),
        ("513 bytes", Sample.json(length: 513), 0x0D),
        ("the same rev with other bytes", Sample.json(id: 1, "other"), 0x81),
        ("the same again", Sample.json(id: 1, more: filling), 0),
        ("a change", Sample.json(id: 1, more: filling + ",\"rev\":1"), 0),
        ("a lower rev", Sample.json(id: 1, more: filling), 0x81),
        ("one more of level 0", Sample.json(id: next, more: ",\"lvl\":0"), 0x11),
      ]
      var unsolicited = Unsolicited()
      for row in answers {
        let reply = try await probe.writeData(row.json, unsolicited: &unsolicited)
        let answer = row.code == 0 ? [0x13] : [0x01, 0x12, 6, 0, row.code]
        probe.expect("the answer to \(row.what)", reply, is: answer)
      }
      probe.expect("notifications after them", unsolicited.items, is: [])
      // Without lvl it has level 1, too.
      let reply = try await probe.writeData(
        Sample.json(id: next, more: ",\"lvl\":1"), unsolicited: &unsolicited)
      let isEvicting = reply == [0x13]
      let answer: [UInt8] = isEvicting ? [0x13] : [0x01, 0x12, 6, 0, 0x11]
      probe.expect("the answer to one of level 1", reply, is: answer)
      let again = try await probe.writeData(Sample.json(id: next + 1), unsolicited: &unsolicited)
      probe.expect("the answer to one without lvl", again, is: answer)
      // Those of other writers can be older.
      if others == 0 {
        probe.expect("ids evicted", unsolicited.goneIDs(source), is: isEvicting ? [1, 2] : [])
      }
      probe.expect("values of Count", unsolicited.counts, is: [])
      let count = try await probe.readCount()
      probe.expect("Count", count, is: full)
      // What is gone and not stored any more is forgotten with its src, too.
      for _ in 0..<places { try await probe.sync(Sync(probe.makeSource())) }
      var reports = Unsolicited()
      let synced = try await probe.sync(Sync(source), unsolicited: &reports)
      probe.expect("hwm of the src that was pushed out", synced.highest, is: 0)
      probe.expect("ids reported of it", reports.goneIDs(source), is: [])
    }
  }
}

import NotibotProtocol
import SuiteWire

/// Cases where one sentence of PROTOCOL.md decides between two interpretations: identity, time and
/// gone notifications.
extension Suite {
  static let deliveryDetails =
    chapter(.notifications) {
      Case(
        "NTF-4/whole-document",
        "Invalid JSON is also refused in ignored keys and their values", also: ["NTF-5"], needs: [.strict]
      ) { probe, _ in
        try await probe.openWide()
        let before = try await probe.readCount()
        for member in [
          #""x":"\u0000""#, #""\u0000":1"#, #""x":{"\u0000":1}"#, #""x":[["\u0000"]]"#, #""x":["\ud800"]"#,
          "\"x\":\"\u{0}\"",
          "\"x\":[\"\u{1}\"]", #""x":{"a":01}"#, #""x":"\uFFFG""#,
        ] {
          let json = Array("\(Sample.text("zero").dropLast()),\(member)}".utf8)
          let reply = try await probe.writeData(json)
          probe.expect("the answer to \(member)", reply, is: Wire.literal("01 12 0600 80"))
        }
        let after = try await probe.readCount()
        probe.expect("Count", after, is: before)
      }
    }
    + chapter(.delivery) {
      Case(
        "NTF-22/sync-takes-a-place",
        "A src that was only synced takes a place, the SRC of a SYN takes none", also: ["NTF-33"],
        needs: [.control]
      ) { probe, bench in
        _ = try await bench.restart()
        let (kept, unused) = (probe.makeSource(), probe.makeSource())
        try await probe.openDelivery(source: unused)
        try await probe.requireStoreRoom(1)
        let json = Sample.json(id: 1, more: ",\"src\":\(kept)")
        try await probe.expectWritten(json)
        // With three more that write nothing, the places of the smallest device are used up,
        // whatever the SRC.
        for _ in 0..<3 { try await probe.sync(Sync(probe.makeSource())) }
        try await probe.openDelivery(source: probe.makeSource())
        var others = 0
        var holder = try await probe.sync(Sync(kept))
        probe.expect("n of the first of four", Int(holder.count), is: 1)
        // It was synced last: four more replace it if there are four places, each by SYNC alone.
        while others < 64, holder.count == 1 {
          for _ in 0...others { try await probe.sync(Sync(probe.makeSource())) }
          others += 1
          holder = try await probe.sync(Sync(kept))
        }
        if holder.count > 0 {
          let writers = try await probe.pushOutSource()
          guard writers <= others else { throw CaseEnd.skip("the device keeps more than \(others) writers") }
          probe.expect(false, "\(others) src that were only synced replaced none, \(writers) that wrote did")
          return
        }
        probe.expect(others >= 4, "\(others) others replaced the first, at least 4 are kept")
        probe.expect("hwm of the replaced one", holder.highest, is: 0)
      }

      Case(
        "NTF-23/replaced-is-not-gone",
        "The content that a change replaced is not reported as gone", also: ["NTF-26"]
      ) { probe, _ in
        let source = try await probe.beginDelivery(room: 1)
        try await probe.expectWritten(Sample.json(id: 1))
        var unsolicited = Unsolicited()
        for revision in 1...3 {
          try await probe.writeData(
            Sample.json(id: 1, more: ",\"rev\":\(revision)"), unsolicited: &unsolicited)
        }
        try await probe.sync(Sync(source, known: 1), unsolicited: &unsolicited)
        probe.expect("the reports", unsolicited.items, is: [])
        try await probe.expectWritten(Sample.removal(id: 1), "the removal")
      }

      Case(
        "NTF-26/without-subscription",
        "Without a subscription neither an event nor GONE is sent", also: ["ATT-17", "NTF-30"]
      ) { probe, _ in
        let source = probe.makeSource()
        let noon = 1_800_000_000 as UInt64
        // A notification that is expired when it is written is gone at once, without a control
        // channel.
        let json = Sample.json(id: 1, more: ",\"exp\":1")
        try await probe.openDelivery(source: source, clock: noon, isSubscribed: false)
        try await probe.requireStoreRoom(1)
        var unsolicited = Unsolicited()
        try await probe.writeData(json, unsolicited: &unsolicited)
        try await probe.sync(Sync(source, known: 1), unsolicited: &unsolicited)
        probe.expect("the notifications", unsolicited.items, is: [])
        try await probe.request(Wire.literal("12 0700 0100"))
        try await probe.sync(Sync(source, known: 1), unsolicited: &unsolicited)
        probe.expect("events once subscribed", unsolicited.count("expired", source, 1), is: 1)
        // Neither where the event does not fit.
        try await probe.openNarrow(source: source)
        try await probe.request(Wire.literal("12 0700 0000"))
        var narrow = Unsolicited()
        try await probe.sync(Sync(source), unsolicited: &narrow)
        probe.expect("reports at SYNC without a subscription", narrow.items, is: [])
        try await probe.expectWritten(Sample.removal(id: 1), "the removal")
      }

      Case(
        "NTF-27/no-flicker",
        "A notification that is expired when it is written never changes Count", also: ["NTF-10", "NTF-11"]
      ) { probe, _ in
        let source = probe.makeSource()
        try await probe.openDelivery(source: source, clock: 1_800_000_000)
        try await probe.requireStoreRoom(2)
        try await probe.request(Wire.literal("12 0400 0100"))
        let before = try await probe.readCount()
        var unsolicited = Unsolicited()
        let plain = Array("\(Sample.text("late").dropLast()),\"exp\":9}".utf8)
        for json in [plain, Sample.json(id: 1, more: ",\"exp\":9")] {
          let reply = try await probe.writeData(json, unsolicited: &unsolicited)
          probe.expect("the answer", reply, is: [0x13])
        }
        probe.expect("notifications of Count", unsolicited.counts, is: [])
        let after = try await probe.readCount()
        probe.expect("Count", after, is: before)
        try await probe.expectWritten(Sample.removal(id: 1), "the removal")
      }

      Case(
        "NTF-27/clock-outlives-session",
        "The clock advances without the session that set it, and is clamped to the range of exp",
        needs: [.longWaits]
      ) { probe, _ in
        // Below the range: it begins at 0. Above it: everything has expired.
        for (clock, expires) in [(UInt64(bitPattern: -1_000_000), 20), (1 << 33, 4_294_967_295)] {
          let source = probe.makeSource()
          try await probe.openDelivery(source: source, clock: clock)
          try await probe.openDelivery(source: source)
          try await probe.requireStoreRoom(1)
          let before = try await probe.readCount()
          try await probe.expectWritten(Sample.json(id: 1, more: ",\"exp\":\(expires)"))
          let between = try await probe.readCount()
          probe.expect("Count with exp \(expires)", between, is: expires == 20 ? before + 1 : before)
          _ = try await probe.listen(for: .seconds(22))
          let after = try await probe.readCount()
          probe.expect("Count 22 s later", after, is: before)
          try await probe.expectWritten(Sample.removal(id: 1), "the removal")
        }
      }

      Case(
        "NTF-33/of-another-src",
        "A src that is forgotten causes no RESYNC in the session of another", also: ["NTF-22"]
      ) { probe, _ in
        let source = probe.makeSource()
        try await probe.openDelivery()
        try await probe.requireStoreRoom(1)
        try await probe.sync(Sync(source))
        var unsolicited = Unsolicited()
        for _ in 0..<12 {
          let other = probe.makeSource()
          try await probe.writeData(Sample.json(id: 1, more: ",\"src\":\(other)"), unsolicited: &unsolicited)
          try await probe.writeData(
            Sample.removal(id: 1, more: ",\"src\":\(other)"), unsolicited: &unsolicited)
          // Its own is used repeatedly, so that the others are the oldest.
          try await probe.writeData(
            Sample.removal(id: 1, more: ",\"src\":\(source)"), unsolicited: &unsolicited)
        }
        probe.expect("messages on channel 0", unsolicited.messages, is: [])
      }
    }
}

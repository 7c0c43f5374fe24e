import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Notifications that are gone without their writer, and the reports to the writer.
extension Suite {
  static let deliveryGone = chapter(.delivery) {
    Case(
      "NTF-26/at-once", "A dismissal is reported at once with id, src and item, and leaves n and digest",
      also: ["NTF-11", "NTF-10", "NTF-32"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      let (first, second) = (Sample.json(id: 5), Sample.json(id: 6))
      try await probe.expectWritten(first)
      try await probe.expectWritten(second)
      let before = try await probe.readCount()
      try await control.perform(.dismiss(1))
      let unsolicited = try await probe.listen()
      probe.expect("events of item 1", unsolicited.count("dismissed", source, 5, item: 1), is: 1)
      probe.expect("all notifications", unsolicited.items.count, is: 1)
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before - 1)
      try await probe.expectHeld([Holding(6, second)], of: source, highest: 6)
    }

    Case(
      "NTF-26/at-each-sync", "Gone notifications are reported again before each SYNCED, and only then",
      also: ["NTF-31"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.json(id: id)) }
      try await control.perform(.dismiss(3))
      try await control.perform(.dismiss(1))
      _ = try await probe.listen()
      for round in 1...3 {
        // A new session changes nothing.
        if round == 3 { try await probe.openDelivery() }
        var unsolicited = Unsolicited()
        try await probe.sync(Sync(source, known: 3), unsolicited: &unsolicited)
        probe.expect(
          "events of id 1 before SYNCED \(round)", unsolicited.count("dismissed", source, 1), is: 1)
        probe.expect(
          "events of id 3 before SYNCED \(round)", unsolicited.count("dismissed", source, 3), is: 1)
        probe.expect("all notifications before SYNCED \(round)", unsolicited.items.count, is: 2)
        let behind = try await probe.listen()
        probe.expect("notifications after SYNCED \(round)", behind.items, is: [])
      }
    }

    Case(
      "NTF-26/at-a-write", "A write to a gone notification succeeds, and it is reported once more",
      also: ["NTF-23"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      let json = Sample.json(id: 1)
      try await probe.expectWritten(json)
      try await control.perform(.dismiss(1))
      _ = try await probe.listen()
      let before = try await probe.readCount()
      for more in ["", ",\"rev\":1,\"ev\":\"m\"", ""] {
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(Sample.json(id: 1, more: more), unsolicited: &unsolicited)
        probe.expect("the answer to id 1\(more)", reply, is: [0x13])
        probe.expect("events of id 1\(more)", unsolicited.count("dismissed", source, 1), is: 1)
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
      try await probe.expectHeld([], of: source, highest: 1)
    }

    Case(
      "NTF-24/ends-the-notifications", "ev \"r\" ends the reports of a gone notification", also: ["NTF-26"],
      needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      try await probe.expectWritten(Sample.json(id: 1))
      try await probe.expectWritten(Sample.json(id: 2))
      try await control.perform(.dismiss(1))
      try await control.perform(.dismiss(2))
      _ = try await probe.listen()
      try await probe.expectWritten(Sample.removal(id: 1), "the removal of the gone notification")
      for round in 1...2 {
        var unsolicited = Unsolicited()
        try await probe.sync(Sync(source, known: 2), unsolicited: &unsolicited)
        probe.expect("ids that are reported gone at SYNC \(round)", unsolicited.goneIDs(source), is: [2])
      }
      try await probe.expectWritten(Sample.removal(id: 2))
      var unsolicited = Unsolicited()
      try await probe.sync(Sync(source, known: 2), unsolicited: &unsolicited)
      probe.expect("notifications after all are removed", unsolicited.items, is: [])
    }

    Case(
      "NTF-26/between-sessions", "A dismissal while no session is open is reported at the next SYNC",
      also: ["NTF-12", "NTF-31"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      try await probe.expectWritten(Sample.json(id: 1))
      let kept = Sample.json(id: 2)
      try await probe.expectWritten(kept)
      try await probe.write(probe.frame(.fin))
      _ = try await probe.awaitFrame(.ack)
      try await control.perform(.dismiss(1))
      try await probe.openDelivery()
      let early = try await probe.listen()
      probe.expect("notifications before SYNC", early.events, is: [])
      var unsolicited = Unsolicited()
      let synced = try await probe.sync(Sync(source, known: 2), unsolicited: &unsolicited)
      probe.expect("ids that are reported gone", unsolicited.goneIDs(source), is: [1])
      probe.expect("n", synced.count, is: 1)
      probe.expect("digest", synced.digest, is: Holding.digest(of: [Holding(2, kept)]))
    }

    Case(
      "NTF-26/of-its-src", "A SYNC reports the gone notifications of its own src, not of another's",
      also: ["NTF-31"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      let other = probe.makeSource()
      try await probe.expectWritten(Sample.json(id: 1))
      try await probe.expectWritten(Sample.json(id: 1, more: ",\"src\":\(other)"))
      try await control.perform(.dismiss(1))
      try await control.perform(.dismiss(2))
      let atOnce = try await probe.listen()
      probe.expect("events of the other src at once", atOnce.count("dismissed", other, 1, item: 2), is: 1)
      for (synced, silent) in [(source, other), (other, source)] {
        var unsolicited = Unsolicited()
        try await probe.sync(Sync(synced, known: 1), unsolicited: &unsolicited)
        probe.expect("ids of the src of SYNC", unsolicited.goneIDs(synced), is: [1])
        probe.expect("ids of the other src", unsolicited.goneIDs(silent), is: [])
      }
    }

    Case(
      "NTF-26/unsubscribed",
      "A host that is not subscribed gets no notification; gone notifications wait for its SYNC",
      also: ["ATT-17"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart(isSubscribed: false)
      try await probe.expectWritten(Sample.json(id: 1))
      try await control.perform(.dismiss(1))
      var unsolicited = try await probe.listen()
      probe.expect("notifications before the subscription", unsolicited.items, is: [])
      try await probe.sync(Sync(source), unsolicited: &unsolicited)
      probe.expect("events before the subscription", unsolicited.events, is: [])
      try await probe.request(Wire.literal("12 0700 0100"))
      try await probe.sync(Sync(source), unsolicited: &unsolicited)
      probe.expect("events after it", unsolicited.count("dismissed", source, 1), is: 1)
    }

    Case(
      "NTF-26/remembers-64",
      "64 gone notifications are reported at SYNC; a device that forgets more sends RESYNC", also: ["NTF-33"],
      needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      let limit = 64 as UInt32
      try await probe.requireStoreRoom(Int(limit) + 1)
      for id in 1...(limit + 1) { try await probe.expectWritten(Sample.json(id: id)) }
      var unsolicited = Unsolicited()
      for item in 1...limit {
        try await control.perform(.dismiss(item))
        try await probe.listen(into: &unsolicited)
      }
      probe.expect("ids reported at once", unsolicited.goneIDs(source), is: Array(1...limit))
      try await probe.openDelivery()
      unsolicited = Unsolicited()
      try await probe.sync(Sync(source, known: limit + 1), unsolicited: &unsolicited)
      probe.expect("ids reported at SYNC", unsolicited.goneIDs(source).sorted(), is: Array(1...limit))
      unsolicited = Unsolicited()
      try await control.perform(.dismiss(limit + 1))
      try await probe.listen(into: &unsolicited)
      let resyncs = unsolicited.messages.filter { $0.first == 3 }.count
      unsolicited = Unsolicited()
      try await probe.sync(Sync(source, known: limit + 1), unsolicited: &unsolicited)
      let remembered = unsolicited.goneIDs(source).count
      let all = Int(limit) + 1
      probe.expect(
        remembered == all || remembered >= Int(limit) && resyncs == 1,
        "\(remembered) of \(all) are reported, and RESYNC \(resyncs) times")
      probe.expect(
        "ids still remembered", unsolicited.goneIDs(source).sorted(),
        is: Array((1...limit + 1).suffix(remembered)))
    }

    Case(
      "NTF-26/forgotten-while-stored",
      "A write to an expired notification is reported also when 64 others have left since",
      also: ["NTF-23", "NTF-27"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try await probe.requireStoreRoom(2)
      let expired = Sample.json(id: 1, more: ",\"exp\":\(Sample.noon - 10)")
      try await probe.expectWritten(expired)
      for id in 2...65 as ClosedRange<UInt32> {
        try await probe.expectWritten(Sample.json(id: id))
        try await control.perform(.dismiss(id))
      }
      _ = try await probe.listen()
      var unsolicited = Unsolicited()
      let answer = try await probe.writeData(expired, unsolicited: &unsolicited)
      try await probe.listen(into: &unsolicited)
      probe.expect("the answer to a write of the same bytes", answer, is: [0x13])
      let reports = ["expired", "dismissed"].map { unsolicited.count($0, source, 1) }
      probe.expect("reports of it", reports.reduce(0, +), is: 1)
      probe.expect("ids of all reports", unsolicited.goneIDs(source), is: [1])
    }

    Case(
      "NTF-26/beyond-mtu", "If the event does not fit, GONE reports it, at once and at each SYNC",
      also: ["NTF-11", "NTF-30"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      try await probe.expectWritten(Sample.json(id: 0x0102_0304))
      try await probe.openNarrow()
      try await control.perform(.dismiss(1))
      let gone = [4, 1] + Wire.u32(source) + Wire.literal("04030201")
      var unsolicited = try await probe.listen()
      probe.expect("the messages at once", unsolicited.messages, is: [gone])
      probe.expect("the events at once", unsolicited.events, is: [])
      for round in 1...2 {
        unsolicited = Unsolicited()
        try await probe.sync(Sync(source), unsolicited: &unsolicited)
        probe.expect("the messages before SYNCED \(round)", unsolicited.messages, is: [gone])
        probe.expect("the events before SYNCED \(round)", unsolicited.events, is: [])
      }
    }

    Case(
      "NTF-11/report-that-just-fits", "A report of MTU − 3 bytes is an event, a longer one is GONE",
      also: ["NTF-26", "NTF-30"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try await probe.requireStoreRoom(2)
      try await probe.sync(Sync(source))
      try await probe.expectWritten(Sample.json(id: 2))
      // Not above hwm and not stored: a write to it is reported, each time alike.
      var wide = Unsolicited()
      try await probe.writeData(Sample.json(id: 1), unsolicited: &wide)
      try probe.requireEventRoom()
      let event = try probe.require(wide.events.first, "no report for an id that is not above hwm")
      for (spare, item) in [(3, .event(event)), (2, .message([4, 1] + Wire.u32(source) + Wire.u32(1)))]
        as [(Int, Unsolicited.Item)]
      {
        try await probe.openNarrow(source: source)
        try await probe.request([0x02] + Wire.u16(UInt16(event.utf8.count + spare)))
        var narrow = Unsolicited()
        try await probe.writeData(Sample.json(id: 1), unsolicited: &narrow)
        probe.expect("the report if the event has \(spare) bytes less than the MTU", narrow.items, is: [item])
      }
      // With its item, without which it would fit.
      let expired = Sample.json(id: 3, more: ",\"exp\":1")
      try await probe.openDelivery(source: source)
      try await probe.expectWritten(expired)
      var reports = Unsolicited()
      try await probe.sync(Sync(source, known: 3), unsolicited: &reports)
      let whole = try probe.require(
        reports.events.first { EventMembers.parse($0)["\"id\""] == "3" }, "no report of an expired id")
      for isFitting in [true, false] {
        try await probe.openNarrow(source: source)
        try await probe.request([0x02] + Wire.u16(UInt16(whole.utf8.count + (isFitting ? 3 : 2))))
        var narrow = Unsolicited()
        try await probe.sync(Sync(source, known: 3), unsolicited: &narrow)
        let item: Unsolicited.Item =
          isFitting ? .event(whole) : .message([4, 3] + Wire.u32(source) + Wire.u32(3))
        probe.expect("the report with its item at SYNC", narrow.items.filter { $0 == item }.count, is: 1)
        probe.expect("reports of its id", narrow.goneIDs(source).filter { $0 == 3 }, is: [3])
      }
      try await probe.openDelivery(source: source)
      for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
    }

    Case(
      "NTF-26/without-sync", "If SYNC is not in use, an event that does not fit is not sent, others are",
      also: ["NTF-11", "NTF-30"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart(features: 0b0011)
      try probe.requireEventRoom()
      try await probe.expectWritten(Sample.json(id: 1))
      try await probe.expectWritten(Sample.json(id: 2))
      try await control.perform(.dismiss(1))
      let wide = try await probe.listen()
      probe.expect("events that fit", wide.count("dismissed", source, 1, item: 1), is: 1)
      try await probe.openNarrow(source: source, features: 0b0011)
      try await control.perform(.dismiss(2))
      let narrow = try await probe.listen()
      probe.expect("notifications if it does not fit", narrow.items, is: [])
    }

    Case(
      "NTF-26/plain-session", "A session without the optional keys gets events with id and src, too",
      also: ["LNK-9", "NTF-11"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      try probe.requireEventRoom()
      for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.json(id: id)) }
      for (item, features) in [(1, 0), (2, 1), (3, 0b0101)] as [(UInt32, UInt32)] {
        try await probe.openWide(Probe.synTLVs(nonce: probe.makeNonce(), features: features))
        try await probe.request(Wire.literal("12 0700 0100"))
        try await control.perform(.action(item, 2))
        try await control.perform(.dismiss(item))
        let unsolicited = try await probe.listen()
        let what = "with features \(features)"
        probe.expect("events of the action \(what)", unsolicited.actions(source, item, act: 2), is: 1)
        probe.expect(
          "events of the dismissal \(what)", unsolicited.count("dismissed", source, item, item: item), is: 1)
        probe.expect("all notifications and messages \(what)", unsolicited.items.count, is: 2)
      }
    }

    Case(
      "NTF-26/action", "The event of an action contains id and src too", also: ["NTF-11"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      try probe.requireEventRoom()
      let json = Sample.json(id: 9, more: ",\"act\":[\"Yes\",\"No\"]")
      try await probe.expectWritten(json)
      try await control.perform(.action(1, 1))
      let unsolicited = try await probe.listen()
      probe.expect("events of the action", unsolicited.actions(source, 9, act: 1), is: 1)
      let text = unsolicited.events.first ?? ""
      probe.expect(Sample.isEvent(text, "action", item: 1, action: 1), "the event is \(text)")
      try await probe.expectHeld([Holding(9, json)], of: source, highest: 9)
    }
  }
}

extension Bench {
  /// Restarts the device, so that items are numbered from 1, and opens a session with a new src.
  func openAfterRestart(
    features: UInt32 = Probe.deliveryFeatures, isSubscribed: Bool = true
  ) async throws -> UInt32 {
    _ = try await restart()
    let source = probe.makeSource()
    try await probe.openDelivery(source: source, features: features, isSubscribed: isSubscribed)
    try await probe.requireStoreRoom(3)
    return source
  }
}

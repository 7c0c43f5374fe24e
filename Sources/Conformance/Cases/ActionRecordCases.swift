import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Whose presses are kept, what releases them, and which session receives which report.
extension Suite {
  static let actionRecords = chapter(.delivery) {
    Case.ofActions(
      "NTF-39/numbers", "Only kept presses are numbered, and a refused press is not reported at all",
      also: ["NTF-40"]
    ) { probe, control, source in
      try probe.requireEventRoom()
      let other = probe.makeSource()
      try await probe.expectWritten(Sample.json(id: 1))
      try await probe.expectWritten(Sample.json(id: 1, more: ",\"src\":\(other)"))
      for act in 0...2 as ClosedRange<UInt8> {
        try await control.perform(.action(2, act))
        let unsolicited = try await probe.listen()
        probe.expect(
          "events of a press that is not kept", unsolicited.actions(other, 1, act: UInt32(act)), is: 1)
        probe.expect("all reports of it", unsolicited.items.count, is: 1)
      }
      var numbers: [UInt32] = []
      for _ in 1...40 {
        try await control.perform(.action(1, 0))
        let unsolicited = try await probe.listen()
        numbers += unsolicited.presses.map(\.number)
        let others = unsolicited.items.count - unsolicited.presses.count
        probe.expect("other reports of presses that are kept or refused", others, is: 0)
      }
      probe.expect("numbers", numbers, is: (1...max(1, numbers.count)).map { UInt32($0) })
      try await probe.sendTaken(.max, of: source)
    }

    Case.ofActions(
      "NTF-39/latest-sync",
      "Whether presses are kept is decided by the latest SYNC of their src, not by a write",
      also: ["NTF-40", "NTF-41"]
    ) { probe, control, source in
      try probe.requireEventRoom()
      try await probe.expectWritten(Sample.json(id: 1))
      try await probe.openDelivery(source: source)
      try await probe.expectWritten(Sample.json(id: 1, "changed", more: ",\"rev\":1"))
      // The latest SYNC had the feature, this session has not.
      try await control.perform(.action(1, 2))
      let kept = try await probe.listen()
      probe.expect("events in a session without the feature", kept.actions(source, 1, act: 2), is: 1)
      // A SYNC without the feature: no more are kept; what is kept stays.
      _ = try await probe.sync(Sync(source))
      try await probe.openDelivery(source: source, features: Probe.actionFeatures)
      try await probe.expectWritten(Sample.json(id: 1, "again", more: ",\"rev\":2"))
      try await control.perform(.action(1, 3))
      let event = try await probe.listen()
      probe.expect("events before SYNC", event.actions(source, 1, act: 3), is: 1)
      try await probe.expectPresses(of: source, [1], "of the time in which they were kept")
      try await probe.sendTaken(1, of: source)
    }

    Case(
      "NTF-41/two-sources", "Each src has its own kept presses: one SYNC, one TAKEN concern one src",
      also: ["NTF-40", "NTF-39"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let first = try await bench.beginActions()
      let second = probe.makeSource()
      try await probe.expectWritten(Sample.json(id: 1))
      try await control.perform(.action(1, 0))
      _ = try await probe.sync(Sync(second))
      try await probe.expectWritten(Sample.json(id: 1))
      try await control.perform(.action(2, 0))
      try await control.perform(.action(2, 1))
      try await probe.expectPresses(of: second, [2, 3], "of the second src")
      // Lower numbers than those reported last.
      try await probe.expectPresses(of: first, [1], "of the first src")
      try await probe.sendTaken(2, of: second)
      try await probe.expectPresses(of: first, [1], "of the first src after TAKEN of the second")
      try await probe.expectPresses(of: second, [3], "of the second src after its TAKEN")
      // The session's latest SYNC was the second's.
      try await probe.sendTaken(1, of: first)
      try await probe.expectPresses(of: first, [], "of the first src after its TAKEN")
      try await probe.sendTaken(.max, of: second)
    }

    Case.ofActions(
      "NTF-41/without-feature", "In a session without feature bit 4 neither SYNC nor TAKEN releases a press",
      also: ["NTF-30", "NTF-39"]
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      try await control.perform(.action(1, 0))
      _ = try await probe.listen()
      try await probe.openDelivery(source: source)
      var unsolicited = Unsolicited()
      try await probe.sync(Sync(source), unsolicited: &unsolicited)
      probe.expect("reports in a session without the feature", unsolicited.items, is: [])
      try await probe.sendTaken(1, of: source)
      try await probe.openDelivery(source: source, features: Probe.actionFeatures)
      try await probe.expectPresses(of: source, [1], "after a session without the feature")
      try await probe.sendTaken(1, of: source)
    }

    Case.ofActions(
      "NTF-40/before-sync", "Before its SYNC a session gets the event of a kept press, and no ACTION",
      also: ["NTF-11", "NTF-31"]
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      try await probe.openDelivery(source: source, features: Probe.actionFeatures)
      try probe.requireEventRoom()
      try await control.perform(.action(1, 2))
      let unsolicited = try await probe.listen()
      probe.expect("events", unsolicited.actions(source, 1, act: 2), is: 1)
      probe.expect("all reports", unsolicited.items.count, is: 1)
      try await probe.expectPresses(of: source, [1], "at SYNC")
      try await probe.sendTaken(1, of: source)
    }

    Case(
      "NTF-22/presses-hold-no-place",
      "Neither kept presses nor TAKEN change which src is forgotten, and no other src gets them",
      also: ["NTF-39", "NTF-41"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      _ = try await bench.beginActions()
      try await probe.expectWritten(Sample.json(id: 1))
      let places = try await probe.pushOutSource()
      let source = probe.makeSource()
      _ = try await probe.sync(Sync(source))
      try await probe.expectWritten(Sample.json(id: 1))
      // Items are counted from 1, and each src that was pushed out stored one.
      let item = UInt32(places + 2)
      for act in 0...1 as ClosedRange<UInt8> { try await control.perform(.action(item, act)) }
      _ = try await probe.pushOutSource(limit: places - 1)
      try await probe.sendTaken(1, of: source)
      _ = try await probe.pushOutSource(limit: 1)
      try await probe.expectPresses(of: source, [], "of a src that had to be forgotten")
      for _ in 1...min(places + 1, 8) {
        try await probe.expectPresses(of: probe.makeSource(), [], "of a src that takes a place")
      }
    }

    Case(
      "LNK-9/actions-alone", "Bit 4 without bits 1 and 2 sets neither of them", also: ["NTF-30", "NTF-39"],
      needs: [.control]
    ) { probe, bench in
      let source = try await bench.beginActions()
      for features in [0b1_0001, 0b1_0011] as [UInt32] {
        try await probe.open(
          Probe.synTLVs(nonce: probe.makeNonce(), features: features) + [.source(source)])
        try await probe.sendMessage(Sync(source).bytes)
        let unsolicited = try await probe.listen()
        probe.expect("messages without bit 2", unsolicited.messages, is: [])
      }
    }
  }
}

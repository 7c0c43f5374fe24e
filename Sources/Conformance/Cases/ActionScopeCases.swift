import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// What a press, TAKEN and a feature bit have no influence on.
extension Suite {
  static let actionScopes = chapter(.delivery) {
    Case.ofActions(
      "LNK-9/actions-and-keys", "Bit 4 without bit 2 leaves bit 1 in use", also: ["NTF-20"]
    ) { probe, _, source in
      let tlvs = Probe.synTLVs(nonce: probe.makeNonce(), features: 0b1_0011) + [.source(source)]
      try await probe.openWide(tlvs)
      let before = try await probe.readCount()
      // Without optional keys each of these would be a notification of its own.
      for _ in 1...3 { try await probe.expectWritten(Sample.json(id: 7)) }
      let after = try await probe.readCount()
      probe.expect("notifications of three writes of one id", after - before, is: 1)
    }

    Case.ofActions(
      "NTF-40/forgotten-src-again",
      "A src that was forgotten and is written again keeps no presses: its session gets the event",
      also: ["NTF-39", "NTF-22"]
    ) { probe, control, source in
      try probe.requireEventRoom()
      let places = try await probe.pushOutSource()
      try await probe.expectWritten(Sample.json(id: 1))
      _ = try await probe.listen()
      // Items are counted from 1, and each src that was pushed out stored one.
      try await control.perform(.action(UInt32(places + 1), 3))
      let unsolicited = try await probe.listen()
      probe.expect("events", unsolicited.actions(source, 1, act: 3), is: 1)
      probe.expect("presses", unsolicited.presses, is: [])
      try await probe.expectPresses(of: source, [], "of a time in which none were kept")
    }

    Case.ofActions(
      "NTF-39/new-src", "A src that takes the place of another keeps no presses before its own SYNC",
      also: ["NTF-22"]
    ) { probe, control, _ in
      let places = try await probe.pushOutSource()
      // One of these takes the place of the session's src, or that of one after it.
      let others = (0...places).map { _ in probe.makeSource() }
      for (index, other) in others.enumerated() {
        try await probe.expectWritten(Sample.json(id: 1, more: ",\"src\":\(other)"))
        try await control.perform(.action(UInt32(places + index + 1), 1))
        try await probe.expectPresses(of: other, [], "of a src without a SYNC before")
        try await probe.expectWritten(Sample.removal(id: 1, more: ",\"src\":\(other)"))
      }
    }

    Case(
      "NTF-39/evicted", "A press stays kept when its notification is evicted", also: ["NTF-25", "NTF-41"],
      needs: [.control, .strict]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.beginActions()
      let capacity = Int(probe.session.announced.number(of: 0x13) ?? 0)
      let before = try await probe.readCount()
      guard capacity >= before + 2, capacity <= 2000 else {
        throw CaseEnd.skip("the store holds \(capacity), too many or too few to fill")
      }
      try await probe.expectWritten(Sample.json(id: 1, more: ",\"lvl\":0"))
      try await control.perform(.action(1, 2))
      for id in 2...UInt32(capacity - before) {
        try await probe.expectWritten(Sample.json(id: id, more: ",\"lvl\":3"))
      }
      var unsolicited = Unsolicited()
      let json = Sample.json(id: UInt32(capacity) + 1, more: ",\"lvl\":3")
      let reply = try await probe.writeData(json, unsolicited: &unsolicited)
      guard reply == [0x13] else { throw CaseEnd.skip("the device evicts nothing") }
      _ = try await probe.listen()
      var again = Unsolicited()
      try await probe.sync(Sync(source, known: UInt32(capacity) + 1), unsolicited: &again)
      probe.expect("presses after the eviction", again.presses, is: [Press(2, source, 1, number: 1)])
      try await probe.sendTaken(1, of: source)
    }

    Case.ofActions(
      "NTF-40/busy-line", "On a busy line too, presses come before the report of what happened later",
      also: ["NTF-26"]
    ) { probe, control, source in
      try probe.requireEventRoom()
      try await probe.expectWritten(Sample.json(id: 1))
      // Nothing is acknowledged meanwhile, so that the last ones have to wait in the device.
      for act in 1...16 as ClosedRange<UInt8> { try await control.perform(.action(1, act)) }
      try await control.perform(.dismiss(1))
      // What waited can come after the answer that the first one waits for.
      let (first, second) = (try await probe.listen(), try await probe.listen())
      let presses = (1...16).map { Press(UInt8($0), source, 1, number: UInt32($0)) }
      probe.expect("presses", first.presses + second.presses, is: presses)
      let isGone = (first.items + second.items).map { if case .event = $0 { true } else { false } }
      probe.expect("reports that are events", isGone, is: Array(repeating: false, count: 16) + [true])
      try await probe.sendTaken(.max, of: source)
    }

    Case.ofActions(
      "NTF-41/before-sync", "TAKEN releases presses also before the first SYNC of its session"
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      for act in 0...1 as ClosedRange<UInt8> { try await control.perform(.action(1, act)) }
      _ = try await probe.listen()
      try await probe.openDelivery(source: source, features: Probe.actionFeatures)
      try await probe.sendTaken(1, of: source)
      try await probe.expectPresses(of: source, [2], "after TAKEN without a SYNC")
      try await probe.sendTaken(2, of: source)
    }

    Case.ofActions(
      "NTF-41/ahead", "A number that no press has yet releases no later press, and hides none",
      also: ["NTF-40", "NTF-39"]
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      try await probe.sendTaken(100, of: source)
      for number in 1...2 as ClosedRange<UInt32> {
        try await control.perform(.action(1, UInt8(number)))
        let unsolicited = try await probe.listen()
        let press = Press(UInt8(number), source, 1, number: number)
        probe.expect("reports of press \(number)", unsolicited.items, is: [.message(press.bytes)])
        if number == 1 { try await probe.sendTaken(.max, of: source) }
      }
      try await probe.expectPresses(of: source, [2], "after TAKEN of numbers that no press had")
      try await probe.sendTaken(2, of: source)
    }

    Case.ofActions(
      "NTF-40/unsubscribe", "Neither subscribing to Data nor unsubscribing reports a press again"
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      try await control.perform(.action(1, 0))
      let first = try await probe.listen()
      probe.expect("presses", first.presses.map(\.number), is: [1])
      for value in ["0000", "0100"] {
        try await probe.request(Wire.literal("12 0700 \(value)"))
        let unsolicited = try await probe.listen()
        probe.expect("reports after writing \(value) to the CCCD of Data", unsolicited.items, is: [])
      }
      try await probe.sendTaken(1, of: source)
    }

    Case.ofActions(
      "NTF-41/fin", "A session that the host ends properly releases no press"
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 7))
      try await control.perform(.action(1, 0))
      _ = try await probe.listen()
      try await probe.write(probe.frame(.fin))
      try await probe.openDelivery(source: source, features: Probe.actionFeatures)
      try await probe.expectPresses(of: source, [1], "after FIN")
      try await probe.sendTaken(1, of: source)
    }

    Case.ofActions(
      "NTF-39/number-257", "Presses are numbered on beyond one byte", also: ["NTF-40", "NTF-41"]
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      for first in stride(from: 1, through: 257, by: 8) as StrideThrough<UInt32> {
        let numbers = Array(first..<first + 8)
        for number in numbers { try await control.perform(.action(1, UInt8(number % 5))) }
        // What waited can come after the answer that the first one waits for.
        let presses = try await probe.listen().presses + probe.listen().presses
        probe.expect("presses from \(first) on", presses.map(\.number), is: numbers)
        try await probe.sendTaken(first + 7, of: source)
      }
    }

    Case.ofActions(
      "LNK-13/sync-stays", "After a repeated SYN the session still has sent its SYNC", also: ["NTF-40"]
    ) { probe, control, _ in
      let source = probe.makeSource()
      let tlvs =
        Probe.synTLVs(nonce: probe.makeNonce(), features: Probe.actionFeatures) + [.source(source)]
      try await probe.openWide(tlvs)
      try await probe.request(Wire.literal("12 0700 0100"))
      _ = try await probe.sync(Sync(source))
      try await probe.expectWritten(Sample.json(id: 7))
      try await probe.write(probe.syn(tlvs))
      _ = try await probe.awaitFrame(.synAck)
      try await control.perform(.action(1, 4))
      let unsolicited = try await probe.listen()
      let press = Press(4, source, 7, number: 1)
      probe.expect("reports after the same SYN", unsolicited.items, is: [.message(press.bytes)])
      try await probe.sendTaken(1, of: source)
    }

    Case(
      "NTF-33/gone-of-another-src", "What is gone of another src and forgotten causes no RESYNC",
      also: ["NTF-26"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      _ = try await bench.openAfterRestart()
      let limit = 64 as UInt32
      try await probe.requireStoreRoom(Int(limit) + 2)
      for id in 1...(limit + 2) { try await probe.expectWritten(Sample.json(id: id)) }
      var unsolicited = Unsolicited()
      for item in 1...(limit + 1) {
        try await control.perform(.dismiss(item))
        try await probe.listen(into: &unsolicited)
      }
      guard unsolicited.messages.contains([3]) else {
        throw CaseEnd.skip("the device remembers more than \(limit) gone notifications")
      }
      let other = probe.makeSource()
      try await probe.openDelivery(source: other)
      _ = try await probe.sync(Sync(other))
      try await control.perform(.dismiss(limit + 2))
      let behind = try await probe.listen()
      // At a small MTU, GONE reports what was dismissed, to every subscribed bearer (NTF-26).
      probe.expect("RESYNCs", behind.messages.count { $0.first == 3 }, is: 0)
    }

    Case(
      "NTF-33/gone-of-another-src-first",
      "The src of the forgotten entry decides whether a RESYNC is sent, not that of the next oldest",
      also: ["NTF-26"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      let other = probe.makeSource()
      // As many as a device must remember, and one of another src before them.
      let limit = 64 as UInt32
      try await probe.requireStoreRoom(Int(limit) + 1)
      try await probe.expectWritten(Sample.json(id: 1, more: ",\"src\":\(other)"))
      for id in 1...limit { try await probe.expectWritten(Sample.json(id: id)) }
      var unsolicited = Unsolicited()
      for item in 1...(limit + 1) {
        try await control.perform(.dismiss(item))
        try await probe.listen(into: &unsolicited)
      }
      probe.expect("RESYNCs", unsolicited.messages.count { $0.first == 3 }, is: 0)
      unsolicited = Unsolicited()
      try await probe.sync(Sync(source, known: limit), unsolicited: &unsolicited)
      probe.expect("ids reported at SYNC", unsolicited.goneIDs(source).sorted(), is: Array(1...limit))
    }
  }
}

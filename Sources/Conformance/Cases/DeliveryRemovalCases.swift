import NotibotProtocol
import SuiteWire

/// How a writer removes its notifications.
extension Suite {
  static let deliveryRemovals = chapter(.delivery) {
    Case(
      "NTF-24/removed",
      "ev \"r\" removes a notification, hwm stays, and the writer gets no event for its own removal",
      also: ["NTF-10", "NTF-26", "NTF-32"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      let first = Sample.json(id: 1)
      try await probe.expectWritten(first)
      try await probe.expectWritten(Sample.json(id: 2))
      let before = try await probe.readCount()
      for round in 1...2 {
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(Sample.removal(id: 2), unsolicited: &unsolicited)
        probe.expect("the answer to removal \(round)", reply, is: [0x13])
        probe.expect("notifications of it", unsolicited.events, is: [])
        let after = try await probe.readCount()
        probe.expect("Count after removal \(round)", after, is: before - 1)
        try await probe.expectHeld([Holding(1, first)], of: source, highest: 2, "after removal \(round)")
      }
      var unsolicited = Unsolicited()
      let reply = try await probe.writeData(Sample.json(id: 2), unsolicited: &unsolicited)
      probe.expect("the answer to the removed one", reply, is: [0x13])
      probe.expect("events that it is gone", unsolicited.count("dismissed", source, 2), is: 1)
      try await probe.expectHeld([Holding(1, first)], of: source, highest: 2, "at the end")
    }

    Case(
      "NTF-24/unknown", "The removal of an id that was never written succeeds and changes nothing",
      also: ["NTF-22"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      try await probe.expectWritten(Sample.removal(id: 9), "a removal before anything was written")
      try await probe.expectHeld([], of: source, highest: 0, "after a removal")
      let first = Sample.json(id: 1)
      try await probe.expectWritten(first)
      var unsolicited = Unsolicited()
      let reply = try await probe.writeData(Sample.removal(id: 50), unsolicited: &unsolicited)
      probe.expect("the answer to a removal", reply, is: [0x13])
      probe.expect("notifications of it", unsolicited.items, is: [])
      let second = Sample.json(id: 2)
      try await probe.expectWritten(second, "id 2 after the removal of 50")
      try await probe.expectHeld([Holding(1, first), Holding(2, second)], of: source, highest: 2)
    }

    Case("NTF-24/rev-is-not-looked-at", "A removal can have any rev and any text") { probe, _ in
      let source = try await probe.beginDelivery(room: 3)
      for id in 1...3 as ClosedRange<UInt32> {
        try await probe.expectWritten(Sample.json(id: id, more: ",\"rev\":500"))
      }
      try await probe.expectWritten(Sample.removal(id: 1), "a removal without rev")
      try await probe.expectWritten(Sample.removal(id: 2, more: ",\"rev\":500"), "a removal of the same rev")
      try await probe.expectWritten(
        Sample.json(id: 3, "with all its text", more: ",\"rev\":499,\"ev\":\"r\",\"lvl\":2"),
        "a removal with text")
      try await probe.expectHeld([], of: source, highest: 3)
    }

    Case(
      "NTF-24/is-checked",
      "A removal without the four keys, or with a bad value, is refused and removes nothing", also: ["NTF-4"],
      needs: [.strict]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 1)
      let json = Sample.json(id: 1)
      try await probe.expectWritten(json)
      for bad in [Array("{\"id\":1,\"ev\":\"r\"}".utf8), Sample.removal(id: 1, more: ",\"rev\":65536")] {
        let reply = try await probe.writeData(bad)
        probe.expect("the answer to a bad removal", reply, is: Wire.literal("01 12 0600 80"))
      }
      try await probe.expectHeld([Holding(1, json)], of: source, highest: 1)
    }
  }
}

import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// How a write of a notification with an identity is applied.
extension Suite {
  static let deliveryApplied = chapter(.delivery) {
    Case(
      "NTF-23/new-id", "An id above hwm is stored and becomes hwm, with or without gaps",
      also: ["NTF-10", "NTF-22"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 4)
      let before = try await probe.readCount()
      var held: [Holding] = []
      for id in [1, 2, 100, 4_294_967_295] as [UInt32] {
        held.append(Holding(id, Sample.json(id: id)))
        try await probe.expectWritten(Sample.json(id: id), "id \(id)")
        try await probe.expectHeld(held, of: source, highest: id, "after id \(id)")
        let count = try await probe.readCount()
        probe.expect("Count after id \(id)", count, is: before + held.count)
      }
    }

    Case(
      "NTF-23/higher-rev", "A higher rev of a stored id replaces it; Count and hwm stay",
      also: ["NTF-10", "NTF-32"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      let (first, second) = (Sample.json(id: 1, "first"), Sample.json(id: 2, "second"))
      try await probe.expectWritten(first)
      try await probe.expectWritten(second)
      try await probe.request(Wire.literal("12 0400 0100"))
      let before = try await probe.readCount()
      for (revision, event) in [(1, "m"), (2, "a"), (300, "m")] {
        let changed = Sample.json(id: 1, "changed", more: ",\"rev\":\(revision),\"ev\":\"\(event)\"")
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(changed, unsolicited: &unsolicited)
        probe.expect("the answer to rev \(revision)", reply, is: [0x13])
        probe.expect("notifications of it", unsolicited.items, is: [])
        try await probe.expectHeld(
          [Holding(1, changed), Holding(2, second)], of: source, highest: 2, "after rev \(revision)")
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "NTF-23/in-its-place",
      "A replaced notification keeps its place: its item number is that of the first one",
      also: ["NTF-11", "NTF-26"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      let source = try await probe.beginDelivery(room: 3)
      try await probe.expectWritten(Sample.json(id: 1))
      try await probe.expectWritten(Sample.json(id: 2))
      try await probe.expectWritten(Sample.json(id: 1, more: ",\"rev\":1,\"ev\":\"m\""))
      try await probe.expectWritten(Sample.json(id: 3))
      try await control.perform(.dismiss(1))
      try await control.perform(.dismiss(3))
      let unsolicited = try await probe.listen()
      probe.expect("notifications of item 1", unsolicited.count("dismissed", source, 1, item: 1), is: 1)
      probe.expect("notifications of item 3", unsolicited.count("dismissed", source, 3, item: 3), is: 1)
    }

    Case(
      "NTF-23/same-again", "Repeating the same bytes of the same rev succeeds and changes nothing",
      also: ["NTF-10"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      let (first, second) = (Sample.json(id: 1, more: ",\"rev\":4"), Sample.json(id: 2))
      try await probe.expectWritten(first)
      try await probe.expectWritten(second)
      try await probe.request(Wire.literal("12 0400 0100"))
      let before = try await probe.readCount()
      for json in [first, second, first, first] {
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(json, unsolicited: &unsolicited)
        probe.expect("the answer to the repetition", reply, is: [0x13])
        probe.expect("notifications of it", unsolicited.items, is: [])
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
      try await probe.expectHeld([Holding(1, first), Holding(2, second)], of: source, highest: 2)
    }

    Case(
      "NTF-23/same-rev-other-bytes", "Other bytes of the same rev are answered by 0x81 and change nothing",
      needs: [.strict]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      let (first, second) = (Sample.json(id: 1, "e1a31e0316"), Sample.json(id: 2, more: ",\"rev\":7"))
      try await probe.expectWritten(first)
      try await probe.expectWritten(second)
      let before = try await probe.readCount()
      // The first has the same length and CRC-32; the last two have the same meaning, in other
      // bytes.
      var others = [
        Sample.json(id: 1, "4640a9050e"), Sample.json(id: 1, "two"),
        Sample.json(id: 2, "other", more: ",\"rev\":7"),
        Sample.json(id: 1, "e1a31e0316", more: ",\"rev\":0"), first + [0x20],
      ]
      // In a long one a byte of é, a letter, the top bits, and the white space at the end.
      let long = probe.longJSON(id: 2, rev: 8)
      for index in long.indices
      where long[index] == 0xA9 || index % 50 == 0 && long[index] == UInt8(ascii: "x") {
        others.append(long)
        others[others.count - 1][index] ^= 1
      }
      others.append(long.map { $0 & 0x7F })
      others.append(long.dropLast() + [0x0A])
      for (index, json) in others.enumerated() {
        if index == 5 { try await probe.expectWritten(long, "a change") }
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(json, unsolicited: &unsolicited)
        probe.expect("the answer to other bytes", reply, is: Wire.literal("01 12 0600 81"))
        probe.expect("notifications of it", unsolicited.items, is: [])
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
      try await probe.expectHeld([Holding(1, first), Holding(2, long)], of: source, highest: 2)
    }

    Case(
      "NTF-23/lower-rev", "A lower rev is answered by 0x81 and changes nothing", also: ["NTF-32"],
      needs: [.strict]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 1)
      let stored = Sample.json(id: 1, "newest", more: ",\"rev\":300")
      try await probe.expectWritten(stored)
      // 44 is 300 modulo 256.
      for more in ["", ",\"rev\":299", ",\"rev\":44,\"ev\":\"m\"", ",\"rev\":1,\"lvl\":3"] {
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(
          Sample.json(id: 1, "older", more: more), unsolicited: &unsolicited)
        probe.expect("the answer to id 1\(more)", reply, is: Wire.literal("01 12 0600 81"))
        probe.expect("notifications of it", unsolicited.items, is: [])
      }
      try await probe.expectHeld([Holding(1, stored)], of: source, highest: 1)
    }

    Case(
      "NTF-23/old-id-not-stored",
      "An id up to hwm that is not stored succeeds, is not stored, and is reported gone",
      also: ["NTF-26", "NTF-10"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 3)
      let stored = Sample.json(id: 10)
      try await probe.expectWritten(stored)
      let before = try await probe.readCount()
      for (id, more) in [(3, ""), (9, ",\"rev\":5,\"ev\":\"m\""), (3, "")] as [(UInt32, String)] {
        var unsolicited = Unsolicited()
        let reply = try await probe.writeData(Sample.json(id: id, more: more), unsolicited: &unsolicited)
        probe.expect("the answer to id \(id)", reply, is: [0x13])
        probe.expect("events that id \(id) is gone", unsolicited.count("dismissed", source, id), is: 1)
        probe.expect("all notifications", unsolicited.items.count, is: 1)
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
      try await probe.expectHeld([Holding(10, stored)], of: source, highest: 10)
    }

    Case(
      "NTF-23/refused-moves-nothing", "A refused write moves neither hwm nor rev", also: ["NTF-4"],
      needs: [.strict]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      let first = Sample.json(id: 1, more: ",\"rev\":1")
      try await probe.expectWritten(first)
      let refused = [
        (Sample.json(id: 50, more: ",\"lvl\":4"), "80"), (Array(Sample.json(id: 60).dropLast()), "80"),
        (Array("{\"id\":70}".utf8), "80"), (Sample.json(id: 1, more: ",\"rev\":9,\"fl\":-1"), "80"),
        (Sample.json(id: 1, "other", more: ",\"rev\":1"), "81"),
      ]
      for (json, code) in refused {
        let reply = try await probe.writeData(json)
        probe.expect("the answer", reply, is: Wire.literal("01 12 0600 \(code)"))
      }
      try await probe.expectHeld([Holding(1, first)], of: source, highest: 1, "after refusals")
      let second = Sample.json(id: 2)
      try await probe.expectWritten(second, "id 2 after higher ids were refused")
      let changed = Sample.json(id: 1, "changed", more: ",\"rev\":2")
      try await probe.expectWritten(changed, "rev 2 after rev 9 was refused")
      try await probe.expectHeld([Holding(1, changed), Holding(2, second)], of: source, highest: 2)
    }

    Case("NTF-23/last-rev", "rev does not wrap: no revision follows 65535", needs: [.strict]) { probe, _ in
      let source = try await probe.beginDelivery(room: 1)
      let last = Sample.json(id: 1, "last", more: ",\"rev\":65535")
      for more in [",\"rev\":32767", ",\"rev\":32768", ",\"rev\":65534"] {
        let json = Sample.json(id: 1, more: more)
        try await probe.expectWritten(json)
        try await probe.expectHeld([Holding(1, json)], of: source, highest: 1, "after \(more)")
      }
      try await probe.expectWritten(last)
      for more in ["", ",\"rev\":1", ",\"rev\":32768"] {
        let reply = try await probe.writeData(Sample.json(id: 1, "after the last", more: more))
        probe.expect("the answer to id 1\(more)", reply, is: Wire.literal("01 12 0600 81"))
      }
      try await probe.expectHeld([Holding(1, last)], of: source, highest: 1, "after the last")
    }

    Case(
      "NTF-23/modified-is-new",
      "A modified notification that the device does not know is stored as a new one", also: ["NTF-20"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 1)
      let before = try await probe.readCount()
      let json = Sample.json(id: 5, more: ",\"rev\":12,\"ev\":\"m\"")
      var unsolicited = Unsolicited()
      let reply = try await probe.writeData(json, unsolicited: &unsolicited)
      probe.expect("the answer", reply, is: [0x13])
      probe.expect("the notifications", unsolicited.events, is: [])
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before + 1)
      try await probe.expectHeld([Holding(5, json)], of: source, highest: 5)
    }

    Case(
      "NTF-23/pipelined", "Pipelined writes are applied in order, whatever the result of each",
      also: ["ATT-6"], needs: [.strict]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, isSubscribed: false)
      try await probe.requireStoreRoom(2)
      guard probe.session.features & 1 == 1, probe.session.peerRequests >= 5, probe.session.peerFrames >= 5
      else {
        throw CaseEnd.skip("the device takes fewer than 5 requests at once")
      }
      let (changed, second) = (Sample.json(id: 1, "b", more: ",\"rev\":1"), Sample.json(id: 2))
      let writes = [
        Sample.json(id: 1, "a"), changed, Sample.json(id: 1, "c", more: ",\"rev\":1"), second,
        Sample.json(id: 1, "a"),
      ]
      // A long write is a barrier.
      try probe.requireMTU(3 + (writes.map(\.count).max() ?? 0))
      for json in writes {
        try await probe.awaitRoom()
        try await probe.sendData([0x12, 6, 0] + json)
      }
      var answers: [[UInt8]] = []
      let deadline = probe.now + Probe.patience
      while answers.count < writes.count, let pdu = try await probe.nextPDU(until: deadline) {
        answers.append(pdu)
      }
      let conflict = Wire.literal("01 12 0600 81")
      probe.expect("the answers", answers, is: [[0x13], [0x13], conflict, [0x13], conflict])
      try await probe.expectHeld([Holding(1, changed), Holding(2, second)], of: source, highest: 2)
    }
  }
}

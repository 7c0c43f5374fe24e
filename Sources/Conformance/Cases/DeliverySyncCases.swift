import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// SYNC and its answer.
extension Suite {
  static let deliverySynced = chapter(.delivery) {
    Case(
      "NTF-30/synced-layout", "SYNCED is 25 bytes: src, n, digest, hwm, and SYNACK's capacity and boot id",
      also: ["NTF-32", "LNK-12"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery()
      let synced = try await probe.sync(Sync(source))
      probe.expect("src", synced.source, is: source)
      probe.expect("n", synced.count, is: 0)
      probe.expect("digest", synced.digest, is: 0)
      probe.expect("hwm", synced.highest, is: 0)
      probe.expect("the boot id", UInt64(synced.bootID), is: probe.session.bootID ?? 0)
      if let capacity = probe.session.announced.number(of: 0x13) {
        probe.expect("the capacity", UInt64(synced.capacity), is: capacity)
      }
    }

    Case(
      "NTF-30/bad-messages", "Unknown kinds, short messages and a src of 0 are acknowledged and dropped",
      also: ["LNK-3"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 1)
      let good = Sync(source).bytes
      let bad: [[UInt8]] =
        [
          [0], [5], [0x7F] + good.dropFirst(), [0xFF], [1], [2], [3], [4], [4, 1] + good[1..<9],
          Sync(0).bytes,
        ]
        + (2..<19).map { Array(good.prefix($0)) } + [[2] + [UInt8](repeating: 0, count: 24)]
      for message in bad {
        try await probe.awaitRoom()
        try await probe.sendData(message, channel: 0)
        let unsolicited = try await probe.listen()
        probe.expect("notifications after [\(Wire.hex(message))]", unsolicited.items, is: [])
      }
      // None of them was accepted as a SYNC: the src is still that of the SYN.
      let json = Sample.json(id: 1)
      try await probe.expectWritten(json)
      try await probe.expectHeld([Holding(1, json)], of: source, highest: 1)
    }

    Case(
      "NTF-30/long", "A SYNC that is longer than its format is parsed up to the format's end", also: ["LNK-3"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery()
      for extra in [1, 13, 500] {
        try await probe.awaitRoom()
        try await probe.sendData(Sync(source).bytes + [UInt8](repeating: 0xFF, count: extra), channel: 0)
        var unsolicited = Unsolicited()
        let synced = try await probe.awaitSynced(unsolicited: &unsolicited)
        probe.expect("src of the answer to \(extra) bytes more", synced.source, is: source)
      }
    }

    Case(
      "NTF-31/one-answer-each", "Two SYNCs at once get two SYNCED, in order, and no third", also: ["NTF-21"]
    ) { probe, _ in
      let (first, second) = (probe.makeSource(), probe.makeSource())
      try await probe.openDelivery()
      try await probe.requireStoreRoom(1)
      try await probe.awaitRoom()
      try await probe.sendData(Sync(first).bytes, channel: 0)
      try await probe.awaitRoom()
      try await probe.sendData(Sync(second).bytes, channel: 0)
      var unsolicited = Unsolicited()
      let one = try await probe.awaitSynced(unsolicited: &unsolicited)
      let two = try await probe.awaitSynced(unsolicited: &unsolicited)
      probe.expect("the src of the answers", [one.source, two.source], is: [first, second])
      let behind = try await probe.listen()
      probe.expect("notifications with them", unsolicited.items + behind.items, is: [])
      let json = Sample.json(id: 1)
      try await probe.expectWritten(json)
      try await probe.expectHeld([Holding(1, json)], of: second, highest: 1)
    }

    Case(
      "NTF-31/two-while-busy", "Two SYNCs that are queued together get two SYNCED, in order",
      needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let (first, second) = (probe.makeSource(), probe.makeSource())
      try await probe.openDelivery()
      try await control.perform(.stall)
      for source in [first, second] {
        try await probe.awaitRoom()
        try await probe.sendData(Sync(source).bytes, channel: 0)
      }
      _ = try await probe.fence()
      try await control.perform(.resume)
      var unsolicited = Unsolicited()
      let one = try await probe.awaitSynced(unsolicited: &unsolicited)
      let two = try await probe.awaitSynced(unsolicited: &unsolicited)
      probe.expect("the src of the answers", [one.source, two.source], is: [first, second])
      probe.expect("notifications with them", unsolicited.items, is: [])
    }

    Case(
      "NTF-31/while-shut", "SYNCs received while SYNCED cannot be sent get one each, in order",
      also: ["LNK-41"]
    ) { probe, _ in
      let (first, second) = (probe.makeSource(), probe.makeSource())
      try await probe.openShut(features: Probe.deliveryFeatures)
      try probe.requireFeatures(Probe.deliveryFeatures)
      let sources = Array([first, second, first, first].prefix(probe.session.peerFrames))
      for source in sources {
        try await probe.awaitRoom()
        try await probe.sendData(Sync(source).bytes, channel: 0)
        _ = try await probe.fence()
      }
      try await probe.grantAll()
      var unsolicited = Unsolicited()
      var answered: [UInt32] = []
      for _ in sources { answered.append(try await probe.awaitSynced(unsolicited: &unsolicited).source) }
      probe.expect("the src of the answers", answered, is: sources)
      try await probe.listen(into: &unsolicited)
      probe.expect("other frames with them", unsolicited.items, is: [])
    }

    Case(
      "NTF-31/among-requests", "SYNC is handled among requests: each gets its answer", also: ["ATT-5"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery()
      for _ in 0..<20 {
        try await probe.awaitRoom()
        try await probe.sendData([0x0A, 3, 0])
        try await probe.awaitRoom()
        try await probe.sendData(Sync(source).bytes, channel: 0)
        var answers: [UInt8] = []
        let deadline = probe.now + Probe.patience
        while answers.count < 2, let frame = try await probe.nextData(until: deadline) {
          answers.append(frame.payload.first ?? 0)
        }
        probe.expect("the answers", answers.sorted(), is: [0x02, 0x0B])
      }
    }

    Case(
      "NTF-32/digest-of-the-page", "The digest of one and of two notifications"
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      let four = { (text: String, id: Int) in
        "{\"app\":\"Messages\",\"title\":\"Jane Doe\",\"text\":\"\(text)\",\"timestamp\":1234567890,\"id\":\(id)}"
      }
      try await probe.expectWritten(Array(four("See you tomorrow!", 7).utf8))
      let one = try await probe.sync(Sync(source, known: 7))
      probe.expect("the digest of one", one.digest, is: 0xC148_7D31_EC01_DCE9)
      try await probe.expectWritten(Array(four("At noon.", 8).utf8))
      let both = try await probe.sync(Sync(source, known: 8))
      probe.expect("the digest of both", both.digest, is: 0x2D63_BA3C_A03F_45DF)
      probe.expect("n", both.count, is: 2)
    }

    Case(
      "NTF-32/over-a-life", "n and digest follow every write, change, removal and dismissal",
      also: ["NTF-23", "NTF-24", "NTF-26"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      let source = try await probe.beginDelivery(room: 4)
      var held = (1...4).map { Holding($0, Sample.json(id: $0, "number \($0)")) }
      for holding in held { try await probe.expectWritten(holding.json) }
      try await probe.expectHeld(held, of: source, highest: 4, "after four writes")
      // Two with the same meaning, one in place of the other.
      for (index, other) in [(0, 2), (1, 1)] {
        let json = Sample.json(id: UInt32(index + 1), "number \(other)", more: ",\"rev\":1")
        try await probe.expectWritten(json)
        held[index].json = json
      }
      try await probe.expectHeld(held, of: source, highest: 4, "after two changed places")
      try await control.perform(.dismiss(3))
      held.remove(at: 2)
      try await probe.expectHeld(held, of: source, highest: 4, "after a dismissal")
      try await probe.expectWritten(Sample.removal(id: 1))
      held.remove(at: 0)
      try await probe.expectHeld(held, of: source, highest: 4, "after a removal")
      try await probe.expectWritten(Sample.removal(id: 3), "the removal of the dismissed one")
      try await probe.expectWritten(Sample.json(id: 1), "a write of the removed one")
      try await probe.expectHeld(held, of: source, highest: 4, "after writes that change nothing")
      try await control.perform(.clear)
      let cleared = try await probe.sync(Sync(source, known: 4))
      probe.expect("n when everything was dismissed", cleared.count, is: 0)
      probe.expect("digest when everything was dismissed", cleared.digest, is: 0)
      probe.expect("hwm when everything was dismissed", cleared.highest, is: 4)
    }

    Case(
      "NTF-32/of-the-bytes",
      "The digest is calculated over the bytes as they were written: white space, order and escapes count",
      also: ["NTF-20"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source)
      let inputs = [
        "{\"id\":1,\"app\":\"a\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1}",
        " {\"app\" : \"a\",\r\n\t\"title\":\"b\",\"text\":\"\\u0063\",\"timestamp\":1,\"id\":2 }\n",
        "{\"app\":\"a\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1,\"\\u0069d\":3,\"unknown\":[1,2]}",
      ]
      try await probe.requireStoreRoom(inputs.count + 1)
      var held: [Holding] = []
      for (index, input) in inputs.enumerated() {
        try await probe.expectWritten(Array(input.utf8), input)
        held.append(Holding(UInt32(index + 1), Array(input.utf8)))
        try await probe.expectHeld(held, of: source, highest: UInt32(index + 1), "after \(input)")
      }
      // As long as possible, and each byte that a string can have, in pieces short enough for any
      // queue of parts: new, once more, and as a change.
      let scalars = Array(
        Sample.everyByte.unicodeScalars.filter { $0.value >= 0x20 && !"\"\\".unicodeScalars.contains($0) })
      var texts: [(UInt32, Int) -> [UInt8]] = [{ probe.longJSON(id: $0, rev: $1) }]
      for start in stride(from: 0, to: scalars.count, by: 20) {
        let text = String(String.UnicodeScalarView(scalars[start..<min(start + 20, scalars.count)]))
        let four = "\"app\":\"\",\"title\":\"\",\"text\":\"\(text)\",\"timestamp\":0"
        texts.append { Array("{\(four),\"id\":\($0),\"rev\":\($1)}".utf8) }
      }
      for (index, text) in texts.enumerated() {
        let id = UInt32(4 + index)
        for (step, json) in [text(id, 0), text(id, 0), text(id, 1)].enumerated() {
          let what = "write \(step) of text \(index)"
          // The change in parts.
          if step < 2 || index == 0 {
            try await probe.expectWritten(json, what)
          } else {
            try await probe.prepare(json)
            let reply = try await probe.request([0x18, 1])
            probe.expect("the answer to \(what)", reply, is: [0x19])
          }
          try await probe.expectHeld(held + [Holding(id, json)], of: source, highest: id, "after \(what)")
        }
        try await probe.expectWritten(Sample.removal(id: id), "the removal")
      }
    }

    Case(
      "NTF-32/identified-only",
      "n and digest are of one src: plain notifications and other writers' are excluded", also: ["NTF-10"]
    ) { probe, _ in
      let (source, other) = (probe.makeSource(), probe.makeSource())
      try await probe.openDelivery(source: source)
      try await probe.requireStoreRoom(3)
      let before = try await probe.readCount()
      let mine = Sample.json(id: 2)
      try await probe.expectWritten(Sample.json("plain"))
      try await probe.expectWritten(mine)
      try await probe.expectWritten(Sample.json(id: 5, more: ",\"src\":\(other)"))
      try await probe.expectHeld([Holding(2, mine)], of: source, highest: 2)
      let after = try await probe.readCount()
      probe.expect("Count of all", after, is: before + 3)
    }

    Case(
      "NTF-31/behind-events", "SYNCED is sent after every event that was queued before it",
      also: ["ATT-19", "NTF-26"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      try probe.requireEventRoom()
      for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.json(id: id)) }
      // Nothing is acknowledged in the meantime, so that some of the eight events are queued.
      for act in 0..<7 as Range<UInt8> { try await control.perform(.action(1, act)) }
      try await control.perform(.dismiss(2))
      var unsolicited = Unsolicited()
      let synced = try await probe.sync(Sync(source, known: 3), unsolicited: &unsolicited)
      for act in 0..<7 as Range<UInt32> {
        probe.expect("events of action \(act) before SYNCED", unsolicited.actions(source, 1, act: act), is: 1)
      }
      probe.expect(
        unsolicited.goneIDs(source).contains(2), "the dismissal is reported after SYNCED, or not at all")
      probe.expect("n", synced.count, is: 2)
      let behind = try await probe.listen()
      probe.expect("notifications after SYNCED", behind.items, is: [])
    }
  }
}

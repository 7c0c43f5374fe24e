import NotibotProtocol
import SuiteWire

/// The events of what is gone: their place, their numbers, and the sessions that get them.
extension Suite {
  static let deliveryEvents = chapter(.delivery) {
    Case(
      "ATT-18/event-behind-the-answer",
      "The event that a write causes is sent behind the answer to the write",
      also: ["NTF-26", "NTF-27", "ATT-14"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try await probe.request(Wire.literal("12 0400 0100"))
      try await probe.requireStoreRoom(3)
      let expired = ",\"exp\":\(Sample.noon - 10)"
      // Expired when written, and again; a change that expires, and one more; one that was removed.
      // Each also in parts.
      let again = ",\"rev\":9"
      let writes: [(UInt32, [String])] = [
        (1, [expired, expired]), (3, ["", ",\"rev\":1\(expired)", ",\"rev\":2\(expired)"]),
        (1, [again, again]), (3, [again]),
      ]
      for (id, mores) in writes {
        for isLong in [false, true] {
          let id = isLong ? id + 1 : id
          for more in mores {
            var early = Unsolicited()
            let json = Sample.json(id: id, more: more)
            var pdu = try await probe.writePDU(json, unsolicited: &early)
            if isLong, pdu.first == 0x12 {
              try await probe.prepare(json)
              pdu = [0x18, 1]
            }
            _ = try await probe.listen()
            let reply = try await probe.request(pdu, unsolicited: &early, file: #fileID, line: #line)
            let what = "\(isLong ? "parts" : "a write") with [\(more)]"
            probe.expect("the answer to \(what)", reply.first, is: pdu.first.map { $0 + 1 })
            probe.expect("notifications before the answer to \(what)", early.items, is: [])
            let behind = try await probe.listen()
            probe.expect(
              "events behind the answer to \(what)", behind.goneIDs(source), is: more.isEmpty ? [] : [id])
          }
          try await probe.expectWritten(Sample.removal(id: id), "the removal")
        }
      }
      for (ids, isShut) in [(5...6, true), (7...8, false)] as [(ClosedRange<UInt32>, Bool)] {
        try await expectEventsBehindWaitingAnswers(probe, ids, of: source, isShut: isShut)
      }
    }

    Case(
      "ATT-14/events-in-one-execute",
      "An event of a long write is not sent where the same Execute begins or ends the subscription",
      also: ["ATT-12", "ATT-17", "NTF-26"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon, isSubscribed: false)
      try await probe.requireStoreRoom(2)
      for (id, value) in [(1, 1), (2, 0)] as [(UInt32, UInt8)] {
        try await probe.request([0x12, 7, 0, 1 - value, 0])
        try await probe.request([0x16, 7, 0, 0, 0, value, 0])
        try await probe.prepare(Sample.json(id: id, more: ",\"exp\":\(Sample.noon - 10)"))
        var unsolicited = Unsolicited()
        let reply = try await probe.request([0x18, 1], unsolicited: &unsolicited, file: #fileID, line: #line)
        probe.expect("the answer to Execute", reply, is: [0x19])
        try await probe.listen(into: &unsolicited)
        probe.expect(
          "what is sent with a subscription from \(1 - value) to \(value)", unsolicited.items, is: [])
      }
      try await probe.request(Wire.literal("12 0700 0100"))
      var reports = Unsolicited()
      try await probe.sync(Sync(source, known: 2), unsolicited: &reports)
      probe.expect("ids reported at SYNC", reports.goneIDs(source).sorted(), is: [1, 2])
      for id in 1...2 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
    }

    Case(
      "NTF-26/largest-numbers", "An event has the largest id and src in full", also: ["NTF-11", "NTF-20"]
    ) { probe, _ in
      // Ten digits, and negative if it had a sign.
      let source = probe.makeSource() | 0xF000_0000
      try await probe.openDelivery(source: source, clock: Sample.noon)
      try probe.requireEventRoom()
      try await probe.requireStoreRoom(3)
      let ids: [UInt32] = [2_147_483_647, 2_147_483_648, .max]
      for id in ids {
        var unsolicited = Unsolicited()
        let json = Sample.json(id: id, more: ",\"exp\":\(Sample.noon - 10)")
        let reply = try await probe.writeData(json, unsolicited: &unsolicited)
        probe.expect("the answer to id \(id)", reply, is: [0x13])
        probe.expect("events of id \(id)", unsolicited.count("expired", source, id), is: 1)
        let text = unsolicited.events.first ?? ""
        probe.expect(!EventMembers.parse(text).isEmpty, "the event is \(text)")
      }
      var reports = Unsolicited()
      try await probe.sync(Sync(source, known: .max), unsolicited: &reports)
      for id in ids {
        probe.expect("events of id \(id) at SYNC", reports.count("expired", source, id), is: 1)
        try await probe.expectWritten(Sample.removal(id: id), "the removal")
      }
    }

    Case(
      "NTF-26/without-bit-2", "Where SYNC is not in use, events are sent, and neither GONE nor RESYNC is",
      also: ["LNK-9", "NTF-30", "NTF-33"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, features: 0b0011, clock: Sample.noon)
      try await probe.requireStoreRoom(2)
      let isWide = !probe.isNarrow
      let expired = ",\"exp\":\(Sample.noon - 10)"
      var wide = Unsolicited()
      try await probe.writeData(Sample.json(id: 1, more: expired), unsolicited: &wide)
      if isWide { probe.expect("events", wide.goneIDs(source), is: [1]) }
      probe.expect("messages", wide.messages, is: [])
      try await probe.openNarrow(source: source, features: 0b0011, clock: Sample.noon)
      var narrow = Unsolicited()
      try await probe.writeData(Sample.json(id: 2, more: expired), unsolicited: &narrow)
      probe.expect("notifications and messages at MTU 23", narrow.items, is: [])
      for id in 1...2 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
    }

    Case(
      "NTF-27/clock-without-keys", "The CLOCK of a session without features sets the time, too",
      also: ["LNK-5", "NTF-10"]
    ) { probe, _ in
      let source = probe.makeSource()
      for (id, features) in [(1, 0), (2, 1)] as [(UInt32, UInt32)] {
        try await probe.openDelivery(source: source, clock: Sample.noon)
        try await probe.requireStoreRoom(1)
        try await probe.expectWritten(Sample.json(id: id, more: ",\"exp\":\(Sample.noon + 100)"))
        let before = try await probe.readCount()
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce(), features: features)
        try await probe.open(tlvs + [.clock(Sample.noon + 100)])
        let after = try await probe.readCount()
        probe.expect("Count at exp, set with features \(features)", after, is: before - 1)
        try await probe.openDelivery(source: source)
        var reports = Unsolicited()
        try await probe.sync(Sync(source, known: id), unsolicited: &reports)
        probe.expect("events of the expired one", reports.count("expired", source, id), is: 1)
        try await probe.expectWritten(Sample.removal(id: id), "the removal")
      }
    }
  }

  /// Writes two notifications that have expired, while nothing can be sent, or behind an answer
  /// that is not acknowledged: when they are sent, their events come behind their answers.
  private static func expectEventsBehindWaitingAnswers(
    _ probe: Probe, _ ids: ClosedRange<UInt32>, of source: UInt32, isShut: Bool
  ) async throws {
    try await probe.openShutSubscribed(as: source)
    if !isShut { try await probe.grantAll() }
    let isPipelined = probe.session.features & 1 == 1 && probe.session.peerRequests > 2
    var pdus = ids.prefix(isPipelined ? 2 : 1).map {
      Wire.literal("12 0600") + Sample.json(id: $0, more: ",\"exp\":\(Sample.noon - 10)")
    }
    guard !probe.isNarrow, pdus.allSatisfy({ $0.count <= probe.session.mtu }), isPipelined || isShut else {
      return
    }
    if !isShut { pdus.insert([0x0A, 3, 0], at: 0) }
    for pdu in pdus {
      try await probe.awaitRoom()
      try await probe.sendData(pdu)
      _ = try await probe.fence()
    }
    let items = try await probe.collect(answers: pdus.count).items
    for (index, id) in ids.prefix(isPipelined ? 2 : 1).enumerated() {
      var early = Unsolicited()
      let answer = items.indices.filter { items[$0] == .other([0x13]) }.dropFirst(index).first
      early.items = Array(items[..<(answer ?? items.startIndex)])
      probe.expect("events before the waiting answer to id \(id)", early.count("expired", source, id), is: 0)
      try await probe.expectWritten(Sample.removal(id: id), "the removal")
    }
  }
}

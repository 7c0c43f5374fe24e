import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Notifications and messages that wait for credit, and what happens to them in the meantime.
extension Suite {
  static let deliveryWaiting = chapter(.delivery) {
    Case(
      "ATT-12/others-stay",
      "A write to a CCCD drops no notification of the other one; 1 again drops none of its own",
      also: ["ATT-17", "NTF-10", "NTF-26"]
    ) { probe, _ in
      // The CCCD that is written, the value, and whether an event waits or a change of Count.
      let rows: [(handle: UInt8, value: UInt8, isEvent: Bool)] = [
        (7, 0, false), (4, 0, true), (7, 1, true), (7, 1, false), (4, 1, true), (4, 1, false),
      ]
      for row in rows {
        let source = probe.makeSource()
        let before = try await probe.roomyCount(1)
        try await probe.openShutSubscribed(as: source)
        let json = Sample.json(id: 1, more: row.isEvent ? ",\"exp\":\(Sample.noon - 10)" : "")
        let reply = try await probe.requestAlone([0x12, 6, 0] + json)
        probe.expect("the answer to the write", reply, is: [0x13])
        try await probe.sendData([0x12, row.handle, 0, row.value, 0])
        try await probe.awaitHandled("the write to the CCCD")
        let items = try await probe.collect(answers: 1).items
        let what = "with \(row.value) in the CCCD of handle \(row.handle)"
        probe.expect("answers \(what)", items.filter { $0 == .other([0x13]) }.count, is: 1)
        let notifications = items.filter { $0 != .other([0x13]) }
        probe.expect("notifications \(what)", notifications.count, is: 1)
        if row.isEvent {
          var unsolicited = Unsolicited()
          unsolicited.items = notifications
          probe.expect("events \(what)", unsolicited.count("expired", source, 1), is: 1)
        } else {
          probe.expect("the notification \(what)", notifications, is: [.count(UInt16(clamping: before + 1))])
        }
        try await probe.expectWritten(Sample.removal(id: 1, more: ",\"src\":\(source)"), "the removal")
      }
    }

    Case(
      "ATT-3/waiting-ends", "What waits for credit when a session ends is not sent in the next one",
      also: ["ATT-17", "LNK-23", "NTF-26"]
    ) { probe, bench in
      for ending in SessionEnding.allCases where ending != .reset && ending.isPossible(on: bench) {
        let source = probe.makeSource()
        _ = try await probe.roomyCount(1, as: source)
        try await probe.expectWritten(Sample.json(id: 1))
        try await probe.openShutSubscribed(as: source)
        // It changes Count, and is an event.
        let json = Sample.json(id: 1, more: ",\"rev\":1,\"exp\":\(Sample.noon - 10)")
        let reply = try await probe.requestAlone([0x12, 6, 0] + json)
        probe.expect("the answer to the change", reply, is: [0x13])
        try await ending.end(bench)
        try await probe.openDelivery(source: source, clock: Sample.noon, isSubscribed: false)
        var unsolicited = Unsolicited()
        for handle in [7, 4] as [UInt8] {
          let subscription = [0x12, handle, 0, 1, 0]
          _ = try await probe.request(subscription, unsolicited: &unsolicited, file: #fileID, line: #line)
        }
        try await probe.listen(into: &unsolicited)
        probe.expect("notifications after \(ending.rawValue)", unsolicited.items, is: [])
        var reports = Unsolicited()
        try await probe.sync(Sync(source, known: 1), unsolicited: &reports)
        probe.expect("reports at SYNC", reports.count("expired", source, 1), is: 1)
        try await probe.expectWritten(Sample.removal(id: 1), "the removal")
      }
    }

    Case(
      "NTF-31/behind-waiting",
      "Waiting events precede SYNCED; of several SYNCs each gets its reports, whatever SYNs come between",
      also: ["ATT-19", "LNK-13", "LNK-14", "LNK-19", "NTF-26", "NTF-30"]
    ) { probe, _ in
      var (first, second, before) = (0 as UInt32, 0 as UInt32, 0)
      var previous: UInt64 = 0
      try await probe.openShutAtNoon { noon in
        (first, second) = (probe.makeSource(), probe.makeSource())
        before = try await probe.roomyCount(3, as: first, at: noon - 1000)
        for (id, source, seconds) in [(1, first, 1), (2, first, 2), (1, second, 2)]
          as [(UInt32, UInt32, UInt64)]
        {
          let more = ",\"exp\":\(noon + seconds),\"src\":\(source)"
          try await probe.expectWritten(Sample.json(id: id, more: more))
        }
        previous = probe.session.nonce
        return first
      }
      // PINGs are answered, and nothing is sent.
      let early = try await probe.listen(for: .milliseconds(3400))
      probe.expect("notifications without credit", early.items, is: [])
      // The first one of a src of which nothing is gone.
      let sources = Array([probe.makeSource(), first, second, first].prefix(probe.session.peerFrames))
      try await probe.expectOpensNothing(previous: previous, with: [.source(second)])
      for source in sources {
        try await probe.awaitRoom()
        try await probe.sendData(Sync(source).bytes, channel: 0)
      }
      _ = try await probe.fence()
      try await probe.expectOpensNothing(previous: previous, with: [.source(second)])
      try await probe.grantAll()
      var counts: [UInt16] = []
      for (index, source) in sources.enumerated() {
        var unsolicited = Unsolicited()
        let synced = try await probe.awaitSynced(unsolicited: &unsolicited)
        let what = "before SYNCED \(index + 1)"
        probe.expect("the src of SYNCED \(index + 1)", synced.source, is: source)
        probe.expect("messages \(what)", unsolicited.messages, is: [])
        counts += unsolicited.counts
        let waiting = index == 0
        for (id, writer) in [(1, first), (2, first), (1, second)] as [(UInt32, UInt32)] {
          let reports = unsolicited.count("expired", writer, id)
          // The waiting event, and the report at SYNC, which may be one.
          let range = (waiting || writer == source ? 1 : 0)...((waiting ? 1 : 0) + (writer == source ? 1 : 0))
          probe.expect(
            range.contains(reports),
            "\(reports) reports of id \(id) of src \(writer) \(what), expected \(range)")
        }
      }
      let behind = try await probe.listen()
      probe.expect(
        "events and messages behind the last SYNCED", behind.items.count - behind.counts.count, is: 0)
      // Waiting changes of Count become one.
      probe.expect("values of Count", counts + behind.counts, is: [UInt16(clamping: before)])
      for (id, source) in [(1, first), (2, first), (1, second)] as [(UInt32, UInt32)] {
        try await probe.expectWritten(Sample.removal(id: id, more: ",\"src\":\(source)"), "the removal")
      }
    }

    Case(
      "ATT-12/unsubscribed-during-sync",
      "A SYNC that waits is answered although its subscription ends; its reports are not sent after that",
      also: ["NTF-26", "NTF-31"]
    ) { probe, _ in
      let source = probe.makeSource()
      _ = try await probe.roomyCount(2, as: source)
      for id in 1...2 as ClosedRange<UInt32> {
        try await probe.expectWritten(Sample.json(id: id, more: ",\"exp\":\(Sample.noon - 10)"))
      }
      _ = try await probe.listen()
      try await probe.openShutSubscribed(as: source)
      try await probe.sendData(Sync(source, known: 2).bytes, channel: 0)
      _ = try await probe.fence()
      try await probe.awaitRoom()
      try await probe.sendData(Wire.literal("12 0700 0000"))
      _ = try await probe.fence()
      let items = try await probe.collect(answers: 2, isSynced: true).items
      probe.expect("answers to SYNC", items.filter { $0.isSynced }.count, is: 1)
      let ended = items.firstIndex(of: .other([0x13])) ?? items.endIndex
      probe.expect(
        "frames behind the end of the subscription", items[ended...].filter { !$0.isSynced }.count, is: 1)
      try await probe.request(Wire.literal("12 0700 0100"))
      let later = try await probe.listen()
      probe.expect("reports to the next subscription", later.items, is: [])
      var reports = Unsolicited()
      try await probe.sync(Sync(source, known: 2), unsolicited: &reports)
      probe.expect("ids reported at the next SYNC", reports.goneIDs(source).sorted(), is: [1, 2])
      for id in 1...2 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
    }

    Case(
      "NTF-26/due-in-another-session",
      "Pending reports of a SYNC are dropped with its session; the next SYNC reports its own src only",
      also: ["LNK-23", "NTF-31"]
    ) { probe, _ in
      let (source, other) = (probe.makeSource(), probe.makeSource())
      try await probe.openDelivery(source: source, clock: Sample.noon)
      let ids = Array(1...UInt32(try await probe.storeRoom(3...12)))
      for id in ids { try await probe.expectWritten(Sample.json(id: id, more: ",\"exp\":1")) }
      let rows: [(synced: UInt32, isSubscribed: Bool)] = [(other, true), (source, false), (source, true)]
      for row in rows {
        try await probe.openShutSubscribed(as: source)
        try await probe.sendData(Sync(source, known: UInt32(ids.count)).bytes, channel: 0)
        // Some of them are sent and not acknowledged, the others wait.
        try await probe.grant(2)
        _ = try await probe.fence()
        try await probe.openDelivery(isSubscribed: row.isSubscribed)
        var reports = Unsolicited()
        try await probe.sync(Sync(row.synced), unsolicited: &reports)
        let isDue = row.synced == source && row.isSubscribed
        probe.expect(
          "ids reported to the SYNC of \(row.synced == source ? "the same" : "another") src",
          reports.goneIDs(source).sorted(), is: isDue ? ids : [])
        probe.expect("everything before SYNCED", reports.items.count, is: isDue ? ids.count : 0)
      }
      for id in ids { try await probe.expectWritten(Sample.removal(id: id)) }
    }

    Case(
      "NTF-31/behind-a-dismissal",
      "SYNCED counts the notifications that remain after the reports received before it",
      also: ["NTF-26", "NTF-32"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.openAfterRestart()
      try probe.requireEventRoom()
      let held = (1...3).map { Holding($0, Sample.json(id: $0)) }
      for holding in held { try await probe.expectWritten(holding.json) }
      for (dismissed, rest) in [(1, held[1...]), (3, held[1..<2])] as [(UInt32, ArraySlice<Holding>)] {
        try await probe.openShutSubscribed(as: source)
        try await probe.sendData(Sync(source, known: 3).bytes, channel: 0)
        _ = try await probe.fence()
        try await control.perform(.dismiss(dismissed))
        try await probe.grantAll()
        var before = Unsolicited()
        let synced = try await probe.awaitSynced(unsolicited: &before)
        let behind = try await probe.listen()
        let reports = [before, behind].map { $0.count("dismissed", source, dismissed) }
        // The SYNC can have made its report due before or after it.
        probe.expect(reports[0] + reports[1] > 0, "the dismissal of \(dismissed) is not reported")
        let expected = reports[0] > 0 ? Array(rest) : Array(rest) + [held[Int(dismissed) - 1]]
        let what = "with \(reports[0]) reports before SYNCED"
        probe.expect("n \(what)", Int(synced.count), is: expected.count)
        probe.expect("digest \(what)", synced.digest, is: Holding.digest(of: expected))
      }
      for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
    }

    Case(
      "ATT-19/eight-expire",
      "At least 8 pending reports are sent, in order; SYNC reports all, including dropped ones",
      also: ["NTF-26", "NTF-27", "NTF-33", "LNK-41"]
    ) { probe, _ in
      var (source, ids): (UInt32, [UInt32]) = (0, [])
      try await probe.openShutAtNoon { noon in
        source = probe.makeSource()
        _ = try await probe.roomyCount(8, as: source, at: noon - 1000)
        ids = Array(1...UInt32(try await probe.storeRoom(8...40)))
        for id in ids {
          let more = ",\"exp\":\(noon + [1, 2, 4][eventsGroup(of: id)])"
          try await probe.expectWritten(Sample.json(id: id, more: more))
        }
        return source
      }
      let early = try await probe.listen(for: .milliseconds(5400))
      probe.expect("notifications without credit", early.items, is: [])
      try await probe.grantAll()
      let sent = try await probe.listenUntilQuiet(for: .milliseconds(300))
      let reported = sent.goneIDs(source)
      probe.expect("reports of each of the first 8", reported.filter { $0 <= 8 }.sorted(), is: Array(1...8))
      let dropped = Set(ids).subtracting(reported)
      probe.expect(
        reported.map(eventsGroup).max() ?? 0 <= dropped.map(eventsGroup).min() ?? 2,
        "an earlier event than others is dropped: \(dropped.sorted()) of \(ids.count)")
      probe.expect(Set(reported).count == reported.count, "an id is reported twice: \(reported)")
      // Before the first SYNC a RESYNC may be left out.
      probe.expect(
        sent.messages.isEmpty || sent.messages == [[3]] && reported.count < ids.count,
        "the messages with \(reported.count) of \(ids.count) reports are \(sent.messages)")
      var reports = Unsolicited()
      try await probe.sync(Sync(source, known: ids.last ?? 0), unsolicited: &reports)
      try await probe.listen(into: &reports)
      probe.expect("ids reported at SYNC", reports.goneIDs(source).sorted(), is: ids)
      probe.expect("messages at SYNC", reports.messages, is: [])
      for id in ids { try await probe.expectWritten(Sample.removal(id: id)) }
    }
  }

  /// Which of three moments an id of `eventsOverflow` expires at: 8, 8 and the others.
  private static func eventsGroup(of id: UInt32) -> Int { id <= 8 ? 0 : id <= 16 ? 1 : 2 }
}

extension Unsolicited.Item {
  fileprivate var isSynced: Bool {
    if case .message(let bytes) = self { bytes.first == 2 } else { false }
  }
}

extension Probe {
  /// The present Count of a device with features and room for the case.
  fileprivate func roomyCount(
    _ room: Int, as source: UInt32? = nil, at clock: UInt64 = Sample.noon
  ) async throws -> Int {
    try await openDelivery(source: source, clock: clock)
    try requireEventRoom()
    try await requireStoreRoom(room)
    return try await readCount()
  }

  /// Repeats the SYN of the session, and sends others that are refused or ignored.
  fileprivate func expectOpensNothing(previous: UInt64, with tlvs: [TLV]) async throws {
    for kind in OpeningNone.allCases where kind != .remembered {
      try await expectOpensNone(kind, previous: previous, with: tlvs)
    }
    try await write(syn(Self.synTLVs(nonce: previous)))
  }

  /// Grants all credit and returns everything that the device sends until it has sent so many
  /// answers, and shortly after that.
  ///
  /// - Parameter isSynced: whether SYNCED counts as an answer.
  func collect(
    answers: Int, isSynced: Bool = false, file: String = #fileID, line: Int = #line
  ) async throws -> Unsolicited {
    try await grantAll()
    var unsolicited = Unsolicited()
    var count = 0
    let deadline = now + Self.patience
    while count < answers {
      guard let frame = try await nextData(until: deadline) else {
        throw CaseEnd.fault("\(count) of \(answers) answers when there is credit", file: file, line: line)
      }
      unsolicited.add(frame, isNarrow: isNarrow)
      let isAnswer = frame.channel == 4 ? frame.payload.first != 0x1B : isSynced && frame.payload.first == 2
      count += isAnswer ? 1 : 0
    }
    try await listen(into: &unsolicited, file: file, line: line)
    return unsolicited
  }
}

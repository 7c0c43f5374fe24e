import NotibotProtocol

/// What is gone without its writer, and how the writer learns of it.
extension Suite {
  static let deliveryGone: [Case] = [
    goneAtOnce, goneAtEachSync, goneAtAWrite, goneUntilRemoved, goneMeanwhile, goneOfOwnSource,
    goneUnsubscribed,
    goneRemembered, goneBeyondMTU, goneWithoutSync, actionOfIdentity, eviction, expiry, expiredAtOnce,
    resyncOnce,
  ]

  static let goneAtOnce = Case(
    "NTF-26/at-once", "A dismissal is told at once by id, src and item, and leaves n and digest", .delivery,
    also: ["NTF-11", "NTF-10", "NTF-32"], needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench)
    let (first, second) = (Sample.json(id: 5), Sample.json(id: 6))
    try await probe.expectWritten(first)
    try await probe.expectWritten(second)
    let before = try await probe.readCount()
    try await control.perform(.dismiss(1))
    let told = try await probe.listen()
    probe.expect("events of item 1", told.count("dismissed", source, 5, item: 1), is: 1)
    probe.expect("all that is told", told.items.count, is: 1)
    let after = try await probe.readCount()
    probe.expect("Count", after, is: before - 1)
    try await probe.expectHeld([Holding(6, second)], of: source, highest: 6)
  }

  static let goneAtEachSync = Case(
    "NTF-26/at-each-sync", "What is gone is told again before each SYNCED, and before it only", .delivery,
    also: ["NTF-31"], needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench)
    for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.json(id: id)) }
    try await control.perform(.dismiss(3))
    try await control.perform(.dismiss(1))
    _ = try await probe.listen()
    for round in 1...3 {
      // A new session changes nothing.
      if round == 3 { try await probe.openDelivery() }
      var told = Told()
      try await probe.sync(Sync(source, known: 3), told: &told)
      probe.expect("events of id 1 before SYNCED \(round)", told.count("dismissed", source, 1), is: 1)
      probe.expect("events of id 3 before SYNCED \(round)", told.count("dismissed", source, 3), is: 1)
      probe.expect("all that is told before SYNCED \(round)", told.items.count, is: 2)
      let behind = try await probe.listen()
      probe.expect("what is told behind SYNCED \(round)", behind.items, is: [])
    }
  }

  static let goneAtAWrite = Case(
    "NTF-26/at-a-write", "A write to what is gone is answered by success, and told once more", .delivery,
    also: ["NTF-23"], needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench)
    let json = Sample.json(id: 1)
    try await probe.expectWritten(json)
    try await control.perform(.dismiss(1))
    _ = try await probe.listen()
    let before = try await probe.readCount()
    for more in ["", ",\"rev\":1,\"ev\":\"m\"", ""] {
      var told = Told()
      let reply = try await probe.writeData(Sample.json(id: 1, more: more), told: &told)
      probe.expect("the answer to id 1\(more)", reply, is: [0x13])
      probe.expect("events of id 1\(more)", told.count("dismissed", source, 1), is: 1)
    }
    let after = try await probe.readCount()
    probe.expect("Count", after, is: before)
    try await probe.expectHeld([], of: source, highest: 1)
  }

  static let goneUntilRemoved = Case(
    "NTF-24/ends-the-telling", "ev \"r\" ends the telling of what is gone", .delivery, also: ["NTF-26"],
    needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench)
    try await probe.expectWritten(Sample.json(id: 1))
    try await probe.expectWritten(Sample.json(id: 2))
    try await control.perform(.dismiss(1))
    try await control.perform(.dismiss(2))
    _ = try await probe.listen()
    try await probe.expectWritten(Sample.removal(id: 1), "the removal of what is gone")
    for round in 1...2 {
      var told = Told()
      try await probe.sync(Sync(source, known: 2), told: &told)
      probe.expect("ids that are told to be gone at SYNC \(round)", told.goneIDs(source), is: [2])
    }
    try await probe.expectWritten(Sample.removal(id: 2))
    var told = Told()
    try await probe.sync(Sync(source, known: 2), told: &told)
    probe.expect("what is told when all is removed", told.items, is: [])
  }

  static let goneMeanwhile = Case(
    "NTF-26/between-sessions", "What was dismissed while no session was open is told at the next SYNC",
    .delivery,
    also: ["NTF-12", "NTF-31"], needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench)
    try await probe.expectWritten(Sample.json(id: 1))
    let kept = Sample.json(id: 2)
    try await probe.expectWritten(kept)
    try await probe.write(probe.frame(.fin))
    _ = try await probe.awaitFrame(.ack)
    try await control.perform(.dismiss(1))
    try await probe.openDelivery()
    let unasked = try await probe.listen()
    probe.expect("what is told before SYNC", unasked.events, is: [])
    var told = Told()
    let synced = try await probe.sync(Sync(source, known: 2), told: &told)
    probe.expect("ids that are told to be gone", told.goneIDs(source), is: [1])
    probe.expect("n", synced.count, is: 1)
    probe.expect("digest", synced.digest, is: Holding.digest(of: [Holding(2, kept)]))
  }

  static let goneOfOwnSource = Case(
    "NTF-26/of-its-src", "A SYNC tells what is gone of its own src, not of another's", .delivery,
    also: ["NTF-31"], needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench)
    let other = probe.makeSource()
    try await probe.expectWritten(Sample.json(id: 1))
    try await probe.expectWritten(Sample.json(id: 1, more: ",\"src\":\(other)"))
    try await control.perform(.dismiss(1))
    try await control.perform(.dismiss(2))
    let atOnce = try await probe.listen()
    probe.expect("events of the other src at once", atOnce.count("dismissed", other, 1, item: 2), is: 1)
    for (asked, silent) in [(source, other), (other, source)] {
      var told = Told()
      try await probe.sync(Sync(asked, known: 1), told: &told)
      probe.expect("ids of the src of SYNC", told.goneIDs(asked), is: [1])
      probe.expect("ids of the other src", told.goneIDs(silent), is: [])
    }
  }

  static let goneUnsubscribed = Case(
    "NTF-26/unsubscribed", "A host that is not subscribed is told nothing; what is gone waits for its SYNC",
    .delivery,
    also: ["ATT-17"], needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench, isSubscribed: false)
    try await probe.expectWritten(Sample.json(id: 1))
    try await control.perform(.dismiss(1))
    var told = try await probe.listen()
    probe.expect("what is told before the subscription", told.items, is: [])
    try await probe.sync(Sync(source), told: &told)
    probe.expect("events before the subscription", told.events, is: [])
    try await probe.request(Wire.literal("12 0700 0100"))
    try await probe.sync(Sync(source), told: &told)
    probe.expect("events after it", told.count("dismissed", source, 1), is: 1)
  }

  static let goneRemembered = Case(
    "NTF-26/remembers-64",
    "64 notifications that are gone are told at SYNC; a device that forgets more says RESYNC",
    .delivery, also: ["NTF-33"], needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench)
    let limit = 64 as UInt32
    try await probe.requireStoreRoom(Int(limit) + 1)
    for id in 1...(limit + 1) { try await probe.expectWritten(Sample.json(id: id)) }
    var told = Told()
    for item in 1...limit {
      try await control.perform(.dismiss(item))
      try await probe.listen(into: &told)
    }
    probe.expect("ids told at once", told.goneIDs(source), is: Array(1...limit))
    try await probe.openDelivery()
    told = Told()
    try await probe.sync(Sync(source, known: limit + 1), told: &told)
    probe.expect("ids told at SYNC", told.goneIDs(source).sorted(), is: Array(1...limit))
    told = Told()
    try await control.perform(.dismiss(limit + 1))
    try await probe.listen(into: &told)
    let resyncs = told.messages.filter { $0.first == 3 }.count
    told = Told()
    try await probe.sync(Sync(source, known: limit + 1), told: &told)
    let remembered = told.goneIDs(source).count
    let all = Int(limit) + 1
    probe.expect(
      remembered == all || remembered >= Int(limit) && resyncs == 1,
      "\(remembered) of \(all) are told, and RESYNC \(resyncs) times")
  }

  static let goneBeyondMTU = Case(
    "NTF-26/beyond-mtu", "Where the event does not fit, GONE tells it: at once, at SYNC and at a write",
    .delivery,
    also: ["NTF-11", "NTF-30"], needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench)
    try await probe.expectWritten(Sample.json(id: 0x0102_0304))
    try await probe.openNarrow()
    try await control.perform(.dismiss(1))
    let gone = [4, 1] + Wire.u32(source) + Wire.literal("04030201")
    var told = try await probe.listen()
    probe.expect("the messages at once", told.messages, is: [gone])
    probe.expect("the events at once", told.events, is: [])
    for round in 1...2 {
      told = Told()
      try await probe.sync(Sync(source), told: &told)
      probe.expect("the messages before SYNCED \(round)", told.messages, is: [gone])
      probe.expect("the events before SYNCED \(round)", told.events, is: [])
    }
  }

  static let goneWithoutSync = Case(
    "NTF-26/without-sync", "Where SYNC is not in use, an event that does not fit is not told, others are",
    .delivery,
    also: ["NTF-11", "NTF-30"], needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench, features: 0b0011)
    try await probe.expectWritten(Sample.json(id: 1))
    try await probe.expectWritten(Sample.json(id: 2))
    try await control.perform(.dismiss(1))
    let wide = try await probe.listen()
    probe.expect("events that fit", wide.count("dismissed", source, 1, item: 1), is: 1)
    try await probe.openNarrow(source: source, features: 0b0011)
    try await control.perform(.dismiss(2))
    let narrow = try await probe.listen()
    probe.expect("what is told when it does not fit", narrow.items, is: [])
  }

  static let actionOfIdentity = Case(
    "NTF-26/action", "The event of an action carries id and src as well", .delivery, also: ["NTF-11"],
    needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench)
    let json = Sample.json(id: 9, more: ",\"act\":[\"Yes\",\"No\"]")
    try await probe.expectWritten(json)
    try await control.perform(.action(1, 1))
    let told = try await probe.listen()
    probe.expect("events of the action", told.actions(source, 9, act: 1), is: 1)
    let text = told.events.first ?? ""
    probe.expect(Sample.isEvent(text, "action", item: 1, action: 1), "the event is \(text)")
    try await probe.expectHeld([Holding(9, json)], of: source, highest: 9)
  }

  static let eviction = Case(
    "NTF-25/full",
    "A full store answers 0x11, or evicts the oldest of the lowest level if that is lower, and tells it",
    .delivery, also: ["NTF-8", "NTF-23", "NTF-26"], needs: [.control, .strict]
  ) { bench in
    let probe = bench.probe
    let source = try await openAfterRestart(bench)
    let capacity = Int(probe.session.announced.number(of: 0x13) ?? 0)
    let before = try await probe.readCount()
    guard (before + 4...2000).contains(capacity) else {
      throw CaseSkipped("the store holds \(capacity), too many or too few to fill")
    }
    // A plain one, one of level 1 that does not say so, two of level 0, and the rest of level 2.
    try await probe.expectWritten(Sample.json("plain"))
    var held = [Holding(1, Sample.json(id: 1)), Holding(2, Sample.json(id: 2, more: ",\"lvl\":0"))]
    held.append(Holding(3, Sample.json(id: 3, more: ",\"lvl\":0")))
    for index in 4..<(capacity - before) {
      held.append(Holding(UInt32(index), Sample.json(id: UInt32(index), more: ",\"lvl\":2")))
    }
    for holding in held { try await probe.expectWritten(holding.json, "notification \(holding.id)") }
    var id = UInt32(capacity) + 1
    // What each level may push out, by id; none for what is not lower.
    for (level, victim) in [(0, nil), (1, 2), (1, 3), (1, nil), (2, 1), (3, nil)] as [(Int, UInt32?)] {
      // The last of these would push out one of those of level 1 that were written here.
      guard level < 3 else { break }
      id += 1
      let json = Sample.json(id: id, more: ",\"lvl\":\(level)")
      var told = Told()
      let reply = try await probe.writeData(json, told: &told)
      guard let victim, reply == [0x13] else {
        probe.expect("the answer of a full store to level \(level)", reply, is: Wire.literal("01 12 0600 11"))
        probe.expect("what is told of it", told.items, is: [])
        continue
      }
      probe.expect("ids told to be evicted for level \(level)", told.count("evicted", source, victim), is: 1)
      probe.expect("ids told to be gone for level \(level)", told.goneIDs(source), is: [victim])
      held.removeAll { $0.id == victim }
      held.append(Holding(id, json))
    }
    let highest = held.map(\.id).max() ?? 0
    try await probe.expectHeld(held, of: source, highest: highest)
    let after = try await probe.readCount()
    probe.expect("Count", after, is: capacity)
  }

  static let expiry = Case(
    "NTF-27/expires",
    "What has expired is told and no longer counted, and stays in n and digest until it is removed",
    .delivery, also: ["NTF-26", "NTF-10", "NTF-32"], needs: [.virtualTime]
  ) { bench in
    let probe = bench.probe
    let source = probe.makeSource()
    let noon = 1_800_000_000 as UInt64
    try await probe.openDelivery(source: source, clock: noon)
    try await probe.requireStoreRoom(2)
    try await probe.request(Wire.literal("12 0400 0100"))
    let soon = Sample.json(id: 1, more: ",\"exp\":\(noon + 60)")
    let later = Sample.json(id: 2, more: ",\"exp\":\(noon + 4000)")
    try await probe.expectWritten(soon)
    try await probe.expectWritten(later)
    let before = try await probe.readCount()
    let early = try await probe.listen(for: .seconds(55))
    probe.expect("what is told before the time", early.events, is: [])
    let told = try await probe.listen(for: .seconds(10))
    probe.expect("events of the expired one", told.count("expired", source, 1), is: 1)
    probe.expect("counts told", told.counts, is: [UInt16(before - 1)])
    try await probe.expectHeld(
      [Holding(1, soon), Holding(2, later)], of: source, highest: 2, "with the expired one")
    var again = Told()
    try await probe.sync(Sync(source, known: 2), told: &again)
    probe.expect("events of it before SYNCED", again.count("expired", source, 1), is: 1)
    try await probe.expectWritten(Sample.removal(id: 1), "the removal of the expired one")
    try await probe.expectHeld([Holding(2, later)], of: source, highest: 2, "without it")
    let after = try await probe.readCount()
    probe.expect("Count", after, is: before - 1)
  }

  static let expiredAtOnce = Case(
    "NTF-27/expired-when-written", "What has expired when it comes is stored, not shown, and told", .delivery,
    also: ["NTF-26", "NTF-23"]
  ) { bench in
    let probe = bench.probe
    let source = probe.makeSource()
    let noon = 1_800_000_000 as UInt64
    try await probe.openDelivery(source: source, clock: noon)
    try await probe.requireStoreRoom(1)
    let before = try await probe.readCount()
    let json = Sample.json(id: 1, more: ",\"exp\":\(noon - 10)")
    var told = Told()
    let reply = try await probe.writeData(json, told: &told)
    probe.expect("the answer", reply, is: [0x13])
    probe.expect("events of the expired one", told.count("expired", source, 1), is: 1)
    let after = try await probe.readCount()
    probe.expect("Count", after, is: before)
    try await probe.expectHeld([Holding(1, json)], of: source, highest: 1)
  }

  static let resyncOnce = Case(
    "NTF-33/once", "A device that dropped an event says RESYNC, once until the next SYNC", .delivery,
    also: ["ATT-19", "NTF-30", "NTF-31"], needs: [.control]
  ) { bench in
    let probe = bench.probe
    let control = try bench.requireControl()
    let source = try await openAfterRestart(bench)
    try await probe.expectWritten(Sample.json(id: 1))
    for round in 1...2 {
      // Events of actions are remembered nowhere else: far more than 8 waiting, and the credit of a host that stands still.
      let credit = probe.session.credit
      probe.session.credit = 0
      try await probe.write(probe.frame(.ack))
      for _ in 0..<80 { try await control.perform(.action(1, 0)) }
      probe.session.credit = credit
      try await probe.write(probe.frame(.ack))
      var told = try await probe.listen(for: .milliseconds(600))
      let events = told.actions(source, 1, act: 0)
      probe.expect((8..<80).contains(events), "\(events) of 80 events are told")
      probe.expect("messages of round \(round)", told.messages, is: [[3]])
      for _ in 0..<2 { try await control.perform(.action(1, 1)) }
      told = try await probe.listen()
      probe.expect("events when there is room again", told.actions(source, 1, act: 1), is: 2)
      probe.expect("messages before SYNC", told.messages, is: [])
      told = Told()
      try await probe.sync(Sync(source, known: 1), told: &told)
      probe.expect("what is told at SYNC", told.items, is: [])
    }
  }

  /// Restarts the device, so that items are numbered from 1, and opens a session with a new src.
  private static func openAfterRestart(
    _ bench: Bench, features: UInt32 = Probe.deliveryFeatures, isSubscribed: Bool = true
  ) async throws -> UInt32 {
    _ = try await bench.restart()
    let source = bench.probe.makeSource()
    try await bench.probe.openDelivery(source: source, features: features, isSubscribed: isSubscribed)
    try await bench.probe.requireStoreRoom(3)
    return source
  }
}

import NotibotProtocol
import SuiteWire

/// When a device looks at `exp`, in seconds that pass: nothing is asked of it meanwhile.
extension Suite {
  static let expiryTimers = chapter(.delivery) {
    Case(
      "NTF-27/later-clock",
      "A later CLOCK or exp applies to the waiting time as well: sooner, later, and of one changed",
      also: ["NTF-10", "NTF-23", "NTF-26"]
    ) { probe, _ in
      let noon = Sample.noon
      var source: UInt32 = 0
      var start = probe.now
      // A second SYN in the first seconds, before anything expires; on a slow machine not at once.
      for _ in 0..<5 {
        source = probe.makeSource()
        try await probe.openDelivery(source: source, clock: noon)
        try await probe.requireStoreRoom(4)
        // Sooner by the second CLOCK, and by a change: from another exp, and from none.
        for (id, seconds) in [(1, 1000), (2, 5000), (3, nil)] as [(UInt32, UInt64?)] {
          let more = seconds.map { ",\"exp\":\(noon + $0)" } ?? ""
          try await probe.expectWritten(Sample.json(id: id, more: more))
        }
        try await probe.openDelivery(source: source, clock: noon + 1000 - 4)
        start = probe.now
        // The time goes on after its session.
        try await probe.openDelivery(source: source)
        try await probe.request(Wire.literal("12 0400 0100"))
        try await probe.expectWritten(Sample.json(id: 3, more: ",\"rev\":1,\"exp\":\(noon + 1000)"))
        if probe.now - start < .milliseconds(500) { break }
        for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
      }
      try await probe.expectWritten(Sample.plain(expires: noon + 1000))
      // The last write is the one that expires first.
      try await probe.expectWritten(Sample.json(id: 2, more: ",\"rev\":1,\"exp\":\(noon + 1000 - 2)"))
      _ = try await probe.listen()
      let count = try await probe.readCount()
      let gone: [(seconds: String, until: Int64, ids: [UInt32], count: Int)] = [
        ("1 s before the first exp", 900, [], 0), ("at the first exp", 3400, [2], 1),
        ("at the second one", 5900, [1, 3], 4),
      ]
      for row in gone {
        let unsolicited = try await probe.listen(for: start + .milliseconds(row.until) - probe.now)
        probe.expect("ids that are gone \(row.seconds)", unsolicited.goneIDs(source).sorted(), is: row.ids)
        probe.expect(
          "the last Count \(row.seconds)", unsolicited.counts.last,
          is: row.count == 0 ? nil : UInt16(clamping: count - row.count))
      }
      for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
      try await expectNotSooner(probe)
    }

    Case(
      "NTF-27/60-days", "The device's time does not wrap at 32 bits of milliseconds",
      also: ["NTF-10", "NTF-26"], needs: [.virtualTime]
    ) { probe, _ in
      let source = probe.makeSource()
      let (noon, day) = (Sample.noon, 86_400 as UInt64)
      try await probe.openDelivery(source: source, clock: noon)
      try await probe.requireStoreRoom(4)
      let before = try await probe.readCount()
      // 32 bits of milliseconds wrap after 49.7 days.
      let lifetimes = [1, 40, 55, 70] as [UInt64]
      for (index, days) in lifetimes.enumerated() {
        try await probe.expectWritten(
          Sample.json(id: UInt32(index + 1), more: ",\"exp\":\(noon + days * day)"))
      }
      let start = probe.now
      try await probe.requireIdle()
      for (days, gone) in [(20, [1]), (45, [1, 2]), (52, [1, 2]), (60, [1, 2, 3])] as [(UInt64, [UInt32])] {
        _ = try await probe.frames(for: start + .seconds(days * day) - probe.now)
        // The session ended long ago; the new one brings no CLOCK.
        try await probe.openDelivery(source: source)
        let count = try await probe.readCount()
        probe.expect("Count after \(days) days", count, is: before + lifetimes.count - gone.count)
        var reports = Unsolicited()
        try await probe.sync(Sync(source, known: 4), unsolicited: &reports)
        probe.expect("ids reported after \(days) days", reports.goneIDs(source).sorted(), is: gone)
      }
      for id in 1...4 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
    }
  }

  /// A CLOCK that is earlier than the one before: what would have expired by that one stays.
  private static func expectNotSooner(_ probe: Probe) async throws {
    let noon = Sample.noon
    var (source, before): (UInt32, Int) = (0, 0)
    for _ in 0..<5 {
      source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: noon)
      before = try await probe.readCount()
      try await probe.expectWritten(Sample.json(id: 1, more: ",\"exp\":\(noon - 10)"))
      let start = probe.now
      try await probe.expectWritten(Sample.json(id: 2, more: ",\"exp\":\(noon + 1)"))
      try await probe.openDelivery(source: source, clock: noon - 1000)
      if probe.now - start < .milliseconds(500) { break }
    }
    // One has expired, and stays hidden.
    let count = try await probe.readCount()
    probe.expect("Count when the time is set back", count, is: before + 1)
    var reports = Unsolicited()
    try await probe.sync(Sync(source, known: 2), unsolicited: &reports)
    probe.expect("ids reported at SYNC", reports.goneIDs(source), is: [1])
    // Sooner than the one that is waited for.
    try await probe.expectWritten(Sample.json(id: 3, more: ",\"exp\":\(noon - 1000 + 2)"))
    let unsolicited = try await probe.listen(for: .milliseconds(3900))
    probe.expect("ids that are gone after an earlier CLOCK", unsolicited.goneIDs(source), is: [3])
    let after = try await probe.readCount()
    probe.expect("Count at the exp by the previous CLOCK", after, is: count)
    for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.removal(id: id)) }
  }
}

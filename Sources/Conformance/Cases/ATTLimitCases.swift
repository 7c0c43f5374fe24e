import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// The limits of the attribute server, and queued notifications when a subscription ends.
extension Suite {
  static let attLimits =
    chapter(.att) {
      Case(
        "ATT-9/long-form-of-a-type",
        "A type of 2 bytes is also found in its 16-byte form", also: ["ATT-16"], isOfServer: true
      ) { probe, _ in
        try await probe.open()
        // The Bluetooth base UUID with 0x2803 and 0x2800, least significant byte first.
        let base = Wire.literal("fb349b5f8000 0080 0010 0000")
        let found = try await probe.request(Wire.literal("08 0100 0700") + base + Wire.literal("0328 0000"))
        probe.expect(
          "the first characteristic", Array(found.prefix(7)), is: Wire.literal("09 15 0200 12 0300"))
        let group = try await probe.request(Wire.literal("10 0100 ffff") + base + Wire.literal("0028 0000"))
        probe.expect("the service", group, is: Wire.literal("11 14 0100 0700") + service)
        let other = try await probe.request(Wire.literal("08 0100 0700") + base + Wire.literal("0328 0100"))
        probe.expect("another UUID that contains these bytes", other, is: Wire.literal("01 08 0100 0a"))
      }

      Case(
        "ATT-14/overlapping-parts",
        "Parts that overlap are error 0x07 at Execute, and nothing is stored"
      ) { probe, _ in
        try await probe.openWide()
        let before = try await probe.readCount()
        let json = Sample.json("in parts that overlap")
        try await probe.request(Wire.literal("16 0600 0000") + json.prefix(18))
        try await probe.request([0x16, 6, 0] + Wire.u16(17) + json.dropFirst(17).prefix(18))
        let reply = try await probe.request(Wire.literal("18 01"))
        probe.expect("the answer to Execute", reply, is: Wire.literal("01 18 0600 07"))
        let after = try await probe.readCount()
        probe.expect("Count", after, is: before)
      }

      Case("ATT-14/queue-of-1024-bytes", "The queue takes 8 parts of 128 bytes") { probe, _ in
        try await probe.openWide()
        try probe.requireMTU(133)
        for index in 0..<8 {
          let part = [0x06, 0] + Wire.u16(UInt16(128 * index)) + [UInt8](repeating: 0x20, count: 128)
          let echo = try await probe.request([0x16] + part)
          probe.expect("whether part \(index) is echoed", echo == [0x17] + part, is: true)
        }
        try await probe.request(Wire.literal("18 00"))
      }

      Case(
        "ATT-19/eight-wait",
        "While the device is not allowed to send, the first 8 notifications of Data are queued, in order",
        also: ["NTF-11", "LNK-41"], needs: [.control, .session]
      ) { probe, bench in
        let control = try bench.requireControl()
        try await bench.restart()
        try await probe.openWide()
        try probe.requireEventRoom()
        try await probe.requireStoreRoom(11)
        for index in 1...11 { try await probe.writeData(Sample.json("event \(index)")) }
        try await probe.openShut()
        try await probe.grant(2)
        try await probe.request(Wire.literal("02 0502"))
        try await probe.request(Wire.literal("12 0700 0100"))
        let order = [3, 1, 11, 2, 7, 4, 6, 5, 10, 9, 8] as [UInt32]
        for item in order { try await control.perform(.dismiss(item)) }
        _ = try await probe.fence()
        try await probe.grant(64)
        let events = try await probe.listen(for: .milliseconds(600)).events
        probe.expect(events.count >= 8, "\(events.count) events were queued")
        for (event, item) in zip(events.prefix(8), order) {
          probe.expect(
            Sample.isEvent(event, "dismissed", item: item), "the event of item \(item) is \(event)")
        }
      }

      Case(
        "ATT-17/what-waits-at-the-end",
        "Notifications that are queued when a subscription ends are not sent after the answer that ends it",
        also: ["ATT-12"], needs: [.control, .session]
      ) { probe, bench in
        let control = try bench.requireControl()
        try await queueNotification(bench, thenWriting: 0)
        var answers = 0
        for item in try await probe.listen(for: .milliseconds(600)).items {
          if item == .other([0x13]) { answers += 1 }
          let isLate = answers >= 2 && item != .other([0x13])
          probe.expect(!isLate, "after the end of the subscriptions: \(item)")
        }
        probe.expect("answers to the ends of the subscriptions", answers, is: 2)
        try await control.perform(.fill(0))
      }

      Case(
        "ATT-12/subscribed-again",
        "Writing 1 to a CCCD that is 1 keeps its queued notifications, and causes none",
        also: ["ATT-17", "ATT-19"], needs: [.control, .session]
      ) { probe, bench in
        let control = try bench.requireControl()
        try await queueNotification(bench, thenWriting: 1)
        let unsolicited = try await probe.listen(for: .milliseconds(600))
        let count = try await probe.readCount()
        probe.expect("values of Count", unsolicited.counts, is: [UInt16(clamping: count)])
        let acts = (0..<2 as Range<UInt8>).map { act in
          unsolicited.events.filter { Sample.isEvent($0, "action", item: 1, action: act) }.count
        }
        if !probe.isNarrow { probe.expect("events of each action", acts, is: [1, 1]) }
        for handle in [4, 7] as [UInt8] { try await probe.request([0x12, handle, 0, 1, 0]) }
        let later = try await probe.listen()
        probe.expect("notifications after writing 1 once more", later.items, is: [])
        try await control.perform(.fill(0))
      }

      Case(
        "ATT-12/change-waits",
        "A queued change of Count is sent also after 1 is written to its CCCD again",
        also: ["ATT-17", "ATT-19"], needs: [.session, .strict]
      ) { probe, _ in
        let write = try await openSubscribedAndShut(probe, room: 1)
        try await probe.sendData(write)
        try await probe.sendData(Wire.literal("12 0400 0100"))
        _ = try await probe.fence()
        try await probe.grant(64)
        let unsolicited = try await probe.listen(for: .milliseconds(600))
        let count = try await probe.readCount()
        probe.expect("values of Count", unsolicited.counts, is: [UInt16(clamping: count)])
      }

      Case(
        "ATT-19/count-behind-its-writes",
        "A queued change of Count is sent behind the responses to all writes that it counts",
        also: ["ATT-18"], needs: [.session, .strict]
      ) { probe, _ in
        for stored in [2, 1] {
          let write = try await openSubscribedAndShut(probe, room: stored)
          try await probe.sendData(write)
          try await probe.sendData(stored == 2 ? write : Wire.literal("12 0600 7B"))
          _ = try await probe.fence()
          try await probe.grant(64)
          let items = try await probe.listen(for: .milliseconds(600)).items
          let before = try await probe.readCount() - stored
          var answers = 0
          for item in items {
            if item == .other([0x13]) { answers += 1 }
            guard case .count(let value) = item else { continue }
            probe.expect(
              Int(value) <= before + answers, "Count is \(value) after \(answers) responses, it was \(before)"
            )
          }
          probe.expect("answers to writes that are stored", answers, is: stored)
          // A write that is refused changes nothing, and its answer can be the last item.
          let last = items.last { $0 != .other(Wire.literal("01 12 0600 80")) }
          probe.expect("the last item", last, is: .count(UInt16(clamping: before + stored)))
        }
      }

      Case(
        "ATT-19/while-bytes-are-full",
        "While the host's bytes are full, values of Count become one, and unsubscribing drops it",
        also: ["ATT-12", "ATT-17", "LNK-42"], needs: [.session, .strict]
      ) { probe, _ in
        for isEnding in [false, true] {
          try await probe.openWide(
            Probe.synTLVs(nonce: probe.makeNonce(), features: 0b0011, bytes: 1080) + [.clock(Sample.noon)])
          let json = probe.expiring(Sample.json("waits"))
          var write = Wire.literal("12 0600") + json
          if write.count > probe.session.mtu {
            guard isEnding else { continue }
            try await probe.prepare(json)
            write = Wire.literal("18 01")
          }
          try await probe.requireStoreRoom(2)
          let before = try await probe.readCount()
          try await probe.request(Wire.literal("12 0400 0100"))
          try await probe.grantAll()
          // 36 answers of 29 bytes, one of 15, and that to the write, of 13: 8 bytes are left, and
          // Count takes 17.
          let first = probe.session.expectedSeq
          for _ in 0..<36 { try await probe.answerUnhandled([0x0A, 1, 0], since: first) }
          try await probe.answerUnhandled([0x0A, 3, 0], since: first)
          try await probe.answerUnhandled(write, since: first)
          let early = try await probe.fence().filter { $0.kind == .data }
          probe.expect("DATA beyond the host's bytes", early.map(\.payload), is: [])
          try await probe.sendData(isEnding ? Wire.literal("12 0400 0000") : write)
          _ = try await probe.frames(for: probe.settleTime)
          try await probe.write(probe.frame(.ping))
          let handled = try await probe.awaitFrame(.pong).payload.first
          let isHandled = handled == probe.session.nextSeq
          try await probe.grantAll()
          let counts = try await probe.listen(for: .milliseconds(600)).counts.map(Int.init)
          // A device that takes the second request only now may have sent Count before.
          let earlier = isHandled ? [] : [before + 1]
          let last = isEnding ? [] : [before + 2]
          probe.expect(
            counts == last || counts == earlier + last, "the values of Count are \(counts), it was \(before)")
          probe.expect("Count at the end", try await probe.readCount(), is: before + (isEnding ? 1 : 2))
        }
      }

      Case(
        "ATT-19/behind-an-answer",
        "Behind an answer that exceeds the host's bytes, values of Count become one",
        also: ["ATT-17", "LNK-42"], needs: [.session, .control]
      ) { probe, bench in
        let control = try bench.requireControl()
        try await control.perform(.fill(0))
        try await probe.openWide(Probe.synTLVs(nonce: probe.makeNonce(), features: 0b0011, bytes: 1080))
        let prepare = Wire.literal("16 0600 0000") + [UInt8](repeating: 0x20, count: 400)
        try probe.requireMTU(prepare.count)
        try await probe.request(Wire.literal("12 0400 0100"))
        try await probe.grantAll()
        // 24 answers of 29 bytes leave 384 bytes, and the next answer takes 417.
        let first = probe.session.expectedSeq
        for _ in 0..<24 { try await probe.answerUnhandled([0x0A, 1, 0], since: first) }
        try await probe.awaitRoom()
        try await probe.sendData(prepare)
        var early = try await probe.fence()
        for others in [1, 3] {
          try await control.perform(.fill(others))
          early += try await probe.frames(for: probe.settleTime)
        }
        guard !early.contains(where: { $0.kind == .data }) else {
          throw CaseEnd.skip("the device sends Count before an answer that has to wait")
        }
        try await probe.grantAll()
        let counts = try await probe.listen(for: .milliseconds(600)).counts
        probe.expect("the values of Count", counts, is: [3])
        try await control.perform(.fill(0))
      }
    }
    + chapter(.notifications) {
      Case(
        "NTF-11/event-that-just-fits",
        "An event of MTU − 3 bytes is sent, one of MTU − 2 is not", also: ["ATT-17"], needs: [.control]
      ) { probe, bench in
        let control = try bench.requireControl()
        try await bench.restart()
        try await probe.openWide()
        try probe.requireEventRoom()
        try await probe.requireStoreRoom(3)
        for index in 1...3 { try await probe.writeData(Sample.json("item \(index)")) }
        try await probe.request(Wire.literal("12 0700 0100"))
        try await control.perform(.dismiss(1))
        let deadline = probe.now + Probe.patience
        let length = try await probe.nextPDU(until: deadline)?.count ?? 0
        for (item, mtu) in [(2, length), (3, length - 1)] as [(UInt32, Int)] {
          guard mtu >= 23 else { throw CaseEnd.skip("an event has \(length - 3) bytes") }
          try await probe.open()
          try await probe.request([0x02] + Wire.u16(UInt16(mtu)))
          try await probe.request(Wire.literal("12 0700 0100"))
          try await control.perform(.dismiss(item))
          let events = try await probe.listen().events
          probe.expect("events of \(length - 3) bytes at MTU \(mtu)", events.count, is: mtu == length ? 1 : 0)
        }
      }

      Case(
        "NTF-11/items-once",
        "A new notification gets the next number, even if an earlier one is gone", needs: [.control]
      ) { probe, bench in
        let control = try bench.requireControl()
        try await bench.restart()
        try await probe.openWide()
        try probe.requireEventRoom()
        try await probe.requireStoreRoom(3)
        for index in 1...3 { try await probe.writeData(Sample.json("item \(index)")) }
        try await control.perform(.dismiss(1))
        try await control.perform(.dismiss(3))
        try await probe.writeData(Sample.json("item 4"))
        try await probe.request(Wire.literal("12 0700 0100"))
        if try await control.attempt(.dismiss(4)) != nil {
          return probe.expect(false, "there is no item 4 after four writes and two dismissals")
        }
        let events = try await probe.listen().events
        probe.expect(
          events.count == 1 && Sample.isEvent(events[0], "dismissed", item: 4), "the events are \(events)")
      }
    }

  /// Subscribes to Count in a session in which the device is not allowed to send any more; returns
  /// a write of Data.
  private static func openSubscribedAndShut(_ probe: Probe, room: Int) async throws -> [UInt8] {
    try await probe.openForExpiring()
    let write = Wire.literal("12 0600") + probe.expiring(Sample.json("waits"))
    try probe.requireMTU(write.count)
    try await probe.requireStoreRoom(room)
    try await probe.openShut(features: 0b0011)
    guard probe.session.features & 1 == 1, probe.session.peerRequests > 1 else {
      throw CaseEnd.skip("the device takes one request at a time")
    }
    try await probe.grant(2)
    try await probe.request(Wire.literal("02 0502"))
    try await probe.request(Wire.literal("12 0400 0100"))
    return write
  }

  /// Queues a change of Count and two events, without credit to send them, then writes both CCCDs
  /// and grants credit.
  private static func queueNotification(_ bench: Bench, thenWriting value: UInt8) async throws {
    let (probe, control) = (bench.probe, try bench.requireControl())
    try await bench.restart()
    try await probe.openWide()
    try await probe.requireStoreRoom(1)
    try await probe.writeData(Sample.json("acted on"))
    try await probe.openShut()
    try await probe.grant(3)
    try await probe.request(Wire.literal("02 0502"))
    try await probe.request(Wire.literal("12 0400 0100"))
    try await probe.request(Wire.literal("12 0700 0100"))
    try await control.perform(.fill(3))
    for act in [0, 1] as [UInt8] { try await control.perform(.action(1, act)) }
    for handle in [4, 7] as [UInt8] { try await probe.sendData([0x12, handle, 0, value, 0]) }
    _ = try await probe.fence()
    try await probe.grant(64)
  }
}

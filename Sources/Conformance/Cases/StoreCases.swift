import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// The state of notifications once they are stored, and the count.
extension Suite {
  static let storeLimits = chapter(.notifications) {
    Case(
      "NTF-9/firmware-mode",
      "In firmware mode every write succeeds, and only the count shows what was stored",
      needs: [.firmwareMode]
    ) { probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      let before = try await probe.readCount()
      for input in [
        "{", "[]", "{\"app\":\"a\"}", "{\"app\":1,\"title\":\"b\",\"text\":\"c\",\"timestamp\":1}", "",
      ] {
        try await expectSuccess(probe, Array(input.utf8), "the answer to \(input)")
      }
      let between = try await probe.readCount()
      probe.expect("Count after the invalid ones", between, is: before)
      let tooLong = try await probe.writeData(Sample.json(length: 513))
      probe.expect("the answer to 513 bytes", tooLong, is: Wire.literal("01 12 0600 0d"))
      try await probe.writeData(Sample.json("good"))
      let after = try await probe.readCount()
      probe.expect("Count after a good one", after, is: before + 1)
    }

    Case(
      "NTF-9/full-store", "In firmware mode a full store answers success to every write, and stores nothing",
      also: ["NTF-8", "NTF-11"], needs: [.firmwareMode, .control, .session]
    ) { probe, bench in
      let control = try bench.requireControl()
      // A restart would end the mode on some rigs.
      try await control.perform(.clear)
      try await probe.openWide()
      try await probe.fillStore()
      let full = try await probe.readCount()
      for json in [Sample.json("one too many"), [0x7B]] {
        try await expectSuccess(probe, json, "the answer of a full store")
        let count = try await probe.readCount()
        probe.expect("Count", count, is: full)
      }
      let tooLong = try await probe.writeData(Sample.json(length: 513))
      probe.expect("the answer to 513 bytes", tooLong, is: Wire.literal("01 12 0600 0d"))
      try await control.perform(.clear)
    }

    Case(
      "NTF-8/store-full",
      "A full store answers 0x11, which takes no item number, and accepts a notification again after a dismissal",
      also: ["NTF-11"], needs: [.control, .strict]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      try await probe.openWide()
      let kept = try await probe.readCount()
      let capacity = try await fillStore(probe)
      for _ in 0..<2 {
        let full = try await probe.writeData(Sample.json("one too many"))
        probe.expect("the answer of a full store", full, is: Wire.literal("01 12 0600 11"))
      }
      let bad = try await probe.writeData([0x7B])
      probe.expect("the answer of a full store to bad JSON", bad.first, is: 0x01)
      let count = try await probe.readCount()
      probe.expect("Count", count, is: capacity)
      try await control.perform(.dismiss(1))
      let again = try await probe.writeData(Sample.json("fits again"))
      probe.expect("the answer after a dismissal", again, is: [0x13])
      // A refused one has taken no number.
      let next = UInt32(capacity - kept + 1)
      if try await control.attempt(.dismiss(next)) != nil {
        probe.expect(false, "there is no item \(next) after \(next - 1) that were stored")
      }
      try await control.perform(.clear)
    }

    Case(
      "NTF-10/saturates", "Count stops at 65535, and 65536 is not notified", also: ["ATT-19"],
      needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      try await probe.openWide()
      let start = try await probe.readCount()
      try await control.perform(.fill(65534 - start))
      let before = try await probe.readCount()
      probe.expect("Count", before, is: 65534)
      var seen: [[UInt8]] = []
      try await probe.request(Wire.literal("12 0400 0100"), notifications: &seen)
      try await control.perform(.fill(65535 - start))
      _ = try await probe.request(Wire.literal("0a 0100"), notifications: &seen)
      probe.expect("notifications of 65535", seen, is: [Wire.literal("1b 0300 ffff")])
      seen = []
      try await control.perform(.fill(65536 - start))
      try await control.perform(.fill(65546 - start))
      let count = try await probe.request(Wire.literal("0a 0300"), notifications: &seen)
      probe.expect("Count of 65546", count, is: Wire.literal("0b ffff"))
      _ = try await probe.request(Wire.literal("0a 0100"), notifications: &seen)
      probe.expect("notifications above 65535", seen, is: [])
      try await control.perform(.clear)
    }

    Case(
      "NTF-11/dismissed", "A dismissal is reported on Data by item number, and Count decreases",
      also: ["NTF-10", "ATT-17"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      try await probe.openWide()
      try probe.requireEventRoom()
      try await probe.requireStoreRoom(3)
      for index in 1...3 { try await probe.writeData(Sample.json("item \(index)")) }
      let before = try await probe.readCount()
      try await control.perform(.dismiss(1))
      let unsubscribed = try await probe.requestFence()
      probe.expect("notifications before the subscription", unsubscribed, is: [])
      try await probe.request(Wire.literal("12 0700 0100"))
      try await probe.request(Wire.literal("12 0400 0100"))
      try await control.perform(.dismiss(2))
      let deadline = probe.now + Probe.patience
      var notifications: [[UInt8]] = []
      while notifications.count < 2, let pdu = try await probe.nextPDU(until: deadline) {
        notifications.append(pdu)
      }
      let counts = notifications.filter { Array($0.prefix(3)) == Wire.literal("1b 0300") }
      probe.expect(
        "notifications of Count", counts,
        is: [Wire.literal("1b 0300") + Wire.u16(UInt16(clamping: before - 2))]
      )
      let event = notifications.first { Array($0.prefix(3)) == Wire.literal("1b 0600") } ?? []
      let text = String(decoding: event.dropFirst(3), as: UTF8.self)
      probe.expect(Sample.isEvent(text, "dismissed", item: 2), "the event of item 2 is \(text)")
    }

    Case(
      "NTF-11/event-too-long", "An event that does not fit in MTU - 3 bytes is not sent at all, Count is",
      also: ["ATT-17"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      try await probe.writeData(Sample.json("dismissed at MTU 23"))
      try await probe.open()
      try await probe.request(Wire.literal("12 0700 0100"))
      try await probe.request(Wire.literal("12 0400 0100"))
      try await control.perform(.dismiss(1))
      let notifications = try await probe.awaitFrame(.data)
      probe.expect("the notification", Array(notifications.payload.prefix(3)), is: Wire.literal("1b 0300"))
      probe.session.expectedSeq &+= 1
      let others = try await probe.requestFence()
      probe.expect("other notifications", others, is: [])
    }

    Case(
      "NTF-11/action", "An action that the user chose is reported on Data; Count stays", needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      try await probe.openWide()
      try probe.requireEventRoom()
      try await probe.requireStoreRoom(1)
      try await probe.writeData(Sample.json("with an action"))
      let before = try await probe.readCount()
      try await probe.request(Wire.literal("12 0700 0100"))
      try await control.perform(.action(1, 2))
      let deadline = probe.now + Probe.patience
      let pdu = try await probe.nextPDU(until: deadline) ?? []
      let text = String(decoding: pdu.dropFirst(3), as: UTF8.self)
      probe.expect(Sample.isEvent(text, "action", item: 1, action: 2), "the event is \(text)")
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "NTF-12/outlives-session", "Stored notifications outlive the session, closed or interrupted",
      needs: [.session]
    ) { probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      try await probe.writeData(Sample.json("outlives"))
      let before = try await probe.readCount()
      try await probe.write(probe.frame(.fin))
      _ = try await probe.awaitFrame(.ack)
      try await probe.open()
      let afterFIN = try await probe.readCount()
      probe.expect("Count after FIN", afterFIN, is: before)
      try await probe.open()
      let afterSYN = try await probe.readCount()
      probe.expect("Count after another SYN", afterSYN, is: before)
    }
  }

  /// Writes Data by a Write Request, and in parts by Execute Write.
  private static func expectSuccess(_ probe: Probe, _ value: [UInt8], _ what: String) async throws {
    let reply = try await probe.writeData(value)
    probe.expect(what, reply, is: [0x13])
    try await probe.prepare(value)
    let execute = try await probe.request(Wire.literal("18 01"))
    probe.expect("\(what), in parts", execute, is: [0x19])
  }

  /// Writes until the store is full, as announced, or without an announcement, until it refuses.
  /// Returns its number of notifications.
  private static func fillStore(_ probe: Probe) async throws -> Int {
    let fillLimit = 2000
    let announced = probe.session.announced.number(of: 0x13).map { Int($0) }
    let capacity = announced ?? fillLimit
    guard (1...fillLimit).contains(capacity) else {
      throw CaseEnd.skip("the store holds \(capacity), too many to fill")
    }
    let stored = try await probe.readCount()
    for index in stored..<max(stored, capacity) {
      let reply = try await probe.writeData(Sample.json("item \(index)"))
      if reply == [0x13] { continue }
      if announced == nil { return index }
      throw CaseEnd.fault(
        "the answer to write \(index) is [\(Wire.hex(reply))]", file: #fileID, line: #line)
    }
    guard announced != nil else { throw CaseEnd.skip("the store holds \(fillLimit), too many to fill") }
    return capacity
  }
}

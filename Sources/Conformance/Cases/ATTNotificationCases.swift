import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// PDUs that are not requests, wrong PDUs, and notifications.
extension Suite {
  static let attNotifications = chapter(.att) {
    Case(
      "ATT-15/write-command", "A Write Command to Data and unknown commands are ignored without an answer",
      isOfServer: true
    ) { probe, _ in
      try await probe.openWide()
      let before = try await probe.readCount()
      let command: [UInt8] = [0x52, 6, 0] + Sample.json("command").prefix(probe.session.mtu - 3)
      for pdu in [command, [0x52], [0x7F, 1, 2], [0xD2, 6, 0, 1]] {
        try await probe.sendData(pdu)
        let answers = try await probe.requestFence()
        probe.expect("answers to [\(Wire.hex(pdu, limit: 8))]", answers, is: [])
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "ATT-15/unknown-opcodes", "Unknown and unsupported requests are error 0x06 with handle 0",
      also: ["ATT-5"], isOfServer: true
    ) { probe, _ in
      try await probe.open()
      // Without bit 6, and unknown to the table and the Core specification, except Read Multiple
      // (Variable).
      let known: Set<UInt8> = [
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0F, 0x10, 0x11, 0x12,
        0x13, 0x16, 0x17, 0x18, 0x19, 0x1B, 0x1D, 0x1E, 0x21, 0x23,
      ]
      for opcode in (0...0xFF as ClosedRange<UInt8>) where opcode & 0x40 == 0 && !known.contains(opcode) {
        let reply = try await probe.request([opcode, 3, 0, 3, 0])
        probe.expect("the answer to opcode \(Wire.hex([opcode]))", reply, is: [0x01, opcode, 0, 0, 0x06])
      }
    }

    Case(
      "ATT-15/stray-responses", "Responses, notifications and confirmations to the device are ignored",
      isOfServer: true
    ) { probe, _ in
      try await probe.open()
      let pdus = [
        "01 0a 0300 01", "03 1700", "05 01", "07 0100 0700", "09 04", "0b 0100", "0d", "11 06", "13",
        "17 0600 0000",
        "19", "1b 0300 0500", "1e",
      ]
      for pdu in pdus {
        try await probe.sendData(Wire.literal(pdu))
        let answers = try await probe.requestFence()
        probe.expect("answers to \(pdu)", answers, is: [])
      }
    }

    Case(
      "ATT-16/wrong-lengths", "A request that is too short, or too long for its fixed format, is error 0x04",
      isOfServer: true
    ) { probe, _ in
      try await probe.open()
      let pdus = [
        "02", "02 17", "02 1700 00", "04", "04 0100 ff", "04 0100 ffff 00", "06 0100 ffff 00",
        "08 0100 ffff 03", "08 0100 ffff 0328 00", "0a", "0a 03", "0a 0300 00", "0c 0300 00",
        "0c 0300 0000 00",
        "10 0100 ffff",
        "10 0100 ffff 0028 00", "12", "12 06", "16 0600 00", "18", "18 01 00", "18 02", "18 ff",
        "10 0100 ffff 0028000000",
      ]
      for pdu in pdus {
        let bytes = Wire.literal(pdu)
        let reply = try await probe.request(bytes)
        probe.expect("the answer to \(pdu)", reply, is: [0x01, bytes[0], 0, 0, 0x04])
      }
    }

    Case(
      "ATT-16/longer-than-mtu", "A PDU longer than the MTU is error 0x04 and has no effect",
      also: ["ATT-3", "ATT-8"], isOfServer: true
    ) { probe, _ in
      try await probe.open()
      let before = try await probe.readCount()
      let json = Sample.json("longer than the MTU")
      let early = try await probe.request([0x12, 6, 0] + json)
      probe.expect(
        "the answer at MTU 23 without its handle", Wire.withoutHandle(early), is: Wire.literal("01 12 04"))
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
      // 20 bytes fit: refused for their content or not stored, but not refused for their length.
      let fitting = try await probe.request([0x16, 6, 0, 0, 0] + json.prefix(18))
      probe.expect("the echo of a part of 23 bytes", fitting, is: [0x17, 6, 0, 0, 0] + json.prefix(18))
      try await probe.request(Wire.literal("18 00"))
    }

    Case(
      "ATT-17/not-before-subscription",
      "No notification before the subscription, none after its end, and none is sent later", also: ["NTF-10"]
    ) { probe, _ in
      try await probe.openForExpiring()
      try await probe.requireStoreRoom(3)
      var unsolicited = Unsolicited()
      try await probe.writeData(probe.expiring(Sample.json("before")), unsolicited: &unsolicited)
      try await probe.request(Wire.literal("12 0400 0100"))
      try await probe.listen(into: &unsolicited)
      probe.expect("notifications from before", unsolicited.items, is: [])
      try await probe.writeData(probe.expiring(Sample.json("meanwhile")), unsolicited: &unsolicited)
      let count = try await probe.readCount()
      probe.expect("notifications while subscribed", unsolicited.items, is: [.count(UInt16(clamping: count))])
      unsolicited = Unsolicited()
      try await probe.request(Wire.literal("12 0400 0000"))
      try await probe.writeData(probe.expiring(Sample.json("after")), unsolicited: &unsolicited)
      probe.expect("notifications after it", unsolicited.items, is: [])
    }

    Case(
      "ATT-18/after-the-response",
      "The notification that a write or a long write causes comes after its response",
      also: ["NTF-10", "ATT-14"]
    ) { probe, _ in
      try await probe.openForExpiring()
      try await probe.requireStoreRoom(2)
      try await probe.request(Wire.literal("12 0400 0100"))
      let before = try await probe.readCount()
      let json = probe.expiring(Sample.json("order"))
      for index in 1...2 {
        var write = Wire.literal("18 01")
        if index == 1 { write = try await probe.writePDU(json) } else { try await probe.prepare(json) }
        try await probe.awaitRoom()
        try await probe.sendData(write)
        let deadline = probe.now + Probe.patience
        let first = try await probe.nextPDU(until: deadline)
        let second = try await probe.nextPDU(until: deadline)
        probe.expect("the first PDU after write \(index)", first, is: [write[0] + 1])
        let count = Wire.u16(UInt16(clamping: before + index))
        probe.expect("the second PDU after write \(index)", second, is: [0x1B, 3, 0] + count)
      }
    }

    Case(
      "ATT-19/counts-become-one", "Queued notifications of Count are merged into the latest value",
      needs: [.session, .control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await control.perform(.fill(0))
      try await probe.openWide()
      try await probe.request(Wire.literal("12 0400 0100"))
      let before = try await probe.readCount()
      // Nothing is acknowledged, and the device keeps at most 8 frames, or as many as its requests:
      // the rest is queued.
      let limit = max(8, probe.session.peerRequests)
      var frames: [WireFrame] = []
      for others in 1...(limit + 20) {
        try await control.perform(.fill(others))
        frames += try await probe.fence().filter { $0.kind == .data }
      }
      let unacknowledged = Set(frames.map(\.seq)).count
      probe.expect(
        unacknowledged <= limit, "\(unacknowledged) unacknowledged notifications, at most \(limit)")
      let nak = probe.frame(.nak)
      try await probe.write(nak)
      let deadline = probe.now + .milliseconds(bench.hasVirtualTime ? 900 : 300)
      var values: [Int] = []
      while let pdu = try await probe.nextPDU(until: deadline) {
        if pdu.first == 0x1B { values.append(Int(Wire.word(pdu, at: 3))) }
      }
      probe.expect("the last reported value", values.last, is: before + limit + 20)
      probe.expect(values.count <= limit + 1, "\(values.count) notifications for \(limit + 20) changes")
      probe.expect(values == values.sorted(), "the reported values are \(values)")
      try await control.perform(.fill(0))
    }

    Case(
      "ATT-19/data-in-order", "Notifications of Data are sent in order, and at least 8 of them are queued",
      also: ["NTF-11"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      try await probe.openWide()
      try probe.requireEventRoom()
      try await probe.requireStoreRoom(8)
      for index in 1...8 { try await probe.writeData(Sample.json("event \(index)")) }
      try await probe.request(Wire.literal("12 0700 0100"))
      let order = [3, 1, 8, 2, 7, 4, 6, 5] as [UInt32]
      for item in order { try await control.perform(.dismiss(item)) }
      let deadline = probe.now + Probe.patience
      for item in order {
        let pdu = try await probe.nextPDU(until: deadline) ?? []
        let text = String(decoding: pdu.dropFirst(3), as: UTF8.self)
        probe.expect("opcode and handle", Array(pdu.prefix(3)), is: Wire.literal("1b 0600"))
        probe.expect(Sample.isEvent(text, "dismissed", item: item), "the event of item \(item) is \(text)")
      }
    }
  }
}

extension Probe {
  /// Opens a session in which both sides accept requests in parallel.
  package func openPipelined() async throws {
    try await open()
    guard session.features & 1 == 1, session.peerRequests > 1 else {
      throw CaseEnd.skip("the device takes one request at a time")
    }
  }
}

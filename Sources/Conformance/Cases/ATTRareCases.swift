import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Requests that clients rarely send: empty parts and values, interleaved parts, large offsets,
/// indications.
extension Suite {
  static let attRare =
    chapter(.att) {
      Case(
        "ATT-9/whole-values",
        "Find By Type Value finds an equal value, not a part of it and not a longer one", also: ["ATT-16"],
        isOfServer: true
      ) { probe, _ in
        try await probe.openWide()
        try probe.requireMTU(7 + 19 + 40)
        let find = { (type: String, value: [UInt8]) in
          try await probe.request(Wire.literal("06 0100 ffff") + Wire.literal(type) + value)
        }
        let found = try await find("0028", service)
        probe.expect("the service", found, is: Wire.literal("07 0100 0700"))
        let cccds = try await find("0229", [0, 0])
        probe.expect("the first CCCD that is 0", Array(cccds.prefix(3)), is: Wire.literal("07 0400"))
        let declaration = try await probe.request(Wire.literal("0a 0200")).dropFirst()
        let characteristic = try await find("0328", Array(declaration))
        probe.expect("the first characteristic", Array(characteristic.prefix(3)), is: Wire.literal("07 0200"))
        for (type, value) in [("0028", service), ("0229", [0, 0]), ("0328", Array(declaration))]
          as [(String, [UInt8])]
        {
          for length in Set([0, 1, value.count / 2, value.count - 1]).sorted() {
            let part = try await find(type, Array(value.prefix(length)))
            probe.expect(
              "the answer to \(length) bytes of \(value.count) of type \(type)", part,
              is: Wire.literal("01 06 0100 0a"))
          }
          for more in [[0], [0xFF], [UInt8](repeating: 0, count: 40)] as [[UInt8]] {
            let longer = try await find(type, value + more)
            probe.expect(
              "the answer to \(more.count) bytes more than type \(type) has", longer,
              is: Wire.literal("01 06 0100 0a"))
          }
          var other = value
          other[other.count - 1] ^= 0x80
          let wrong = try await find(type, other)
          probe.expect(
            "the answer to another value of type \(type)", wrong, is: Wire.literal("01 06 0100 0a"))
        }
      }

      Case(
        "ATT-10/far-offsets",
        "Read Blob beyond the length is error 0x07, even if the low byte of the offset is within it",
        isOfServer: true
      ) { probe, _ in
        try await probe.open()
        for (handle, length) in [(1, 16), (2, 19), (3, 2), (4, 2), (5, 19), (7, 2)] as [(UInt8, UInt16)] {
          for offset in [length + 1, 255, 256, 256 + length, 257, 512, 0x8000, 0xFF00, 0xFFFF] {
            let reply = try await probe.request([0x0C, handle, 0] + Wire.u16(offset))
            probe.expect(
              "the answer at \(offset) of handle \(handle)", reply, is: [0x01, 0x0C, handle, 0, 0x07])
          }
          let end = try await probe.request([0x0C, handle, 0] + Wire.u16(length))
          probe.expect("the answer at the end of handle \(handle)", end, is: [0x0D])
        }
      }

      Case(
        "ATT-14/empty-parts",
        "A Prepare Write of no bytes is echoed, and its part adds nothing", also: ["ATT-16"], isOfServer: true
      ) { probe, _ in
        try await probe.open()
        // A CCCD, whose value can be read: empty parts before, between and after the others.
        for part in ["0400 0000", "0400 0000 01", "0400 0100", "0400 0100 00", "0400 0200"] {
          let echo = try await probe.request([0x16] + Wire.literal(part))
          probe.expect("the echo of \(part)", echo, is: [0x17] + Wire.literal(part))
        }
        let reply = try await probe.request(Wire.literal("18 01"))
        probe.expect("the answer to Execute", reply, is: [0x19])
        let cccd = try await probe.request(Wire.literal("0a 0400"))
        probe.expect("the CCCD", cccd, is: Wire.literal("0b 0100"))
        // Alone it is an empty value.
        try await probe.request(Wire.literal("16 0400 0000"))
        let empty = try await probe.request(Wire.literal("18 01"))
        probe.expect("the answer to Execute of an empty value", empty, is: Wire.literal("01 18 0400 0d"))
        try await probe.request(Wire.literal("16 0400 0100"))
        let late = try await probe.request(Wire.literal("18 01"))
        probe.expect("the answer to Execute of an empty part at 1", late, is: Wire.literal("01 18 0400 07"))
      }

      Case(
        "ATT-14/requests-in-between",
        "Requests between Prepare and Execute do not affect the queue", also: ["ATT-6", "ATT-8"],
        isOfServer: true
      ) { probe, _ in
        try await probe.open()
        for pdu in [
          "02 1700", "04 0100 ffff", "06 0100 ffff 0028", "08 0100 ffff 0328", "0a 0300", "0a 0600",
          "0c 0100 0000",
          "10 0100 ffff 0028", "12 0700 0100", "12 0600 7b", "12 0100 00", "14 0300", "1e", "52 0600 7b",
          "16 0300 0000 00",
        ] {
          try await probe.request(Wire.literal("16 0400 0000 01"))
          let bytes = Wire.literal(pdu)
          if bytes[0] == 0x1E || bytes[0] == 0x52 {
            try await probe.sendData(bytes)
            if case .session = probe.bearer { try await probe.expectTaken(pdu) }
          } else {
            try await probe.request(bytes)
          }
          try await probe.request(Wire.literal("16 0400 0100 00"))
          let reply = try await probe.request(Wire.literal("18 01"))
          probe.expect("the answer to Execute with \(pdu) in between", reply, is: [0x19])
          let cccd = try await probe.request(Wire.literal("0a 0400"))
          probe.expect("the CCCD with \(pdu) in between", cccd, is: Wire.literal("0b 0100"))
          try await probe.request(Wire.literal("12 0400 0000"))
        }
      }

      Case(
        "ATT-14/full-queue-stays",
        "The parts in a full queue stay when another one is refused"
      ) { probe, _ in
        try await probe.open()
        var isFull = false
        // Parts that do not begin at 0, so that their Execute fails: without parts it succeeds.
        for index in 0..<600 where !isFull {
          let reply = try await probe.request([0x16, 6, 0] + Wire.u16(UInt16(5 + index * 2)) + [0x20, 0x20])
          isFull = reply.first != 0x17
        }
        guard isFull else { throw CaseEnd.skip("600 parts do not fill the queue") }
        let reply = try await probe.request(Wire.literal("18 01"))
        probe.expect("the answer to Execute after error 0x09", reply, is: Wire.literal("01 18 0600 07"))
      }

      Case(
        "ATT-14/handles-in-turn",
        "Interleaved parts for several handles make one value for each handle", also: ["ATT-12"],
        isOfServer: true
      ) { probe, _ in
        try await probe.open()
        try await probe.requireStoreRoom(1)
        let before = try await probe.readCount()
        // 50 bytes: three parts of at most 18.
        let json = Array("{\"app\":\"R\",\"title\":\"S\",\"text\":\"T\",\"timestamp\":1}".utf8)
        let cuts = [0, 18, 36, json.count]
        let data = zip(cuts, cuts.dropFirst()).map { start, end in
          [6, 0] + Wire.u16(UInt16(start)) + json[start..<end]
        }
        let parts = [
          data[0], Wire.literal("0400 0000 01"), Wire.literal("0700 0000 01"), data[1],
          Wire.literal("0700 0100 00"),
          Wire.literal("0400 0100 00"), data[2],
        ]
        for part in parts {
          let echo = try await probe.request([0x16] + part)
          probe.expect("the echo of a part", echo, is: [0x17] + part)
        }
        var notifications: [[UInt8]] = []
        let reply = try await probe.request(Wire.literal("18 01"), notifications: &notifications)
        probe.expect("the answer to Execute", reply, is: [0x19])
        for handle in [4, 7] as [UInt8] {
          let cccd = try await probe.request([0x0A, handle, 0])
          probe.expect("CCCD \(handle)", cccd, is: Wire.literal("0b 0100"))
        }
        let after = try await probe.readCount()
        probe.expect("Count", after, is: before + 1)
      }

      Case(
        "ATT-15/indication", "An indication to the device is ignored, whatever it contains", isOfServer: true
      ) { probe, _ in
        try await probe.open()
        for pdu in ["1d 0300 0500", "1d 0600 7b7d", "1d 0300", "1d", "23 0300 0200 0500", "23"] {
          try await probe.sendData(Wire.literal(pdu))
          let answers = try await probe.requestFence()
          probe.expect("answers to \(pdu)", answers, is: [])
        }
      }

      Case(
        "ATT-16/one-beyond-mtu",
        "A PDU of MTU bytes is handled, one of MTU + 1 is error 0x04, for every request", also: ["ATT-8"],
        isOfServer: true
      ) { probe, _ in
        try await probe.open()
        for wanted in [23, 64] where wanted == 23 || probe.session.peerMTU >= 64 {
          if wanted > 23 { try await probe.request([0x02] + Wire.u16(UInt16(wanted))) }
          // Each with its answer for the right length.
          for (head, answer) in [
            ("16 0600 0000", [0x17]), ("12 0300", [0x01, 0x12, 0x03]),
            ("06 0100 ffff 0028", [0x01, 0x06, 0x0A]),
          ] as [(String, [UInt8])] {
            let start = Wire.literal(head)
            for length in [wanted - 1, wanted, wanted + 1] {
              let pdu = start + [UInt8](repeating: 0x20, count: length - start.count)
              let reply = Wire.withoutHandle(try await probe.request(pdu))
              let expected = length > wanted ? [0x01, start[0], 0x04] : answer
              probe.expect(
                "the answer to \(head) with \(length) bytes at MTU \(wanted)",
                Array(reply.prefix(expected.count)),
                is: expected)
            }
          }
          try await probe.request(Wire.literal("18 00"))
        }
      }
    }
    + chapter(.notifications) {
      Case(
        "NTF-11/behind-one-that-does-not-fit",
        "An event that does not fit is skipped, and the next one is sent at once",
        also: ["ATT-17", "ATT-19"], needs: [.control, .session]
      ) { probe, bench in
        let control = try bench.requireControl()
        try await bench.restart()
        try await probe.openWide()
        try await probe.requireStoreRoom(3)
        for index in 1...3 { try await probe.writeData(Sample.json("item \(index)")) }
        try await probe.request(Wire.literal("12 0700 0100"))
        try await control.perform(.action(1, 0))
        try await control.perform(.dismiss(1))
        let deadline = probe.now + Probe.patience
        let long = try await probe.nextPDU(until: deadline)?.count ?? 0
        let short = try await probe.nextPDU(until: deadline)?.count ?? 0
        guard long > short, short >= 23 else {
          throw CaseEnd.skip("events have \(long - 3) and \(short - 3) bytes")
        }
        try await probe.openShut()
        probe.session.credit = 2
        try await probe.request([0x02] + Wire.u16(UInt16(short)))
        probe.session.credit = 1
        try await probe.request(Wire.literal("12 0700 0100"))
        probe.session.credit = 0
        try await probe.write(probe.frame(.ack))
        // The limit is 3: it is used up, so that both are queued.
        try await probe.request(Wire.literal("0a 0300"))
        for command in [.action(2, 0), .dismiss(2), .action(3, 0), .dismiss(3)] as [DeviceCommand] {
          try await control.perform(command)
        }
        _ = try await probe.fence()
        let start = probe.now
        try await probe.grantAll()
        for item in [2, 3] as [UInt32] {
          let pdu = try await probe.nextPDU(until: start + Probe.patience) ?? []
          let event = String(decoding: pdu.dropFirst(3), as: UTF8.self)
          probe.expect(
            Sample.isEvent(event, "dismissed", item: item), "the event of item \(item) is \(event)")
        }
        let passed = (probe.now - start).inMilliseconds
        probe.expect(passed <= (bench.hasExactTime ? 1 : 700), "both events came after \(passed) ms")
      }
    }
}

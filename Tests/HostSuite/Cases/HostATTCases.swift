import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// The attribute client, and how the host handles notifications.
extension HostSuite {
  static let hostATT =
    Suite.chapter(.att) {
      Case.ofHost(
        "ATT-2/host-discovers",
        "A host that does not know the PROFILE_HASH finds service and handles by UUID", also: ["ATT-4"]
      ) { device, probe in
        try await device.openLink { device.synAckTLVs(nonce: $0, profileHash: 0x1234_5678) }
        var opcodes: Set<UInt8> = []
        let id = device.submit(.readCount)
        let deadline = probe.now + Probe.patience
        // The service is at other handles in this table: Count is handle 0x23.
        while device.host.results[id] == nil, let pdu = try await probe.nextPDU(until: deadline) {
          opcodes.insert(pdu[0])
          let start = Wire.word(pdu, at: 1)
          let answer: [UInt8] =
            switch pdu[0] {
            case 0x02: Wire.literal("03 0502")
            case 0x06: start <= 0x21 ? Wire.literal("07 2100 2700") : [0x01, 0x06] + pdu[1...2] + [0x0A]
            case 0x10:
              start <= 0x21
                ? Wire.literal("11 14 2100 2700") + Suite.service : [0x01, 0x10] + pdu[1...2] + [0x0A]
            case 0x08 where start <= 0x22: Wire.literal("09 15 2200 12 2300") + Suite.count
            case 0x08 where start <= 0x25: Wire.literal("09 15 2500 18 2600") + Suite.data
            case 0x04 where start == 0x24: Wire.literal("05 01 2400 0229")
            case 0x04 where start == 0x27: Wire.literal("05 01 2700 0229")
            case 0x0A where start == 0x23: Wire.literal("0b 2a00")
            case _: [0x01, pdu[0]] + pdu[1...2] + [0x0A]
            }
          try await probe.sendData(answer)
        }
        probe.expect("the count, read at handle 0x23", device.host.results[id], is: .count(42))
        probe.expect(!opcodes.isDisjoint(with: [0x06, 0x10]), "the service was not discovered")
        probe.expect(opcodes.contains(0x08), "the characteristics were not discovered")
      }

      Case.ofHost(
        "ATT-4/host-knows-the-hash",
        "A host that knows the PROFILE_HASH reads the count without discovery", also: ["ATT-2"]
      ) { device, probe in
        try await device.openLink()
        let id = device.submit(.readCount)
        var requests: [[UInt8]] = []
        let deadline = probe.now + Probe.patience
        while device.host.results[id] == nil, let pdu = try await probe.nextPDU(until: deadline) {
          requests.append(pdu)
          if let answer = ScriptedServer.answer(to: pdu, mtu: 517) { try await probe.sendData(answer) }
        }
        probe.expect("the result", device.host.results[id], is: .count(7))
        probe.expect(
          "requests other than Exchange MTU", requests.filter { $0.first != 0x02 }, is: [[0x0A, 3, 0]])
      }

      Case.host(
        "ATT-6/host-pipelines",
        "The host has no more outstanding requests than the device accepts, and matches answers in order",
        also: ["ATT-5", "LNK-8"]
      ) { _, bench in
        for (features, requests, expected) in [(1, 3, 3), (1, 8, 8), (0, 8, 1)] as [(UInt32, UInt8, Int)] {
          let device = bench.makeHost()
          let probe = device.probe
          try await device.open { device.synAckTLVs(nonce: $0, features: features, requests: requests) }
          let ids = (0..<12).map { _ in device.submit(.readCount) }
          let first = try await probe.frames(for: .milliseconds(50)).filter { $0.kind == .data }
          probe.expect("requests at once of \(requests) with FEATURES \(features)", first.count, is: expected)
          probe.session.expectedSeq &+= UInt8(first.count)
          var out = first.count
          var answered: UInt8 = 0
          while answered < 12 {
            try await probe.sendData([0x0B, answered, 0])
            answered += 1
            out -= 1
            for frame in try await probe.frames(for: .milliseconds(1)) where frame.kind == .data {
              probe.session.expectedSeq &+= 1
              out += 1
            }
            probe.expect(out <= expected, "\(out) requests outstanding, \(expected) allowed")
          }
          for (index, id) in ids.enumerated() {
            probe.expect("result \(index)", device.host.results[id], is: .count(UInt16(index)))
          }
        }
      }

      Case.ofHost(
        "ATT-6/host-barrier",
        "Exchange MTU and parts of a long write are sent alone, and nothing before their answer"
      ) { device, probe in
        try await device.open()
        _ = device.submit(.readCount)
        _ = device.submit(.rawATT(Wire.literal("16 0600 0000 20")))
        _ = device.submit(.readCount)
        var opcodes: [UInt8] = []
        for _ in 0..<3 {
          let frames = try await probe.frames(for: .milliseconds(20)).filter { $0.kind == .data }
          probe.expect("outstanding requests", frames.count, is: 1)
          for frame in frames {
            probe.session.expectedSeq &+= 1
            opcodes.append(frame.payload.first ?? 0)
            try await probe.sendData(ScriptedServer.answer(to: frame.payload, mtu: 517) ?? [])
          }
        }
        probe.expect("requests in order", opcodes, is: [0x0A, 0x16, 0x0A])
      }

      Case.ofHost(
        "ATT-7/host-30-seconds",
        "A request without an answer for 30 s ends the session, although the link works"
      ) { device, probe in
        try await device.open()
        let id = device.submit(.readCount)
        _ = try await probe.awaitFrame(.data)
        probe.session.expectedSeq &+= 1
        try await probe.write(probe.frame(.ack))
        let start = probe.now
        var handled: UInt8 = 0
        var end = start + .milliseconds(29_900)
        for step in 0..<2 {
          while let frame = try await probe.nextFrame(until: end) {
            guard frame.kind == .ping else { continue }
            // The application continues with other work: not stalled (LNK-54).
            handled &+= 1
            try await probe.write(probe.frame(.pong, payload: [handled]))
          }
          if step == 0 { probe.expect("ends after 29.9 s", device.host.ends, is: []) }
          end = start + .milliseconds(30_100)
        }
        probe.expect("ends after 30.1 s", device.host.ends, is: [.transactionTimedOut])
        probe.expect(
          "the result", device.host.results[id], is: .failed(.outcomeUnknown(.transactionTimedOut)))
      }

      Case.host(
        "ATT-8/host-mtu",
        "The host uses the smaller MTU of the two", also: ["ATT-16", "LNK-8"]
      ) { _, bench in
        for mtu in [23, 64, 185] as [UInt16] {
          let device = bench.makeHost()
          let probe = device.probe
          try await device.open { device.synAckTLVs(nonce: $0, mtu: mtu) }
          let id = device.submit(.sendEncoded(Sample.json(length: 200)))
          let deadline = probe.now + Probe.patience
          while device.host.results[id] == nil, let pdu = try await probe.nextPDU(until: deadline) {
            probe.expect(pdu.count <= Int(mtu), "a PDU of \(pdu.count) bytes at MTU \(mtu)")
            if let answer = ScriptedServer.answer(to: pdu, mtu: mtu) { try await probe.sendData(answer) }
          }
          probe.expect("the result at MTU \(mtu)", device.host.results[id], is: .accepted)
        }
      }

      Case.ofHost(
        "ATT-14/host-long-write",
        "A value that does not fit in a Write Request is sent in parts, completely and in order, then Execute",
        also: ["ATT-20"]
      ) { device, probe in
        try await device.open { device.synAckTLVs(nonce: $0, mtu: 64) }
        let json = Sample.json(length: 200)
        let id = device.submit(.sendEncoded(json))
        var written: [UInt8] = []
        var executes = 0
        let deadline = probe.now + Probe.patience
        while device.host.results[id] == nil, let pdu = try await probe.nextPDU(until: deadline) {
          switch pdu[0] {
          case 0x16:
            probe.expect("handle of a part", Wire.word(pdu, at: 1), is: 6)
            probe.expect("offset of a part", Int(Wire.word(pdu, at: 3)), is: written.count)
            written += pdu.dropFirst(5)
          case 0x18:
            probe.expect("Execute", pdu, is: [0x18, 1])
            executes += 1
          case _: probe.expect(false, "another request: [\(Wire.hex(pdu))]")
          }
          try await probe.sendData(ScriptedServer.answer(to: pdu, mtu: 64) ?? [])
        }
        probe.expect("the value in parts", written, is: json)
        probe.expect("Executes", executes, is: 1)
      }

      Case.ofHost(
        "ATT-5/host-wrong-answer",
        "An answer to a request other than the oldest ends the session", also: ["LNK-23"]
      ) { device, probe in
        for answer in ["13", "01 12 0300 01", "05 01", "0d 0000"] {
          try await device.open()
          let ends = device.host.ends.count
          let id = device.submit(.readCount)
          _ = try await probe.awaitFrame(.data)
          probe.session.expectedSeq &+= 1
          try await probe.sendData(Wire.literal(answer))
          probe.expect("ends after the answer \(answer)", device.host.ends.count, is: ends + 1)
          guard case .bearerBroken? = device.host.ends.last,
            case .failed(.outcomeUnknown)? = device.host.results[id]
          else {
            return probe.expect(
              false, "\(answer) led to \(device.host.ends), \(String(describing: device.host.results[id]))")
          }
          device.sessionID += 1
        }
      }

      Case.ofHost(
        "ATT-15/host-stray-answer",
        "An unsolicited answer is ignored and counted, and so is a second one", also: ["ATT-5"]
      ) { device, probe in
        try await device.open()
        let before = device.host.machine.statistics.att.ignored
        for answer in ["0b 0500", "13", "01 0a 0300 01", "19", "0a 0300", "ff 00"] {
          try await probe.sendData(Wire.literal(answer))
        }
        probe.expect("ends", device.host.ends, is: [])
        probe.expect("PDUs ignored", device.host.machine.statistics.att.ignored - before, is: 6)
        let id = device.submit(.readCount)
        try await device.serve { device.host.results[id] != nil }
        try await probe.sendData(Wire.literal("0b 0900"))
        probe.expect("the result", device.host.results[id], is: .count(7))
      }
    }
    + Suite.chapter(.notifications) {
      Case.ofHost(
        "NTF-1/host-reports-refusals",
        "An Error Response is reported as that error, and the session continues",
        also: ["ATT-5", "NTF-4", "NTF-8"]
      ) { device, probe in
        try await device.open()
        for code in [0x80, 0x11, 0x0D, 0x77] as [UInt8] {
          let id = device.submit(.sendEncoded(Sample.json("refused")))
          _ = try await probe.awaitFrame(.data)
          probe.session.expectedSeq &+= 1
          try await probe.sendData([0x01, 0x12, 6, 0, code])
          guard case .refused(let error)? = device.host.results[id] else {
            return probe.expect(
              false, "error \(code) is reported as \(String(describing: device.host.results[id]))")
          }
          probe.expect("the reported code", error.rawValue, is: code)
        }
        probe.expect("ends", device.host.ends, is: [])
      }
    }
}

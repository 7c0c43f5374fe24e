import NotibotProtocol
import SuiteWire

/// Cases where one sentence of PROTOCOL.md decides between two interpretations: sessions, order,
/// and errors of attributes.
extension Suite {
  static let linkDetails =
    chapter(.reconnection) {
      Case(
        "LNK-10/refused-syn",
        "A SYN that is refused also ends the HELLOs", also: ["LNK-19"], needs: [.control]
      ) { probe, bench in
        try await bench.restart()
        let syn = probe.syn([.magic, .nonce(probe.makeNonce()), .versions(200, 201)])
        _ = try await probe.ask(syn, "RST") { $0.kind == .rst }
        let later = try await probe.frames(for: .milliseconds(600))
        probe.expect("HELLOs after the refused SYN", later.filter { $0.kind == .hello }, is: [])
      }
    }
    + chapter(.link) {
      Case(
        "LNK-16/what-confirms",
        "UDATA confirms a session; a malformed frame, one of session 0 and an impossible type do not",
        also: ["LNK-3", "LNK-52", "FRM-7"]
      ) { probe, bench in
        try await probe.open(isAcknowledged: false)
        var zero = probe.frame(.udata, channel: 5, payload: [1])
        (zero.ack, zero.credit) = (0, 0)
        let udata = zero
        zero.session = 0
        try await probe.write(probe.frame(.nak, payload: [0, 0, 0]))
        try await probe.write(probe.data([], seq: 0))
        try await probe.write(probe.frame(.pong))
        try await probe.write(zero)
        for type in [12, 13, 14, 15] as [UInt8] {
          try await probe.write(Wire.sealed([type << 4] + probe.frame(.ping).decoded.dropFirst()))
        }
        // A confirmed session gets a PING after 1 s.
        let unconfirmed = try await probe.frames(
          for: bench.hasVirtualTime ? .seconds(4) : .milliseconds(1600))
        probe.expect("frames of an unconfirmed session", unconfirmed, is: [])
        try await probe.write(udata)
        _ = try await probe.awaitFrame("PING once UDATA has confirmed the session", within: .seconds(3)) {
          $0.kind == .ping && $0.session == udata.session
        }
      }

      Case(
        "LNK-32/granted-when-handled",
        "Handled frames are granted, whether or not a frame has announced it", also: ["LNK-33", "LNK-40"],
        needs: [.virtualTime]
      ) { probe, bench in
        try bench.requireExactTime()
        try await probe.open()
        let frames = probe.session.peerFrames
        guard frames >= 3 else { throw CaseEnd.skip("the device takes \(frames) frames") }
        // Handled at once; its ACK is due in 5 ms.
        try await probe.sendData([1], channel: 3)
        let farthest = probe.session.nextSeq &+ UInt8(truncatingIfNeeded: frames - 1)
        try await probe.write(probe.data([1], channel: 3, seq: farthest))
        // A device can send its ACK sooner (LNK-50).
        let answers = try await probe.frames(for: .milliseconds(1)).filter { $0.kind != .ack }
        probe.expect("frames that ask for the hole", answers.map(\.kind), is: [.nak])
        probe.expect("the missing number", answers.first?.ack, is: probe.session.nextSeq)
      }
    }
  static let attDetails = chapter(.att) {
    Case(
      "ATT-9/group-ends", "Find By Type Value returns an attribute's own handle as the end of its group",
      isOfServer: true
    ) { probe, _ in
      try await probe.openWide()
      for handle in [2, 5] as [UInt8] where probe.session.mtu >= 26 {
        let declaration = try await probe.request([0x0A, handle, 0]).dropFirst()
        let found = try await probe.request(Wire.literal("06 0100 ffff 0328") + declaration)
        probe.expect("declaration \(handle)", found, is: [0x07, handle, 0, handle, 0])
      }
      let cccds = try await probe.request(Wire.literal("06 0100 ffff 0229 0000"))
      probe.expect("the CCCDs", cccds, is: Wire.literal("07 0400 0400 0700 0700"))
      try await probe.request(Wire.literal("12 0700 0100"))
      let one = try await probe.request(Wire.literal("06 0100 ffff 0229 0000"))
      probe.expect("the CCCD that is 0", one, is: Wire.literal("07 0400 0400"))
      let other = try await probe.request(Wire.literal("06 0500 ffff 0229 0100"))
      probe.expect("the CCCD that is 1", other, is: Wire.literal("07 0700 0700"))
    }

    Case(
      "ATT-14/interleaved-parts", "Interleaved parts of several handles: each continues its own value",
      isOfServer: true
    ) { probe, _ in
      try await probe.open()
      for part in ["0400 0000 01", "0700 0000 01", "0400 0100 00", "0700 0100 00"] {
        let echo = try await probe.request(Wire.literal("16" + part))
        probe.expect("the echo of part \(part)", echo, is: Wire.literal("17" + part))
      }
      let reply = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer to Execute", reply, is: [0x19])
      for handle in [4, 7] as [UInt8] {
        let value = try await probe.request([0x0A, handle, 0])
        probe.expect("CCCD \(handle)", value, is: Wire.literal("0b 0100"))
      }
    }

    Case(
      "ATT-14/order-of-checks", "Execute checks the offsets of all parts, then the CCCDs, then Data",
      also: ["ATT-12", "ATT-13"], isOfServer: true
    ) { probe, _ in
      try await probe.openWide()
      try probe.requireMTU(205)
      let before = try await probe.readCount()
      let part = [UInt8](repeating: 0x20, count: 200)
      let long = (0..<3).map { Wire.literal("0600") + Wire.u16(UInt16($0 * 200)) + part }
      let improper = Wire.literal("0400 0000 0200")
      let gap = Wire.literal("0700 0500 01")
      let inputs: [(String, parts: [[UInt8]], error: String)] = [
        ("a long value and an improper CCCD", long + [improper], "01 18 0400 fd"),
        ("no JSON and an improper CCCD", [Wire.literal("0600 0000 7b"), improper], "01 18 0400 fd"),
        ("an improper CCCD and a gap after it", [improper, gap], "01 18 0700 07"),
      ]
      for (what, parts, error) in inputs {
        for part in parts { try await probe.request([0x16] + part) }
        let reply = try await probe.request(Wire.literal("18 01"))
        probe.expect("the answer to \(what)", reply, is: Wire.literal(error))
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "ATT-14/cccds-by-handle", "Of two errors Execute names the gap queued first, else the lower CCCD",
      also: ["ATT-12"], isOfServer: true
    ) { probe, _ in
      try await probe.open()
      let rows: [(parts: [String], error: String)] = [
        (["0700 0000 0200", "0400 0000 0100 00"], "0400 0d"), (["0700 0500 00", "0400 0500 00"], "0700 07"),
        (["0600 0100 7d", "0400 0100 00"], "0600 07"),
        (["0400 0000 0200", "0700 0100 00", "0600 0100 7d"], "0700 07"),
      ]
      for row in rows {
        for part in row.parts { try await probe.request(Wire.literal("16" + part)) }
        let reply = try await probe.request(Wire.literal("18 01"))
        probe.expect("the answer to Execute of \(row.parts)", reply, is: Wire.literal("01 18" + row.error))
        let value = try await probe.request(Wire.literal("0a 0400"))
        probe.expect("the CCCD of Count", value, is: Wire.literal("0b 0000"))
      }
    }

    Case(
      "ATT-15/before-length", "An unsupported request is error 0x06, even if it is longer than the MTU",
      also: ["ATT-16"], isOfServer: true
    ) { probe, _ in
      try await probe.open()
      for opcode in [0x0E, 0x20, 0x3F] as [UInt8] {
        for length in [1, 24] {
          let pdu = [opcode] + [UInt8](repeating: 0, count: length - 1)
          let reply = try await probe.request(pdu)
          probe.expect("the answer to [\(Wire.hex(pdu))]", reply, is: [0x01, opcode, 0, 0, 0x06])
        }
      }
    }

    Case(
      "ATT-14/bad-flag-empties", "Execute with an invalid flag, or without one, empties the queue",
      also: ["ATT-16"], isOfServer: true
    ) { probe, _ in
      try await probe.open()
      // The last one is longer than the MTU.
      for execute in ["18 02", "18", "18 01 00", "18 01" + String(repeating: "00", count: 22)] {
        try await probe.request(Wire.literal("16 0400 0000 0100"))
        let refused = try await probe.request(Wire.literal(execute))
        probe.expect("the answer to [\(execute)]", refused, is: Wire.literal("01 18 0000 04"))
        let empty = try await probe.request(Wire.literal("18 01"))
        probe.expect("the answer to Execute after it", empty, is: [0x19])
        let value = try await probe.request(Wire.literal("0a 0400"))
        probe.expect("the CCCD of Count", value, is: Wire.literal("0b 0000"))
      }
    }
  }
}

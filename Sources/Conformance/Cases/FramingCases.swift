import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Frames among text, as the device sees them.
extension Suite {
  static let framing = chapter(.framing) {
    Case("FRM-1/zeros-around", "Every frame from the device starts and ends with its own zero") { probe, _ in
      try await probe.open()
      _ = try await probe.fence()
      probe.startCapture()
      for _ in 0..<3 { _ = try await probe.request([0x0A, 3, 0]) }
      // Answers that are queued together, too.
      let ping = probe.frame(.ping).bytes
      try await probe.write(ping + ping + ping)
      _ = try await probe.fence()
      // Frames of every kind together, two of DATA by a NAK.
      _ = try await probe.unacknowledgedAnswers(2)
      let early = probe.data([0x55], channel: 2, seq: probe.session.nextSeq &+ 1)
      let stray = probe.frame(.ping).with(session: probe.session.id &+ 1000)
      let syn = probe.syn(Probe.synTLVs(nonce: probe.session.nonce))
      let burst = [probe.frame(.nak), stray, syn, probe.frame(.ping), early, stray, syn]
      try await probe.write(burst.flatMap(\.bytes))
      _ = try await probe.fence()
      let bytes = probe.captured ?? []
      // A frame is at least 13 bytes; a single zero between two long candidates would be shared.
      let runs = bytes.split(separator: 0, omittingEmptySubsequences: false)
      for index in runs.indices where WireFrame(candidate: Array(runs[index])) != nil {
        let isFirst = index == 1 && runs[0].isEmpty
        probe.expect(
          isFirst || (index >= 2 && WireFrame(candidate: Array(runs[index - 1])) == nil),
          "two frames share the zero between them")
      }
    }

    Case(
      "FRM-1/literal-syn", "A SYN written as literal bytes is answered by SYNACK", also: ["FRM-2", "FRM-3"]
    ) { probe, _ in
      // SYN: MAGIC, NONCE 0x1122334455667788, VERSIONS 1 to 1. Made with Python's cobs and zlib.
      let literal = Wire.literal(
        "000320140101010101 1981044e424f5482088877665544332211830201016396933c00")
      // The device remembers eight nonces; this many others make it forget the last use of this
      // one.
      for _ in 0..<9 { try await probe.open() }
      try await probe.write(literal)
      let reply = try await probe.awaitFrame(.synAck)
      let tlvs = try probe.require(TLV.parse(reply.payload), "the SYNACK's TLVs run past its end")
      probe.expect("NONCE", tlvs.number(of: 0x82), is: 0x1122_3344_5566_7788)
    }

    Case(
      "FRM-2/block-of-254", "A final block of 254 bytes is accepted in both of its forms", also: ["LNK-4"]
    ) { probe, _ in
      try await probe.open()
      for isLongForm in [false, true] {
        let frame = try probe.require(
          endingInFullBlock(probe), "no payload gives a frame that ends in a full block")
        probe.session.nextSeq &+= 1
        probe.session.room -= 1
        try await probe.write(Array(frame.bytes.dropLast()) + (isLongForm ? [1, 0] : [0]))
        try await probe.expectTaken("a full block at the end, in the \(isLongForm ? "long" : "short") form")
      }
    }

    Case(
      "FRM-4/540-bytes", "The longest frame, 540 bytes decoded, 543 between its zeros, is accepted",
      also: ["FRM-8"]
    ) { probe, _ in
      try await probe.open()
      // On a channel that the device does not serve, so that only the frame's length matters
      // (LNK-4).
      try await probe.sendData([UInt8](repeating: 0x5A, count: 528), channel: 2)
      try await probe.expectTaken("540 bytes without a zero")
      try await probe.sendData([UInt8](repeating: 0, count: 528), channel: 2)
      try await probe.expectTaken("540 bytes, most of them zeros")
    }

    Case(
      "FRM-4/541-bytes", "A frame of 541 bytes is dropped, and the next one is accepted",
      also: ["FRM-5", "FRM-7"]
    ) { probe, _ in
      try await probe.open()
      // With zeros in them 541 bytes take no more than 543 between the surrounding zeros, so that
      // only this rule is broken.
      let dense = [UInt8](repeating: 0x5A, count: 529)
      let withZeros = (0..<529).map { $0 % 20 == 0 ? 0 : 0x5A } as [UInt8]
      for payload in [dense, withZeros] {
        try await probe.write(probe.data(payload, channel: 2, seq: 0))
        let lying = probe.data(payload, channel: 2, seq: 0).decoded.replacingLength(528)
        try await probe.write(Wire.sealed(lying))
      }
      let answers = try await probe.requestFence()
      probe.expect("answers to frames of 541 bytes", answers, is: [])
      _ = try await probe.readCount()
    }

    Case(
      "FRM-4/below-12-bytes", "Candidates shorter than a frame are dropped, one of 12 bytes is accepted"
    ) { probe, _ in
      try await probe.open()
      let ping = probe.frame(.ping).decoded
      for length in 0..<8 { try await probe.write(Wire.sealed(Array(ping.prefix(length)))) }
      try await probe.write([0, 0, 0, 1, 0, 1, 0, 2, 0])
      let answers = try await probe.requestFence()
      probe.expect("answers to short candidates", answers, is: [])
      try await probe.write(probe.frame(.ping))
      _ = try await probe.awaitFrame(.pong)
    }

    Case("FRM-6/text-around", "Text before, between and after frames does not affect them") { probe, _ in
      try await probe.open()
      let text = Array("AT\r\n+++\u{7F}~~~ \u{1B}[0m\r\n".utf8)
      for _ in 0..<3 { try await probe.write(text + probe.frame(.ping).bytes + text) }
      try await probe.write([UInt8](repeating: 0, count: 300))
      let answers = try await probe.requestFence()
      probe.expect("PONGs to 3 PINGs among text", answers.map(\.kind), is: [.pong, .pong, .pong])
    }

    Case(
      "FRM-7/impossible-headers",
      "Frames with an impossible type are dropped, whether or not their CRC is right"
    ) { probe, _ in
      try await probe.open()
      // 1 HELLO and 3 SYNACK never come from a host.
      for type in [0, 1, 3, 12, 13, 14, 15] as [UInt8] {
        var bytes = probe.frame(.ping).decoded
        bytes[0] = type << 4
        try await probe.write(Wire.sealed(bytes))
        // A frame of another session would be answered.
        bytes.replaceSubrange(3...4, with: Wire.u16(probe.session.id &+ 1000))
        try await probe.write(Wire.sealed(bytes))
      }
      let answers = try await probe.requestFence()
      probe.expect("answers to impossible types", answers, is: [])
    }

    Case(
      "FRM-8/overrun-544", "544 bytes without a zero become text, and the frame after them is accepted",
      also: ["FRM-13"]
    ) { probe, _ in
      try await probe.open()
      // A DATA header with length 528 and then no zero: valid until the 544th byte.
      let start = Wire.stuffed(probe.data([UInt8](repeating: 0x55, count: 528), channel: 2, seq: 0).decoded)
      for length in [543, 544, 545, 2000] {
        let run = start + [UInt8](repeating: 0x55, count: max(0, length - start.count))
        try await probe.write([0] + run.prefix(length) + [0])
        let answers = try await probe.requestFence()
        probe.expect("answers to \(length) bytes without a zero", answers, is: [])
      }
    }

    Case(
      "FRM-8/slow-frame", "A frame in pieces, with pauses below the silence timeout, is accepted",
      also: ["FRM-9"], alsoAtWrap: .milliseconds(950)
    ) { probe, bench in
      try await probe.open()
      let ping = probe.frame(.ping).bytes
      let pause = bench.hasVirtualTime ? Duration.milliseconds(450) : .milliseconds(250)
      // In total more than the silence timeout: only the pauses count.
      let pieces: [ArraySlice<UInt8>] = [
        ping[..<1], ping[1..<3], ping[3..<4], ping[4..<6], ping[6..<9], ping[9..<11], ping[11..<14],
        ping[14...],
      ]
      for piece in pieces {
        _ = try await probe.frames(for: pause)
        try await probe.write(Array(piece))
      }
      _ = try await probe.awaitFrame(.pong)
    }

    Case(
      "FRM-9/short-pause", "A pause of 0.4 s in a frame is not the silence that ends it", also: ["LNK-55"]
    ) { probe, bench in
      let ping = probe.frame(.ping).bytes.count
      let states: [(what: String, length: Int, cuts: [Int])] = [
        ("SYN without a session", 0, [8]), ("PING", 0, [2, 10]), ("PING of 540 bytes", 528, [320]),
        ("PING behind an unacknowledged answer", 0, [ping - 1]),
      ]
      for (what, length, cuts) in states {
        try await probe.open()
        if what.hasPrefix("SYN") { try await SessionEnding.fin.end(bench) }
        if what.hasSuffix("answer") { _ = try await probe.unacknowledgedAnswers(1) }
        let attempts = 3
        var lost = 0
        for _ in 0..<attempts {
          let frame =
            what.hasPrefix("SYN")
            ? probe.syn(Probe.synTLVs(nonce: probe.makeNonce()))
            : probe.frame(.ping, payload: [UInt8](repeating: 0x55, count: length))
          var (rest, isShort) = (frame.bytes[...], true)
          for cut in cuts {
            let start = probe.now
            try await probe.write(Array(rest.prefix(upTo: cut)))
            rest = rest[cut...]
            _ = try await probe.frames(for: .milliseconds(430))
            // A busy computer can make the pause longer.
            isShort = isShort && (probe.now - start).inMilliseconds < 480
          }
          // What the device does not take ends with another zero.
          try await probe.write(rest + [0])
          let answers = try await probe.frames(for: .milliseconds(100))
          if answers.contains(where: { $0.kind == .pong || $0.kind == .synAck }) { break }
          if isShort { lost += 1 }
        }
        probe.expect(
          lost < attempts, "a \(what) with pauses of 430 ms in it is not answered, \(attempts) times")
      }
    }

    Case(
      "FRM-9/silence", "Half a frame and 2 s of silence: the other half does not complete it",
      alsoAtWrap: .milliseconds(600)
    ) { probe, bench in
      try await probe.open()
      let ping = probe.frame(.ping).bytes
      try await probe.write(Array(ping[..<8]))
      let deadline = probe.now + .milliseconds(bench.hasExactTime ? 2050 : 2300)
      // The session's own PINGs continue in the meantime; answering them would end the half frame.
      while try await probe.nextFrame(until: deadline) != nil {}
      // The session survives, because that is less than 5 s.
      try await probe.write(Array(ping[8...]))
      let answers = try await probe.requestFence()
      probe.expect("answers to the halves", answers.filter { $0.kind != .ping }, is: [])
    }

    Case("FRM-10/text-until-zero", "Bytes after text without a zero are text too") { probe, _ in
      try await probe.open()
      let ping = probe.frame(.ping).bytes
      try await probe.write([0] + Array("I (1) wifi: no zero behind this".utf8) + Array(ping.dropFirst()))
      let answers = try await probe.requestFence()
      probe.expect("answers to a frame glued to text", answers, is: [])
      // Two bytes suffice to decide that this is text: type 15. The bytes directly after it are
      // text as well.
      try await probe.write([0, 0x02, 0xF0] + Array(ping.dropFirst()))
      let later = try await probe.requestFence()
      probe.expect("answers to a frame glued to the header of type 15", later, is: [])
    }

    Case(
      "FRM-11/echo", "The device neither answers nor accepts its own frames when they are echoed"
    ) { probe, _ in
      let synAck = try await probe.openSession()
      for kind in [.data, .ack, .nak, .ping, .pong, .fin, .rst, .udata] as [WireFrame.Kind] {
        try await probe.write(probe.echo(of: probe.frame(kind, payload: kind == .data ? [0x0A, 3, 0] : [])))
      }
      try await probe.write(probe.echo(of: synAck))
      let answers = try await probe.requestFence()
      probe.expect("answers to echoes", answers, is: [])
      _ = try await probe.readCount()
    }

    Case(
      "FRM-14/log-between-frames", "Console text is never inside a frame", also: ["FRM-6"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.open()
      _ = try await probe.fence()
      probe.startCapture()
      for index in 0..<10 {
        try await control.perform(.log("I (\(index)) rig: line \(index)"))
        let count = try await probe.request([0x0A, 3, 0])
        probe.expect("length of the answer after a log line", count.count, is: 3)
      }
      _ = try await probe.fence()
      let text = String(decoding: probe.textReceived, as: UTF8.self)
      for index in 0..<10 {
        probe.expect(
          text.contains("I (\(index)) rig: line \(index)"), "log line \(index) is not complete in the text")
      }
      // Half a frame would also be text, and the answer in it would be sent again.
      for run in (probe.captured ?? []).split(separator: 0) where WireFrame(candidate: Array(run)) == nil {
        let isPlain = run.allSatisfy { (0x20...0x7E).contains($0) || [0x09, 0x0A, 0x0D].contains($0) }
        probe.expect(isPlain, "among the log lines: [\(Wire.hex(run, limit: 48))]")
      }
    }

    Case(
      "FRM-14/abandoned-frame", "A frame that was abandoned half-way, ended by a zero, does no harm"
    ) { probe, _ in
      try await probe.open()
      let ping = probe.frame(.ping).bytes
      for length in 1..<ping.count { try await probe.write(Array(ping.prefix(length)) + [0]) }
      let answers = try await probe.requestFence()
      // The last one lacked only its closing zero: with it, it is a frame.
      probe.expect("answers", answers.map(\.kind), is: [.pong])
    }
  }

  /// A DATA frame on a channel that the device does not serve, whose encoding ends in a block of
  /// 254 bytes.
  private static func endingInFullBlock(_ probe: Probe) -> WireFrame? {
    for salt in 1...100 as ClosedRange<UInt8> {
      // The zero ends a block; 250 bytes and a CRC without a zero make the last one.
      let payload = [0, salt] + [UInt8](repeating: 0x5A, count: 249)
      let frame = probe.data(payload, channel: 2, seq: probe.session.nextSeq)
      let encoded = frame.bytes
      if encoded.count > 257, encoded[encoded.count - 256] == 255 { return frame }
    }
    return nil
  }
}

extension [UInt8] {
  /// A header and payload with another number in the length field.
  func replacingLength(_ length: UInt16) -> [UInt8] {
    self[..<1] + Wire.u16(length) + self[3...]
  }
}

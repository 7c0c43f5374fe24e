import NotibotProtocol
import SuiteWire

/// How a session opens, and frames that do not open one.
extension Suite {
  static let linkOpening = chapter(.link) {
    Case(
      "LNK-1/synack-layout", "SYNACK has its fields at the positions of version-independent fields",
      also: ["LNK-2", "LNK-5", "LNK-6", "LNK-12"]
    ) { probe, _ in
      let reply = try await probe.openSession()
      let tlvs = try probe.require(TLV.parse(reply.payload), "the SYNACK's TLVs exceed its end")
      probe.expect("channel", reply.channel, is: 0)
      probe.expect("seq", reply.seq, is: 0)
      probe.expect("ack", reply.ack, is: 0)
      probe.expect(reply.session != 0, "the session id is 0")
      probe.expect("the first TLV", tlvs.first, is: .magic)
      probe.expect("VERSION", tlvs.value(of: 0x84), is: [1])
      probe.expect(
        "TLVs that are listed for another frame or too short", TLV.strange(tlvs, in: .synAck), is: [])
      probe.expect("length of BOOT_ID", tlvs.value(of: 0x0A)?.count, is: 4)
      probe.expect(
        "credit of the SYNACK, the frames announced", Int(reply.credit), is: probe.session.peerFrames)
    }

    Case(
      "LNK-2/numbers-in-syn-ignored", "seq, ack and credit of a SYN have no meaning, nor does its session"
    ) { probe, _ in
      let nonce = probe.makeNonce()
      var syn = probe.syn(Probe.synTLVs(nonce: nonce))
      (syn.seq, syn.ack, syn.credit) = (77, 99, 255)
      try await probe.write(syn)
      let reply = try await probe.awaitFrame(.synAck)
      probe.expect("NONCE", TLV.parse(reply.payload)?.number(of: 0x82), is: nonce)
    }

    Case("LNK-3/longer-payload", "Bytes after the end of a payload's format are ignored") { probe, _ in
      try await probe.open()
      try await probe.write(probe.frame(.ping, payload: [1, 2, 3]))
      _ = try await probe.awaitFrame(.pong)
      try await probe.write(probe.frame(.ack, payload: [9, 9, 9, 9]))
      _ = try await probe.readCount()
    }

    Case(
      "LNK-3/shorter-payload", "A NAK with half a bitmap and DATA without payload are dropped"
    ) { probe, _ in
      try await probe.open()
      _ = try await probe.readCount()
      var nak = probe.frame(.nak, payload: [0, 0, 0])
      nak.ack = 0
      try await probe.expectUnanswered("a NAK with 3 bytes", nak.bytes)
      try await probe.write(probe.data([], seq: probe.session.nextSeq))
      let answers = try await probe.fence()
      probe.expect("answers to DATA without payload", answers, is: [])
      _ = try await probe.readCount()
    }

    Case(
      "LNK-4/unserved-channels",
      "DATA on a channel that the device does not serve is acknowledged and dropped"
    ) { probe, _ in
      try await probe.open()
      for channel in [1, 2, 3, 5, 6, 7] as [UInt8] {
        try await probe.sendData([0x0A, 3, 0], channel: channel)
        try await probe.expectTaken("DATA on channel \(channel)")
      }
      var udata = probe.frame(.udata, channel: 5, payload: [1, 2, 3])
      (udata.ack, udata.credit) = (0, 0)
      try await probe.expectUnanswered("UDATA on channel 5", udata.bytes)
    }

    Case(
      "LNK-5/unknown-tlv", "A SYN with TLVs that the device cannot know is answered as if they were missing",
      also: ["LNK-7"]
    ) { probe, _ in
      var tlvs = Probe.synTLVs(nonce: probe.makeNonce())
      tlvs += [TLV(0x7F, []), TLV(0x40, [UInt8](repeating: 1, count: 200)), TLV(0x7F, [1])]
      // Longer than its value: the rest is ignored.
      tlvs += [TLV(0x08, [1, 0, 0, 0, 9, 9])]
      try await probe.open(tlvs)
      _ = try await probe.readCount()
    }

    Case(
      "LNK-6/only-required-tlvs",
      "A SYN with only MAGIC, VERSIONS and NONCE opens a session, in which a fifth answer is queued",
      also: ["LNK-41"]
    ) { probe, _ in
      try await probe.open([.magic, .versions(1, 1), .nonce(probe.makeNonce())])
      // No LIMITS: 4 frames, so a fifth answer is queued until one is handled. No FEATURES: one
      // request at a time, here sent late enough to be allowed.
      _ = try await probe.unacknowledgedAnswers(4)
      try await probe.sendData([0x0A, 3, 0])
      let sent = try await probe.fence() + probe.frames(for: probe.settleTime)
      probe.expect(
        "whether a fifth answer came", sent.contains { $0.kind == .data && $0.seq == 4 }, is: false)
      probe.session.expectedSeq = 1
      try await probe.write(probe.frame(.ack))
      _ = try await probe.awaitFrame("the fifth answer") { $0.kind == .data && $0.seq == 4 }
      probe.session.expectedSeq = 5
      for _ in 0..<6 { _ = try await probe.readCount() }
    }

    Case(
      "LNK-7/malformed-syn", "A SYN with broken TLVs is refused with reason 4 and opens nothing",
      also: ["LNK-19"]
    ) { probe, _ in
      try await probe.open()
      let nonce = probe.makeNonce()
      let good: [TLV] = [.magic, .nonce(nonce), .versions(1, 1)]
      let inputs: [(String, [UInt8])] = [
        ("an empty SYN", []),
        ("a TLV that exceeds the end", good.payload + [0x08, 4, 1]),
        ("half a TLV header", good.payload + [0x08]),
        ("NONCE of 7 bytes", [TLV.magic, TLV(0x82, [1, 2, 3, 4, 5, 6, 7]), .versions(1, 1)].payload),
        ("NONCE twice", [TLV.magic, .nonce(nonce), .nonce(nonce), .versions(1, 1)].payload),
        ("FEATURES twice", good.payload + TLV.features(1).bytes + TLV.features(1).bytes),
        ("no VERSIONS", [TLV.magic, .nonce(nonce)].payload),
        ("no NONCE", [TLV.magic, .versions(1, 1)].payload),
        ("MAGIC second", [TLV.nonce(nonce), .magic, .versions(1, 1)].payload),
        ("another magic", [TLV(0x81, [0x4E, 0x42, 0x4F, 0x55]), .nonce(nonce), .versions(1, 1)].payload),
      ]
      for (what, payload) in inputs {
        let syn = WireFrame(kind: .syn, sender: .host, payload: payload)
        let reply = try await probe.ask(syn, "RST or SYNACK to \(what)") {
          $0.kind == .rst || $0.kind == .synAck
        }
        probe.expect("the answer to \(what)", reply.kind, is: .rst)
        probe.expect("REASON for \(what)", TLV.parse(reply.payload)?.number(of: 0x14), is: 4)
      }
      let isLive = try await probe.isSessionLive()
      probe.expect(isLive, "a malformed SYN ended the live session")
    }

    Case(
      "LNK-8/limits-announced", "The limits that the device announces are within their ranges"
    ) { probe, _ in
      try await probe.open()
      PeerLimits(probe.session.announced).expectInRange(probe)
    }

    Case(
      "LNK-8/limits-out-of-range", "Limits out of range are clamped to the range", also: ["LNK-41"]
    ) { probe, _ in
      let low = Probe.synTLVs(nonce: probe.makeNonce(), frames: 0, requests: 0, mtu: 0, bytes: 0)
      try await probe.open(low)
      for _ in 0..<5 { _ = try await probe.readCount() }
      let high = Probe.synTLVs(nonce: probe.makeNonce(), frames: 255, requests: 255, mtu: 65535, bytes: .max)
      try await probe.open(high)
      _ = try await probe.readCount()
      let reply = try await probe.request([0x02, 0xFF, 0xFF])
      probe.expect("the answer to Exchange MTU", reply, is: [0x03] + Wire.u16(UInt16(probe.session.peerMTU)))
    }

    Case(
      "LNK-10/three-hellos", "After a boot the device sends HELLO three times, 200 ms apart, and no more",
      also: ["LNK-2", "LNK-6"], needs: [.control], alsoAtWrap: .milliseconds(300)
    ) { probe, bench in
      let first = try await bench.restartSession()
      var times: [Double] = []
      let start = probe.now
      var later: [WireFrame] = []
      let end = start + .milliseconds(bench.hasVirtualTime ? 2000 : 700)
      while let frame = try await probe.nextFrame(until: end) {
        guard frame.kind == .hello else { continue }
        later.append(frame)
        times.append((probe.now - start).inMilliseconds)
      }
      probe.expect("HELLOs after the first", later.count, is: 2)
      for (index, time) in times.prefix(2).enumerated() {
        let due = 200.0 * Double(index + 1)
        probe.expect(
          bench.hasExactTime ? abs(time - due) < 1 : abs(time - due) < 150,
          "HELLO \(index + 2) came \(time) ms after the first, due \(due)")
      }
      for hello in [first] + later {
        let tlvs = TLV.parse(hello.payload) ?? []
        probe.expect("first TLV", tlvs.first, is: .magic)
        probe.expect("VERSIONS", tlvs.value(of: 0x83)?.count, is: 2)
        probe.expect("BOOT_ID", tlvs.value(of: 0x0A)?.count, is: 4)
        probe.expectSameDevice(TLV.parse(first.payload) ?? [], tlvs)
        probe.expect("session", hello.session, is: 0)
        probe.expect("seq, ack, credit", [hello.seq, hello.ack, hello.credit], is: [0, 0, 0])
      }
    }

    Case(
      "LNK-12/session-id", "Each new nonce gets the next session id, and the highest common version"
    ) { probe, _ in
      var last: UInt16?
      for _ in 0..<3 {
        var tlvs = Probe.synTLVs(nonce: probe.makeNonce())
        tlvs[2] = .versions(1, 200)
        let reply = try await probe.openSession(tlvs)
        probe.expect("VERSION", probe.session.announced.value(of: 0x84), is: [1])
        // Wrap-around is the rule, past 0.
        if let last { probe.expect("the next session id", reply.session, is: last &+ 1 == 0 ? 1 : last &+ 1) }
        last = reply.session
      }
    }

    Case(
      "LNK-13/same-syn-again", "The same SYN again gets the same SYNACK and changes nothing", also: ["LNK-2"]
    ) { probe, _ in
      // UPTIME is allowed to change.
      let steady = { (frame: WireFrame) in (TLV.parse(frame.payload) ?? []).filter { $0.type != 0x0D } }
      for isShut in [false, true] {
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
        let first = try await probe.openSession(tlvs, isAcknowledged: !isShut)
        if isShut {
          // Requests wait, so that the present credit is not that of the beginning.
          probe.session.credit = 0
          try await probe.write(probe.frame(.ack))
          for _ in 0..<min(probe.session.peerFrames, 4) { try await probe.sendData([0x0A, 3, 0]) }
          _ = try await probe.fence()
        } else {
          for _ in 0..<3 { _ = try await probe.readCount() }
        }
        try await probe.write(probe.syn(tlvs))
        let again = try await probe.awaitFrame(.synAck)
        probe.expect("the session id", again.session, is: first.session)
        probe.expect(
          "seq, ack and credit\(isShut ? " while requests wait" : "")", [again.seq, again.ack, again.credit],
          is: [0, 0, first.credit])
        probe.expect(steady(again) == steady(first), "the second SYNACK differs from the first")
        if !isShut {
          // Numbers continue.
          _ = try await probe.readCount()
        }
      }
    }

    Case("LNK-14/new-nonce", "A SYN with a new nonce ends the live session", also: ["LNK-20"]) { probe, _ in
      try await probe.open()
      let old = probe.session
      try await probe.open()
      let new = probe.session
      probe.session = old
      let isOldLive = try await probe.isSessionLive()
      probe.expect(!isOldLive, "the old session is still served")
      probe.session = new
      let isNewLive = try await probe.isSessionLive()
      probe.expect(isNewLive, "a frame of the old session ended the new one")
    }

    Case("LNK-14/old-nonces", "The last 8 nonces open nothing when they are repeated") { probe, _ in
      var syns: [WireFrame] = []
      for _ in 0..<8 {
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
        try await probe.open(tlvs)
        syns.append(probe.syn(tlvs))
      }
      for syn in syns.dropLast() { try await probe.write(syn) }
      let answers = try await probe.fence()
      probe.expect("answers to SYNs with old nonces", answers, is: [])
    }

    Case(
      "LNK-16/silent-after-synack",
      "After SYNACK the device waits for the session's first frame, and does not time out",
      also: ["LNK-13", "LNK-18", "FRM-11"], alsoAtWrap: .milliseconds(10_000)
    ) { probe, bench in
      try await probe.open(isAcknowledged: false)
      // None of these is a frame of the session.
      let tlvs = Probe.synTLVs(nonce: probe.session.nonce)
      _ = try await probe.ask(probe.syn(tlvs), "SYNACK again") { $0.kind == .synAck }
      _ = try await probe.ask(probe.syn(tlvs + [TLV(0xC0, [])]), "RST of a SYN") { $0.kind == .rst }
      let stray = probe.frame(.ping).with(session: probe.session.id &+ 1000)
      _ = try await probe.ask(stray, "RST of a PING") { $0.kind == .rst && $0.session == stray.session }
      try await probe.write(probe.echo(of: probe.frame(.ping)))
      // Longer than the silence that ends a confirmed session.
      let wait = bench.hasVirtualTime ? Duration.seconds(20) : .milliseconds(5600)
      let frames = try await probe.frames(for: wait).filter { $0.kind != .synAck && $0.kind != .rst }
      probe.expect("frames before the first ACK", frames, is: [])
      let isLive = try await probe.isSessionLive()
      probe.expect(isLive, "the session timed out before its first frame")
    }

    Case(
      "LNK-19/refusals", "An unknown critical TLV is refused with reason 3, no common version with reason 2",
      also: ["LNK-18", "LNK-5", "LNK-1"]
    ) { probe, _ in
      try await probe.open()
      let bootID = probe.session.bootID
      let nonce = probe.makeNonce()
      var critical = Probe.synTLVs(nonce: nonce)
      critical.append(TLV(0xC0, [1]))
      var tooNew = Probe.synTLVs(nonce: nonce)
      tooNew[2] = .versions(2, 9)
      for (tlvs, reason, refused) in [(critical, 3, 0xC0), (tooNew, 2, nil)] as [([TLV], UInt64, UInt64?)] {
        let reply = try await probe.ask(probe.syn(tlvs), "RST") { $0.kind == .rst }
        let fields = try probe.require(TLV.parse(reply.payload), "the RST's TLVs exceed its end")
        probe.expect("REASON", fields.number(of: 0x14), is: reason)
        probe.expect("REFUSED", fields.number(of: 0x15), is: refused)
        probe.expect("NONCE", fields.number(of: 0x82), is: nonce)
        probe.expect("BOOT_ID", fields.number(of: 0x0A), is: bootID)
        probe.expect("VERSIONS", fields.value(of: 0x83), is: [1, 1])
        probe.expect("first TLV", fields.first, is: .magic)
        probe.expect("seq, ack, credit", [reply.seq, reply.ack, reply.credit], is: [0, 0, 0])
      }
    }

    Case(
      "LNK-19/which-reason", "If there are several reasons to refuse a SYN, 4 precedes 3 and 3 precedes 2",
      also: ["LNK-5"]
    ) { probe, _ in
      try await probe.open()
      let nonce = TLV.nonce(probe.makeNonce())
      // 0x85 is not FEATURES with bit 7, but a type of its own.
      let inputs: [(String, [UInt8], UInt64, UInt64?)] = [
        (
          "critical and no common version", [TLV.magic, nonce, .versions(7, 9), TLV(0xC1, [])].payload, 3,
          0xC1
        ),
        (
          "critical and malformed", [TLV.magic, nonce, .versions(1, 1), TLV(0xC1, [])].payload + [8, 4], 4,
          nil
        ),
        ("critical, and VERSIONS missing", [TLV.magic, nonce, TLV(0xC1, [])].payload, 4, nil),
        ("0x85", [TLV.magic, nonce, .versions(1, 1), TLV(0x85, [1, 0, 0, 0])].payload, 3, 0x85),
      ]
      for (what, payload, reason, refused) in inputs {
        let syn = WireFrame(kind: .syn, sender: .host, payload: payload)
        let reply = try await probe.ask(syn, "RST to \(what)") { $0.kind == .rst }
        let fields = TLV.parse(reply.payload) ?? []
        probe.expect("REASON for \(what)", fields.number(of: 0x14), is: reason)
        probe.expect("REFUSED for \(what)", fields.number(of: 0x15), is: refused)
      }
    }

    Case(
      "LNK-5/known-elsewhere", "A known TLV in a frame that it is not listed for is checked and ignored",
      also: ["LNK-7"]
    ) { probe, _ in
      try await probe.open(Probe.synTLVs(nonce: probe.makeNonce()) + [.bootID(1), .reason(1)])
      let short = Probe.synTLVs(nonce: probe.makeNonce()) + [TLV(0x0A, [1, 2, 3])]
      let reply = try await probe.ask(probe.syn(short), "RST") { $0.kind == .rst || $0.kind == .synAck }
      probe.expect("the answer to a short BOOT_ID", TLV.parse(reply.payload)?.number(of: 0x14), is: 4)
    }

    Case(
      "LNK-19/live-session-stays", "A refused SYN does not affect the live session and its numbers"
    ) { probe, _ in
      try await probe.open()
      _ = try await probe.readCount()
      var critical = Probe.synTLVs(nonce: probe.makeNonce())
      critical.append(TLV(0xC0, [1]))
      _ = try await probe.ask(probe.syn(critical), "RST") { $0.kind == .rst }
      _ = try await probe.readCount()
    }
  }
}

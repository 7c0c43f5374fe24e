import NotibotProtocol
import SuiteWire

/// Nonces, refused SYNs, their RSTs, and the limit of RSTs.
extension Suite {
  static let linkRefusals = chapter(.link) {
    Case(
      "LNK-14/every-byte-of-a-nonce", "Nonces that differ in one byte are two nonces",
      also: ["LNK-13", "LNK-12"]
    ) { probe, _ in
      let nonce = probe.makeNonce()
      let first = try await probe.openSession(Probe.synTLVs(nonce: nonce))
      var last = first.session
      for byte in 0..<8 as Range<UInt64> {
        let reply = try await probe.openSession(
          Probe.synTLVs(nonce: nonce ^ 1 << (8 * byte)), attempts: 1)
        probe.expect(
          reply.session != last, "a nonce that differs in byte \(byte) opened no session of its own")
        last = reply.session
      }
    }

    Case(
      "LNK-14/ninth-nonce", "The eighth last nonce opens nothing, the ninth last opens a session"
    ) { probe, _ in
      let (ninth, eighth) = (Probe.synTLVs(nonce: probe.makeNonce()), Probe.synTLVs(nonce: probe.makeNonce()))
      try await probe.openSession(ninth)
      try await probe.openSession(eighth)
      for _ in 0..<7 { try await probe.openSession() }
      try await probe.expectUnanswered("the SYN with the eighth last nonce", probe.syn(eighth).bytes)
      try await probe.openSession(ninth, attempts: 2)
    }

    Case(
      "LNK-14/unconfirmed-nonce", "The nonce of a session that no frame has confirmed opens nothing again",
      also: ["LNK-16"]
    ) { probe, _ in
      let first = Probe.synTLVs(nonce: probe.makeNonce())
      try await probe.openSession(first, isAcknowledged: false)
      try await probe.openSession(isAcknowledged: false)
      try await probe.expectUnanswered("the SYN of the session before", probe.syn(first).bytes)
    }

    Case(
      "LNK-14/old-nonce-after-each-end",
      "However sessions ended, their nonces open nothing when they are repeated", also: ["LNK-24", "LNK-53"],
      needs: [.longWaits]
    ) { probe, _ in
      var syns: [WireFrame] = []
      for ending in 0..<4 {
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
        try await probe.openSession(tlvs, isAcknowledged: ending != 3)
        syns.append(probe.syn(tlvs))
        switch ending {
        case 0:
          try await probe.write(probe.frame(.fin))
          _ = try await probe.awaitFrame("ACK of FIN") { $0.kind == .ack }
        case 1: _ = try await probe.frames(for: .milliseconds(5600))
        // By the next SYN: as an open session, and as one that was only offered.
        case _: break
        }
        for (index, syn) in syns.enumerated() where index < 2 || index < ending {
          try await probe.write(syn)
          let answers = try await probe.frames(for: .milliseconds(20))
          probe.expect(
            "answers to the SYN of session \(index)", answers.filter { $0.kind == .synAck }, is: [])
        }
      }
    }

    Case(
      "LNK-19/fields-of-rst",
      "An RST to a SYN has session 0, the NONCE that could be parsed, and REFUSED only with reason 3",
      also: ["LNK-2", "LNK-5", "LNK-6", "LNK-18", "LNK-20"]
    ) { probe, _ in
      try await probe.open()
      let nonce = probe.makeNonce()
      let good: [TLV] = [.magic, .nonce(nonce), .versions(1, 1)]
      let refusals = [
        Refusal(
          what: "no common version", payload: [TLV.magic, .nonce(nonce), .versions(2, 9)].payload, reason: 2),
        Refusal(what: "a critical TLV", payload: good.payload + [0xC0, 0], reason: 3, refused: 0xC0),
        Refusal(what: "no VERSIONS", payload: [TLV.magic, .nonce(nonce)].payload, reason: 4),
        Refusal(what: "half a TLV", payload: good.payload + [0x08], reason: 4),
        Refusal(what: "a short TLV", payload: good.payload + [0x07, 1, 1], reason: 4),
        Refusal(
          what: "a critical and a short TLV", payload: good.payload + [0xC0, 0, 0x07, 1, 1], reason: 4),
        Refusal(what: "no NONCE", payload: [TLV.magic, .versions(1, 1)].payload, reason: 4, hasNonce: false),
        Refusal(
          what: "a NONCE of 7 bytes",
          payload: [TLV.magic, TLV(0x82, [1, 2, 3, 4, 5, 6, 7]), .versions(1, 1)].payload,
          reason: 4, hasNonce: false),
        Refusal(what: "nothing", payload: [], reason: 4, hasNonce: false),
      ]
      for refusal in refusals { try await probe.expectRefused(refusal, nonce: nonce) }
      for kind in [.data, .ack, .nak, .ping] as [WireFrame.Kind] {
        let stray = probe.frame(kind, payload: kind == .data ? [1] : []).with(
          session: probe.session.id &+ 1000)
        let rst = try await probe.ask(stray, "RST to \(kind) of another session") { $0.kind == .rst }
        let fields = TLV.parse(rst.payload) ?? []
        probe.expect("session of the RST to \(kind)", rst.session, is: stray.session)
        probe.expect("the flaws of the RST to \(kind)", rst.flaws(in: probe.session), is: [])
        probe.expect("REASON for \(kind)", fields.number(of: 0x14), is: 1)
        probe.expect(
          "NONCE and REFUSED for \(kind)", [fields.number(of: 0x82), fields.number(of: 0x15)], is: [nil, nil])
      }
    }

    Case(
      "LNK-20/refusals-do-not-count",
      "Each refused SYN is answered, and none of them counts among the ten RSTs", also: ["LNK-19"]
    ) { probe, _ in
      try await probe.open()
      // Earlier frames can have used up the ten RSTs of this second.
      _ = try await probe.frames(for: .milliseconds(1100))
      var bad = Probe.synTLVs(nonce: probe.makeNonce())
      bad.append(TLV(0xC0, []))
      for count in 1...25 {
        try await probe.write(probe.syn(bad))
        let answers = try await probe.fence()
        probe.expect("answers to refused SYN \(count)", answers.map(\.kind), is: [.rst])
      }
      let stray = probe.frame(.ack).with(session: probe.session.id &+ 1000)
      for count in 1...10 {
        try await probe.write(stray)
        let answers = try await probe.fence()
        probe.expect("answers to stray frame \(count)", answers.map(\.kind), is: [.rst])
      }
      try await probe.write(probe.syn(bad))
      let last = try await probe.fence()
      probe.expect("answers to a refused SYN after ten RSTs", last.map(\.kind), is: [.rst])
    }

    Case(
      "LNK-20/sliding-second", "There are ten RSTs in each second, wherever it begins",
      alsoAtWrap: .milliseconds(2050)
    ) { probe, bench in
      // Everything before is more than a second ago.
      _ = try await probe.frames(for: .milliseconds(1100))
      try await probe.open()
      let stray = probe.frame(.ack).with(session: probe.session.id &+ 1000)
      var times: [Instant] = []
      let start = probe.now
      let send = { (count: Int, moment: Int) in
        _ = try await probe.frames(for: .milliseconds(moment) - (probe.now - start))
        times += try await probe.timesOfRSTs(to: stray, count)
      }
      try await send(1, 0)
      try await send(9, 900)
      probe.expect("RSTs to the first ten", times.count, is: 10)
      // The first one is more than a second ago, the others are not.
      try await send(12, 1050)
      if bench.hasExactTime { probe.expect("RSTs up to 1.05 s", times.count, is: 11) }
      try await send(12, 1950)
      if bench.hasExactTime { probe.expect("RSTs up to 1.95 s", times.count, is: 20) }
      probe.expectTenASecond(times)
    }

    Case(
      "LNK-12/ranges-of-versions",
      "Each range that contains version 1 is accepted, each other one is refused with reason 2",
      also: ["LNK-7", "LNK-19"]
    ) { probe, _ in
      try await probe.open()
      for (lowest, highest) in [(0, 1), (1, 1), (0, 2), (1, 2), (0, 255), (1, 255)] as [(UInt8, UInt8)] {
        let tlvs: [TLV] = [.magic, .nonce(probe.makeNonce()), .versions(lowest, highest)]
        try await probe.openSession(tlvs, attempts: 2)
        probe.expect("VERSION for \(lowest) to \(highest)", probe.session.announced.value(of: 0x84), is: [1])
      }
      for (lowest, highest) in [(0, 0), (2, 2), (2, 255), (255, 255), (1, 0), (2, 1), (255, 1)]
        as [(UInt8, UInt8)]
      {
        let tlvs: [TLV] = [.magic, .nonce(probe.makeNonce()), .versions(lowest, highest)]
        let reply = try await probe.ask(probe.syn(tlvs), "answer to versions \(lowest) to \(highest)") {
          $0.kind == .rst || $0.kind == .synAck
        }
        let reason = TLV.parse(reply.payload)?.number(of: 0x14)
        probe.expect("REASON for versions \(lowest) to \(highest)", reason, is: 2)
      }
    }

    Case(
      "LNK-19/which-nonce",
      "An RST repeats the first complete NONCE, whatever is wrong before and after it, up to a TLV past the end",
      also: ["LNK-5", "LNK-7"]
    ) { probe, _ in
      try await probe.open()
      let nonce = probe.makeNonce()
      let (whole, other) = (TLV.nonce(nonce), TLV.nonce(~nonce))
      let short = TLV(0x82, [1, 2, 3, 4, 5, 6, 7])
      let long = TLV(0x82, Wire.u64(nonce) + [9])
      let versions = TLV.versions(1, 1)
      let inputs: [(what: String, tlvs: [TLV])] = [
        ("a short TLV before NONCE", [.magic, TLV(0x07, [1]), whole, versions]),
        ("a TLV twice before NONCE", [.magic, .features(0), .features(0), whole, versions]),
        ("MAGIC twice before NONCE", [.magic, .magic, whole, versions]),
        ("another magic", [TLV(0x81, [0x4E, 0x42, 0x4F, 0x55]), whole, versions]),
        ("a short MAGIC", [TLV(0x81, [0x4E]), whole, versions]),
        ("no MAGIC", [whole, versions]), ("MAGIC last", [whole, versions, .magic]),
        ("nothing but NONCE", [whole]), ("a NONCE of 9 bytes", [.magic, long]),
        ("a short VERSIONS", [.magic, TLV(0x83, [1]), whole]),
        ("a NONCE of 7 bytes before NONCE", [.magic, short, whole, versions]),
        ("a NONCE of 7 bytes after NONCE", [.magic, whole, short, versions]),
        ("another NONCE after NONCE", [.magic, whole, other, versions]),
        ("three NONCEs", [.magic, short, whole, other, versions]),
        ("a critical TLV and no VERSIONS", [.magic, TLV(0xC0, [1]), whole]),
      ]
      for (what, tlvs) in inputs {
        try await probe.expectRefused(Refusal(what: what, payload: tlvs.payload, reason: 4), nonce: nonce)
        let cut = Refusal(what: what + ", cut after it", payload: tlvs.payload + [0x40, 9], reason: 4)
        try await probe.expectRefused(cut, nonce: nonce)
        let early = Refusal(
          what: what + ", after one past the end", payload: TLV.magic.bytes + [0x40, 255] + tlvs.payload,
          reason: 4, hasNonce: false)
        try await probe.expectRefused(early, nonce: nonce)
      }
      let uncritical: [TLV] = [.magic, TLV(0x02, Wire.u64(nonce)), versions]
      try await probe.expectRefused(
        Refusal(what: "TLV 02", payload: uncritical.payload, reason: 4, hasNonce: false), nonce: nonce)
      for tlv in [TLV(0xC0, [1]), TLV(0x80, [])] {
        let critical = Refusal(
          what: "a critical TLV before NONCE", payload: [.magic, tlv, whole, versions].payload, reason: 3,
          refused: UInt64(tlv.type))
        try await probe.expectRefused(critical, nonce: nonce)
      }
    }

    Case(
      "LNK-20/other-sessions",
      "Session 0, and each that differs in a bit from the live one or the last, is refused with reason 1",
      also: ["LNK-3", "LNK-24"]
    ) { probe, _ in
      try await probe.open()
      let id = probe.session.id
      let others = Set([0, .max, id &+ 1, id &- 1, id ^ 0x0001, id ^ 0x0100, id ^ 0x8000]).subtracting([id])
      let expectRefused = { (sessions: [UInt16], what: String) in
        for session in sessions {
          let types = session == 0 ? [.data, .ack, .nak, .ping] : [.ping, .data] as [WireFrame.Kind]
          for kind in types {
            let payload: [UInt8] = kind == .data ? [0x0A, 3, 0] : []
            let stray = probe.frame(kind, channel: kind == .data ? 4 : 0, payload: payload)
            let name = "\(kind) of session \(session) \(what)"
            let answer = try await probe.ask(stray.with(session: session), "RST to \(name)") {
              $0.session == session && $0.kind != .udata
            }
            probe.expect("the answer to \(name)", answer.kind, is: .rst)
            probe.expect("REASON for \(name)", TLV.parse(answer.payload)?.number(of: 0x14), is: 1)
          }
        }
      }
      try await probe.expectUnanswered(
        "DATA of session 0, empty", probe.data([], seq: 0).with(session: 0).bytes)
      try await expectRefused(others.sorted(), "while session \(id) is live")
      _ = try await probe.readCount()
      try await probe.write(probe.frame(.fin))
      _ = try await probe.awaitFrame("ACK of FIN") { $0.kind == .ack && $0.session == id }
      try await expectRefused([0, id], "after the end of session \(id)")
    }

    Case(
      "LNK-20/four-answers",
      "Four RSTs and ACKs of FIN that are due at once are all sent, even if a SYN follows",
      also: ["LNK-14", "LNK-19", "LNK-23", "LNK-24"]
    ) { probe, bench in
      for opening in bench.hasVirtualTime ? Opening.allCases : [.new] {
        // Earlier frames can have used up the ten RSTs of this second.
        _ = try await probe.frames(for: .milliseconds(1100))
        // S: a SYN that is refused; P: a PING of another session, of which there are nine; F: FIN.
        for kinds in ["SSSS", "PPPP", "SPSP", "PSSF", "FSPS", "SPF"] {
          try await probe.open()
          _ = try await probe.readCount()
          let session = probe.session
          var (bytes, expected): ([UInt8], Set<LinkAnswer>) = ([], [])
          for (index, kind) in kinds.enumerated() {
            switch kind {
            case "S":
              let nonce = probe.makeNonce()
              bytes += probe.syn([.magic, .nonce(nonce)]).bytes
              expected.insert(.rst(session: 0, nonce: nonce, reason: 4))
            case "P":
              let other = session.id &+ 1000 &+ UInt16(index)
              bytes += probe.frame(.ping).with(session: other).bytes
              expected.insert(.rst(session: other, reason: 1))
            case _:
              bytes += probe.frame(.fin).bytes
              expected.insert(.ack(session: session.id))
            }
          }
          if opening != .none {
            let isSame = opening == .same && !kinds.contains("F")
            let nonce = isSame ? session.nonce : probe.makeNonce()
            let next = session.id == .max ? 1 : session.id + 1
            bytes += probe.syn(Probe.synTLVs(nonce: nonce)).bytes
            expected.insert(.synAck(session: isSame ? session.id : next, nonce: nonce))
          }
          try await probe.write(bytes)
          var missing = expected
          let deadline = probe.now + Probe.patience
          while !missing.isEmpty, let frame = try await probe.nextFrame(until: deadline) {
            if let answer = LinkAnswer(frame) { missing.remove(answer) }
          }
          probe.expect("the missing answers to \(kinds), then \(opening.rawValue)", missing, is: [])
        }
      }
    }
  }

  /// A SYN that is refused, and its RST.
  fileprivate struct Refusal {
    let what: String
    let payload: [UInt8]
    let reason: UInt64
    var refused: UInt64?
    var hasNonce = true
  }

  /// The SYN after the other frames.
  private enum Opening: String, CaseIterable {
    case none = "no SYN"
    case new = "a SYN"
    case same = "the SYN of the session"
  }
}

extension Probe {
  /// Sends a SYN that is refused and notes the flaws of the RST.
  fileprivate func expectRefused(
    _ refusal: Suite.Refusal, nonce: UInt64, file: String = #fileID, line: Int = #line
  ) async throws {
    let what = refusal.what
    let syn = WireFrame(kind: .syn, sender: .host, payload: refusal.payload)
    let rst = try await ask(syn, "answer to a SYN with \(what)", file: file, line: line) {
      $0.kind == .rst || $0.kind == .synAck
    }
    let fields = TLV.parse(rst.payload) ?? []
    let claim = { (name: String, actual: UInt64?, expected: UInt64?) in
      self.expect("\(name) for \(what)", actual, is: expected, file: file, line: line)
    }
    expect("the answer to a SYN with \(what)", rst.kind, is: .rst, file: file, line: line)
    expect("the flaws of the RST for \(what)", rst.flaws(in: session), is: [], file: file, line: line)
    claim("session of the RST", UInt64(rst.session), 0)
    claim("REASON", fields.number(of: 0x14), refusal.reason)
    claim("REFUSED", fields.number(of: 0x15), refusal.refused)
    claim("NONCE", fields.number(of: 0x82), refusal.hasNonce ? nonce : nil)
    claim("BOOT_ID", fields.number(of: 0x0A), session.bootID)
    expect("VERSIONS for \(what)", fields.value(of: 0x83), is: [1, 1], file: file, line: line)
  }
}

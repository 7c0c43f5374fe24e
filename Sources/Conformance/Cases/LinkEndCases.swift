import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// How sessions end, from either side, and the beginning of the next one.
extension Suite {
  static let linkEnds =
    chapter(.link) {
      Case(
        "LNK-24/fin-again",
        "A FIN of an ended session is not answered, however the session ended", also: ["LNK-20"]
      ) { probe, bench in
        for ending in SessionEnding.allCases where ending.isPossible(on: bench) {
          try await probe.open()
          _ = try await probe.readCount()
          let fin = probe.frame(.fin)
          try await ending.end(bench)
          if ending == .syn { try await probe.open() }
          _ = try await probe.frames(for: .milliseconds(30))
          for _ in 0..<2 { try await probe.write(fin) }
          try await probe.expectNone("answer to FIN after \(ending.rawValue)") {
            $0.kind != .hello && $0.kind != .ping && $0.kind != .udata
          }
        }
        try await probe.open()
        _ = try await probe.readCount()
      }

      Case(
        "LNK-12/id-after-each-end",
        "However a session ended the next one has the next id; a SYN that opens none uses no id",
        also: ["LNK-13", "LNK-14", "LNK-19"]
      ) { probe, bench in
        for ending in SessionEnding.allCases where ending != .reset && ending.isPossible(on: bench) {
          let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
          try await probe.open(tlvs)
          try await ending.end(bench)
          let last = probe.session.id
          // Old, refused and malformed ones; if the session is still live, its own again.
          try await probe.write(probe.syn(tlvs))
          _ = try await probe.frames(for: .milliseconds(bench.hasVirtualTime ? 300 : 30))
          let refused = Probe.synTLVs(nonce: probe.makeNonce()) + [TLV(0xC0, [])]
          try await probe.expectRefused(refused.payload, reason: 3, "a critical TLV")
          let other = [TLV.magic, .nonce(probe.makeNonce()), .versions(2, 3)]
          try await probe.expectRefused(other.payload, reason: 2, "versions 2 and 3")
          try await probe.expectRefused([TLV.magic].payload, reason: 4, "MAGIC alone")
          try await probe.openSession()
          probe.expect(
            "the session id after \(ending.rawValue)", probe.session.id, is: last == .max ? 1 : last + 1)
        }
      }

      Case(
        "LNK-14/refused-nonce",
        "The nonce of a refused SYN is not remembered: the same nonce opens a session", also: ["LNK-19"]
      ) { probe, bench in
        for isLive in [false, true] {
          let flaws: [(UInt64, @Sendable (UInt64) -> [TLV])] = [
            (2, { [.magic, .nonce($0), .versions(2, 3)] }),
            (3, { Probe.synTLVs(nonce: $0) + [TLV(0xC0, [])] }),
            (4, { Probe.synTLVs(nonce: $0) + [.features(1)] }),
          ]
          for (reason, tlvs) in flaws {
            try await probe.open()
            if !isLive { try await SessionEnding.fin.end(bench) }
            let nonce = probe.makeNonce()
            let what = "reason \(reason) \(isLive ? "with" : "without") a live session"
            for _ in 0..<2 {
              try await probe.expectRefused(tlvs(nonce).payload, reason: reason, what)
            }
            try await probe.openSession(Probe.synTLVs(nonce: nonce), attempts: 2)
            _ = try await probe.readCount()
            // A remembered nonce, including the live session's, is refused like any other.
            try await probe.expectRefused(tlvs(nonce).payload, reason: reason, "\(what), for its nonce")
            let isStillLive = try await probe.isSessionLive()
            probe.expect(isStillLive, "a refused SYN with the session's nonce ends it")
          }
        }
      }

      Case(
        "LNK-14/any-nonce",
        "Each value is a nonce, 0 as well: it opens a session where none is open, and is then remembered",
        also: ["LNK-12", "LNK-13"]
      ) { probe, bench in
        for nonce in [0, .max, 1] as [UInt64] {
          if bench.control == nil {
            // Eight others make a device forget it, if an earlier session had it.
            for _ in 0..<8 { try await probe.open() }
            try await SessionEnding.fin.end(bench)
          } else {
            _ = try await bench.restartSession()
          }
          let tlvs = Probe.synTLVs(nonce: nonce)
          let first = try await probe.openSession(tlvs, attempts: 3)
          _ = try await probe.readCount()
          try await probe.write(probe.syn(tlvs))
          let again = try await probe.awaitFrame(.synAck)
          probe.expect("the session id for the same nonce \(nonce)", again.session, is: first.session)
          try await probe.open()
          try await probe.expectUnanswered("the old SYN with nonce \(nonce)", probe.syn(tlvs).bytes)
        }
      }

      Case(
        "LNK-24/one-fin",
        "A device that closes sends one FIN and ends with the host's ACK or FIN, whatever ack it contains",
        also: ["LNK-20", "LNK-23", "LNK-31"], needs: [.control]
      ) { probe, bench in
        let control = try bench.requireControl()
        let rows: [(kind: WireFrame.Kind, isPossible: Bool)] = [
          (.ack, true), (.fin, true), (.ack, false), (.fin, false),
        ]
        for (kind, isPossible) in rows {
          try await probe.open()
          _ = try await probe.readCount()
          try await control.perform(.close)
          let fin = try await probe.awaitFrame(.fin)
          probe.expect("the flaws of \(fin)", fin.flaws(in: probe.session), is: [])
          probe.expect("ack of the FIN", fin.ack, is: probe.session.nextSeq)
          let answer = probe.frame(kind).with(ack: isPossible ? probe.session.expectedSeq : 100)
          try await probe.write(answer)
          if bench.hasExactTime {
            // Before the FIN wait is over, which is at least 100 ms.
            let isLive = try await probe.isSessionLive()
            probe.expect(!isLive, "the session is served after the \(kind) that ends it")
          } else {
            _ = try await probe.ask(probe.frame(.ping), "RST after \(kind)") {
              $0.kind == .rst && $0.session == probe.session.id
            }
          }
          try await probe.write(answer)
          // An ACK can have answered the FIN; an RST answers the repeated ACK.
          try await probe.expectNone("frame after the end by \(kind)", within: .milliseconds(600)) {
            ![.ack, .rst, .udata].contains($0.kind)
          }
          try await probe.open()
          _ = try await probe.readCount()
        }
      }

      Case(
        "LNK-24/device-closes-unanswered",
        "A device that closes accepts no more DATA, sends FIN once, and ends after 200 ms, 100 to 500",
        also: ["LNK-13", "LNK-18", "LNK-55"], needs: [.control]
      ) { probe, bench in
        let control = try bench.requireControl()
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
        try await probe.open(tlvs)
        try await probe.request(Wire.literal("12 0400 0100"))
        try await control.perform(.close)
        _ = try await probe.awaitFrame(.fin)
        if bench.hasExactTime {
          // Would be notified.
          try await control.perform(.fill(1))
          // Only ACK and FIN end it, and neither an RST, which only a device sends, nor anything
          // else.
          try await probe.write(WireFrame(kind: .rst, sender: .host, session: probe.session.id, payload: []))
          try await probe.write(probe.data([0x0A, 3, 0], seq: probe.session.nextSeq))
          try await probe.write(probe.frame(.nak))
          try await probe.write(probe.frame(.pong, payload: [1]))
          try await probe.write(probe.syn(tlvs))
          let closing = try await probe.frames(for: .milliseconds(90))
          probe.expect(
            "FINs, DATA and RSTs while it closes", closing.filter { [.fin, .data, .rst].contains($0.kind) },
            is: [])
          let taken = closing.filter {
            [.ack, .nak, .pong].contains($0.kind) && $0.ack != probe.session.nextSeq
          }
          probe.expect("frames that acknowledge DATA while it closes", taken, is: [])
          let again = closing.filter { $0.kind == .synAck }
          probe.expect("sessions of the SYNACK while it closes", again.map(\.session), is: [probe.session.id])
        }
        let later = try await probe.frames(for: .milliseconds(600))
        probe.expect("FINs and DATA later", later.filter { [.fin, .data].contains($0.kind) }, is: [])
        let isLive = try await probe.isSessionLive()
        probe.expect(!isLive, "the session is served 600 ms after FIN")
        try await probe.expectUnanswered(in: bench, "its SYN", probe.syn(tlvs).bytes)
        try await control.perform(.clear)
      }

      Case(
        "LNK-24/closes-under-traffic",
        "Frames that arrive while the device closes do not postpone the end", also: ["LNK-20", "LNK-55"],
        needs: [.control]
      ) { probe, bench in
        let control = try bench.requireControl()
        // Those that an RST can answer are not adjacent: ten in any second are answered.
        let kinds: [(what: String, frame: @Sendable (Probe) -> WireFrame)] = [
          ("PING", { $0.frame(.ping) }), ("PONG", { $0.frame(.pong, payload: [0]) }),
          ("DATA", { $0.data([0x0A, 3, 0], seq: $0.session.nextSeq) }),
          ("UDATA", { $0.frame(.udata, channel: 5, payload: [0x41]).with(ack: 0, credit: 0) }),
          ("NAK", { $0.frame(.nak) }),
        ]
        for kind in kinds {
          try await probe.open()
          _ = try await probe.readCount()
          try await control.perform(.close)
          _ = try await probe.awaitFrame(.fin)
          for _ in 0..<7 {
            try await probe.write(kind.frame(probe))
            _ = try await probe.frames(for: .milliseconds(90))
          }
          let session = probe.session.id
          // A PING of a session that is closing may stay unanswered, and would end it 200 ms later.
          if bench.hasExactTime { try await probe.write(probe.frame(.ping)) }
          let isOver =
            bench.hasExactTime
            ? try await probe.frames(for: .milliseconds(90)).contains {
              $0.kind == .rst && $0.session == session
            }
            : try await !probe.isSessionLive()
          probe.expect(isOver, "the session is live 630 ms after FIN, with a \(kind.what) every 90 ms")
        }
      }

      Case(
        "LNK-24/next-after-closing",
        "The FIN wait of a session that is over does not end the next session", also: ["LNK-53", "LNK-55"],
        needs: [.control]
      ) { probe, bench in
        let control = try bench.requireControl()
        for ending in [.ack, .fin, nil] as [WireFrame.Kind?] {
          try await probe.open()
          _ = try await probe.readCount()
          try await control.perform(.close)
          _ = try await probe.awaitFrame(.fin)
          if let ending { try await probe.write(probe.frame(ending)) }
          try await probe.open()
          _ = try await probe.readCount()
          _ = try await probe.frames(for: .milliseconds(600))
          let isLive = try await probe.isSessionLive()
          probe.expect(
            isLive, "the session after one that \(ending.map { "\($0)" } ?? "a SYN") ended is over")
        }
      }

      Case(
        "LNK-24/closes-unconfirmed",
        "A device that closes before the first frame of the session sends nothing", also: ["LNK-16"],
        needs: [.control]
      ) { probe, bench in
        let control = try bench.requireControl()
        try await probe.openSession(isAcknowledged: false)
        // A rig may report that there is nothing to close.
        _ = try await control.attempt(.close)
        try await probe.expectNone("frame", within: .milliseconds(600)) {
          ![.udata, .hello].contains($0.kind)
        }
        let isLive = try await probe.isSessionLive()
        probe.expect(!isLive, "the session is served after it was closed")
        try await probe.open()
        _ = try await probe.readCount()
      }
    }
    + chapter(.reconnection) {
      Case(
        "LNK-10/only-syn-ends",
        "Frames other than SYN, broken SYNs and text do not end the HELLOs",
        also: ["LNK-3", "LNK-20", "FRM-11"], needs: [.control]
      ) { probe, bench in
        var broken = probe.syn(Probe.synTLVs(nonce: probe.makeNonce())).bytes
        broken[broken.count - 3] ^= broken[broken.count - 3] == 1 ? 2 : 1
        let echo = probe.echo(of: probe.frame(.ping))
        let stray: [[UInt8]] = [
          probe.frame(.udata, channel: 1, payload: [0x41]).with(ack: 0, credit: 0, session: 0).bytes,
          probe.frame(.ping).with(session: 0).bytes, probe.frame(.fin).with(session: 4711).bytes,
          probe.frame(.ack).with(session: 4711).bytes,
          probe.frame(.pong, payload: [0]).with(session: 1).bytes,
          probe.data([0x0A, 3, 0], seq: 0).with(session: 4711).bytes,
          WireFrame(kind: .rst, sender: .host, payload: [TLV.magic, .versions(1, 1), .reason(1)].payload)
            .bytes,
          broken, echo.bytes, Array("hello\r\n".utf8),
        ]
        for bytes in bench.hasVirtualTime ? stray : [stray.flatMap { $0 }] {
          _ = try await bench.restartSession()
          try await probe.write(bytes + [0])
          let hellos = try await probe.frames(for: .milliseconds(900)).filter { $0.kind == .hello }
          probe.expect("HELLOs after [\(Wire.hex(bytes, limit: 16))]", hellos.count, is: 2)
        }
      }
    }
    + chapter(.link) {
      Case(
        "LNK-20/across-sessions",
        "There are ten RSTs in any second, whatever sessions begin and end in it", also: ["LNK-14", "LNK-24"]
      ) { probe, _ in
        for isClosed in [false, true] {
          _ = try await probe.frames(for: .seconds(1.1))
          var times: [Instant] = []
          for _ in 0..<4 {
            try await probe.open()
            let stray = probe.frame(.ping).with(session: probe.session.id &+ 1000)
            times += try await probe.timesOfRSTs(to: stray, 8)
            if isClosed {
              try await probe.write(probe.frame(.fin))
              _ = try await probe.awaitFrame("ACK of FIN") { $0.kind == .ack }
            }
          }
          probe.expect(times.count >= 10, "only \(times.count) RSTs in four sessions")
          probe.expectTenASecond(times)
        }
      }
    }
}

extension Probe {
  /// Sends a frame of another session repeatedly, each time after the device has handled the
  /// previous one, because it need not queue many answers. Returns the times at which RSTs were
  /// received.
  func timesOfRSTs(to stray: WireFrame, _ count: Int) async throws -> [Instant] {
    var times: [Instant] = []
    for _ in 0..<count {
      try await write(stray.bytes + frame(.ping).bytes)
      let deadline = now + Self.patience
      while let answer = try await nextFrame(until: deadline) {
        if answer.kind == .rst { times.append(now) }
        if answer.kind == .pong, answer.session == session.id { break }
      }
    }
    // An RST can come after the PONG.
    return times + (try await fence().filter { $0.kind == .rst }.map { _ in now })
  }

  /// Notes a finding if 11 RSTs were received within a second.
  func expectTenASecond(_ times: [Instant], file: String = #fileID, line: Int = #line) {
    for (first, eleventh) in zip(times, times.dropFirst(10)) {
      // Either time can be late: by some milliseconds, or by 25 ms in a case that reads so often.
      let passed = (eleventh - first).inMilliseconds
      expect(passed > 970, "11 RSTs within \(passed) ms", file: file, line: line)
    }
  }

  /// Notes a finding if a frame answers these bytes, without a session that could verify it.
  fileprivate func expectUnanswered(in bench: Bench, _ what: String, _ bytes: [UInt8]) async throws {
    try await write(bytes)
    try await expectNone("answer to \(what)", within: .milliseconds(bench.hasVirtualTime ? 300 : 30)) {
      $0.kind != .udata
    }
  }
}

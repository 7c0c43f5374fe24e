import NotibotProtocol
import SuiteWire

/// FIN in unusual states, what follows it, and frames of sessions that are not live.
extension Suite {
  static let linkStrays = chapter(.link) {
    Case(
      "LNK-24/fin-in-each-state",
      "FIN is answered by ACK and ends the session also with a payload, a wrong ack, or in a hole",
      also: ["LNK-3", "LNK-31", "LNK-33"]
    ) { probe, _ in
      for (what, payload, ack, hasHole) in [
        ("with a payload", [1, 2, 3], 1, false),
        ("with a long payload", [UInt8](repeating: 0, count: 528), 1, false),
        ("with ack 2 of 1", [], 2, false), ("with ack 200 of 1", [], 200, false),
        ("while a frame is missing", [], 1, true),
      ] as [(String, [UInt8], UInt8, Bool)] {
        try await probe.open()
        _ = try await probe.readCount()
        if hasHole {
          try await probe.write(probe.data([0x55], channel: 2, seq: 2))
          _ = try await probe.awaitNAK(missing: 1, held: [2])
        }
        // Earlier frames have been answered.
        _ = try await probe.fence() + probe.frames(for: .milliseconds(20))
        let id = probe.session.id
        try await probe.write(probe.frame(.fin, payload: payload).with(ack: ack))
        let answer = try await probe.awaitFrame("ACK of FIN \(what)") { $0.kind == .ack && $0.session == id }
        probe.expect("ack of the answer to FIN \(what)", answer.ack, is: 1)
        let isLive = try await probe.isSessionLive()
        probe.expect(!isLive, "the session is served after FIN \(what)")
      }
    }

    Case(
      "LNK-24/quiet-after-fin",
      "After FIN or a new SYN nothing of the session is sent again, also what was unacknowledged",
      also: ["LNK-14", "LNK-23", "LNK-51"]
    ) { probe, bench in
      try await probe.openUnfinished()
      let last = probe.data([0x55], channel: 2, seq: probe.session.nextSeq)
      try await probe.write(last.bytes + probe.frame(.fin).bytes)
      // The RST of a PING shows that FIN was read, and all before it.
      var before: [WireFrame] = []
      let rst = try await probe.ask(probe.frame(.ping), "RST after FIN") {
        if $0.session == probe.session.id { before.append($0) }
        return $0.kind == .rst && $0.session == probe.session.id
      }
      let after = try await probe.frames(for: .milliseconds(100)).filter { $0.session == rst.session }
      let acks = [before, after].map { $0.filter { $0.kind == .ack } }
      probe.expect(!acks[0].isEmpty || !acks[1].isEmpty, "FIN is not answered by ACK")
      if !acks[0].isEmpty { probe.expect("ACKs after the one of FIN", acks[1], is: []) }
      // DATA that was sent before FIN can be overtaken.
      probe.expect(
        "DATA without credit, after FIN", (before + after).filter { $0.kind == .data && $0.seq > 1 }, is: [])
      try await probe.expectQuiet(for: .milliseconds(bench.hasVirtualTime ? 4000 : 700), "FIN")
      try await probe.write(probe.frame(.nak))
      try await probe.expectQuiet(for: .milliseconds(30), "FIN and a NAK")
      try await probe.open()
      _ = try await probe.unacknowledgedAnswers(2)
      let replaced = probe.session.id
      try await probe.open()
      _ = try await probe.frames(for: .milliseconds(100))
      try await probe.expectQuiet(
        for: .milliseconds(bench.hasVirtualTime ? 4000 : 1850), "a new SYN", session: replaced)
    }

    Case(
      "LNK-53/quiet-after-silence", "When the session is down nothing of it is sent again",
      also: ["LNK-16", "LNK-23", "LNK-51"], needs: [.longWaits]
    ) { probe, _ in
      try await probe.openUnfinished()
      _ = try await probe.frames(for: .seconds(6))
      try await probe.expectQuiet(for: .milliseconds(2500), "silence")
      try await probe.open()
      let sent = try await probe.fence() + probe.frames(for: .milliseconds(30))
      probe.expect("DATA of the next session", sent.filter { $0.kind == .data }, is: [])
    }

    Case(
      "LNK-3/malformed-strays", "A malformed frame is dropped without an RST, whatever its session is",
      also: ["LNK-20"]
    ) { probe, bench in
      try await probe.open()
      _ = try await probe.readCount()
      for isEnded in [false, true] {
        if isEnded { try await SessionEnding.fin.end(bench) }
        let id = probe.session.id
        // Earlier cases have not used up the ten RSTs of this second.
        for _ in 0..<2 {
          _ = try await probe.ask(probe.frame(.ping).with(session: id &+ 2000), "RST") { $0.kind == .rst }
        }
        _ = try await probe.frames(for: .milliseconds(20))
        let malformed = [1, 3, 7].map { probe.frame(.nak, payload: [UInt8](repeating: 0, count: $0)) }
        let frames = malformed + [probe.data([], channel: 2, seq: 1), probe.frame(.pong)]
        for session in [id &+ 1000, 0] + (isEnded ? [id] : []) {
          try await probe.write(frames.flatMap { $0.with(session: session).bytes })
          let answers =
            isEnded ? [] : try await probe.fence() + probe.frames(for: probe.settleTime)
          let later = isEnded ? try await probe.frames(for: .milliseconds(40)) : []
          probe.expect(
            "RSTs to malformed frames of session \(session) \(isEnded ? "after" : "during") session \(id)",
            (answers + later).filter { $0.kind == .rst && $0.session == session }, is: [])
        }
        // They use up none of the ten RSTs, as often as this is tried.
        let stray = id &+ 1000
        let many = [WireFrame](repeating: frames[3], count: 12).flatMap { $0.with(session: stray).bytes }
        var isRefused = false
        for _ in 0..<6 where !isRefused {
          try await probe.write(many + probe.frame(.ping).with(session: stray).bytes)
          let deadline = probe.now + .milliseconds(300)
          while !isRefused, let frame = try await probe.nextFrame(until: deadline) {
            isRefused = frame.kind == .rst && frame.session == stray
          }
        }
        probe.expect(isRefused, "a PING behind 12 malformed frames of session \(stray) gets no RST")
      }
    }

    Case(
      "LNK-20/while-offered", "Frames of other sessions are refused while the session is only offered",
      also: ["LNK-16", "LNK-18"]
    ) { probe, _ in
      try await probe.openSession()
      let replaced = probe.session.id
      try await probe.openSession(isAcknowledged: false)
      // At most ten in all: a device sends that many RSTs in a second.
      for session in [probe.session.id &+ 1000, replaced, 0] {
        for kind in [.ping, .data, .nak] as [WireFrame.Kind] {
          let stray = probe.frame(kind, payload: kind == .data ? [1] : []).with(session: session)
          let rst = try await probe.ask(stray, "RST to \(kind) of session \(session)") {
            $0.kind == .rst && $0.session == session
          }
          probe.expect("REASON for \(kind)", TLV.parse(rst.payload)?.number(of: 0x14), is: 1)
        }
      }
      // It is neither confirmed nor ended by them.
      try await probe.expectQuiet(for: .milliseconds(20), "SYNACK")
      try await probe.write(probe.frame(.ack))
      _ = try await probe.readCount()
    }
  }
}

extension Probe {
  /// Opens a session in which two answers are not acknowledged, and a third one has no credit.
  fileprivate func openUnfinished() async throws {
    try await openShut()
    try await grant(2)
    _ = try await unacknowledgedAnswers(2)
    try await sendData([0x0A, 3, 0])
    _ = try await fence()
  }

  /// Notes a finding if a frame of a session, by default the latest one, is received, other
  /// than an RST.
  fileprivate func expectQuiet(
    for interval: Duration, _ what: String, session id: UInt16? = nil, file: String = #fileID,
    line: Int = #line
  ) async throws {
    let sent = try await frames(for: interval)
    expect(
      "frames of the session after \(what)",
      sent.filter { $0.session == (id ?? session.id) && ![.udata, .synAck, .rst].contains($0.kind) }, is: [],
      file: file, line: line)
  }
}

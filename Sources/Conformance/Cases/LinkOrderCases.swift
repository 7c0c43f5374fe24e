import NotibotProtocol
import SuiteWire

/// Order, retransmission and credit of the device.
extension Suite {
  static let linkOrder = chapter(.link) {
    Case(
      "LNK-20/unknown-session",
      "DATA, ACK, NAK and PING of another session are answered by RST with that session", also: ["LNK-18"]
    ) { probe, _ in
      try await probe.open()
      for kind in [.data, .ack, .nak, .ping] as [WireFrame.Kind] {
        var stray = probe.frame(kind, payload: kind == .data ? [0x0A, 3, 0] : [])
        stray.channel = kind == .data ? 4 : 0
        stray.session = probe.session.id &+ 1000
        let reply = try await probe.ask(stray, "RST for \(kind)") { $0.kind == .rst }
        let tlvs = TLV.parse(reply.payload) ?? []
        probe.expect("session of the RST", reply.session, is: stray.session)
        probe.expect("REASON", tlvs.number(of: 0x14), is: 1)
        probe.expect("BOOT_ID", tlvs.number(of: 0x0A), is: probe.session.bootID)
        probe.expect("VERSIONS", tlvs.value(of: 0x83), is: [1, 1])
      }
      let isLive = try await probe.isSessionLive()
      probe.expect(isLive, "a stray frame ended the live session")
    }

    Case(
      "LNK-20/never-answered", "PONG, FIN, UDATA and RST of another session are not answered",
      also: ["LNK-18"]
    ) { probe, _ in
      try await probe.open()
      for kind in [.pong, .fin, .udata, .rst] as [WireFrame.Kind] {
        var stray = probe.frame(kind, payload: kind == .pong || kind == .udata ? [1] : [])
        if kind == .rst { stray.payload = [TLV.magic, .versions(1, 1), .reason(1)].payload }
        stray.session = probe.session.id &+ 1000
        try await probe.expectUnanswered("\(kind) of another session", stray.bytes)
      }
      // A host never sends RST: one for the live session ends nothing.
      let rst = WireFrame(
        kind: .rst, sender: .host, session: probe.session.id,
        payload: [TLV.magic, .versions(1, 1), .reason(1)].payload)
      try await probe.expectUnanswered("RST of the live session", rst.bytes)
    }

    Case("LNK-24/fin", "FIN is answered by ACK and ends the session") { probe, _ in
      try await probe.open()
      _ = try await probe.readCount()
      try await probe.write(probe.frame(.fin))
      let reply = try await probe.awaitFrame("ACK") { $0.kind == .ack && $0.session == probe.session.id }
      probe.expect("ack in the answer to FIN", reply.ack, is: probe.session.nextSeq)
      let isLive = try await probe.isSessionLive()
      probe.expect(!isLive, "the session is served after its FIN")
    }

    Case(
      "LNK-30/numbers-wrap",
      "600 requests in one session: numbers, acks and the count of PONG wrap modulo 256",
      also: ["LNK-40", "LNK-52"]
    ) { probe, _ in
      try await probe.open()
      let frames = probe.session.peerFrames
      func expectHandled(_ count: Int) async throws {
        try await probe.write(probe.frame(.ping))
        let pong = try await probe.awaitFrame(.pong)
        probe.expect("handled after \(count) requests", pong.payload.first, is: UInt8(count % 256))
      }
      for index in 0..<600 {
        if index.isMultiple(of: 256) { try await expectHandled(index) }
        try await probe.awaitRoom()
        try await probe.sendData([0x0A, 3, 0])
        let deadline = probe.now + Probe.patience
        let reply = try probe.require(
          try await probe.nextData(until: deadline), "request \(index) is not answered")
        guard reply.payload.first == 0x0B else {
          return probe.expect(false, "request \(index) is answered by \(reply)")
        }
        // The request was received and handled, and nothing else is in flight.
        probe.expect(
          "ack and credit of answer \(index)", [Int(reply.ack), Int(reply.credit)],
          is: [(index + 1) % 256, frames])
      }
      try await expectHandled(600)
      probe.expect("the next number", probe.session.nextSeq, is: UInt8(600 % 256))
      probe.expect("the next expected number", probe.session.expectedSeq, is: UInt8(600 % 256))
    }

    Case(
      "LNK-31/ack-outside", "An impossible ack is ignored with its credit; the payload is not"
    ) { probe, _ in
      try await probe.open()
      _ = try await probe.readCount()
      for ack in [2, 100, 200, 255] as [UInt8] {
        var wrong = probe.frame(.ack)
        (wrong.ack, wrong.credit) = (ack, 0)
        try await probe.write(wrong)
        var data = probe.data([0x0A, 3, 0], seq: probe.session.nextSeq)
        (data.ack, data.credit) = (ack, 0)
        probe.session.nextSeq &+= 1
        try await probe.write(data)
        let deadline = probe.now + Probe.patience
        let reply = try await probe.nextPDU(until: deadline)
        probe.expect("the answer to DATA with ack \(ack)", reply?.first, is: 0x0B)
      }
    }

    Case(
      "LNK-32/duplicate", "A duplicate request is executed once", also: ["FRM-15"], needs: [.strict]
    ) { probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      let before = try await probe.readCount()
      let pdu = try await probe.writePDU(Sample.json("twice"))
      try await probe.awaitRoom()
      let write = probe.data(pdu, seq: probe.session.nextSeq)
      try await probe.write(write)
      try await probe.write(write)
      probe.session.nextSeq &+= 1
      let deadline = probe.now + Probe.patience
      let reply = try await probe.nextPDU(until: deadline)
      probe.expect("the answer", reply, is: [pdu[0] + 1])
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before + 1)
    }

    Case(
      "LNK-32/out-of-window",
      "Frames outside the window are dropped and answered with an ACK, at most one in 20 ms",
      alsoAtWrap: .milliseconds(120)
    ) { probe, bench in
      try await probe.open()
      for _ in 0..<3 { _ = try await probe.readCount() }
      // The ACK is allowed at once or at the end of the 20 ms.
      _ = try await probe.frames(for: .milliseconds(bench.hasVirtualTime ? 100 : 30))
      let start = probe.now
      var answers: [WireFrame] = []
      var times: [Double] = []
      // No PING after them: a PONG contains an ack too, and can replace the ACK.
      for (seq, wait) in zip(
        [0, 1, 2, 200, 130, 0, 1, 2, 200, 130] as [UInt8], [4, 4, 4, 4, 4, 4, 4, 4, 4, 60])
      {
        try await probe.write(probe.data([0x0A, 3, 0], seq: seq))
        let end = probe.now + .milliseconds(wait)
        while let frame = try await probe.nextFrame(until: end) {
          answers.append(frame)
          times.append((probe.now - start).inMilliseconds)
        }
      }
      let passed = (probe.now - start).inMilliseconds
      let acks = answers.filter { $0.kind == .ack }
      if bench.hasExactTime {
        for (time, next) in zip(times, times.dropFirst()) {
          probe.expect(next - time >= 20, "ACKs at \(times) ms, at most one in 20 ms")
        }
      }
      probe.expect(!acks.isEmpty, "no ACK for frames outside the window")
      probe.expect(
        Double(acks.count) <= passed / 20 + 1, "\(acks.count) ACKs within \(passed) ms, at most one in 20 ms")
      probe.expect("ack", acks.last?.ack, is: 3)
      probe.expect("other answers", answers.filter { $0.kind != .ack }, is: [])
      // A frame that needs no answer does not postpone the next ACK.
      var later: [WireFrame] = []
      for _ in 0..<20 {
        try await probe.write(probe.data([0x0A, 3, 0], seq: 0))
        later += try await probe.frames(for: .milliseconds(10)).filter { $0.kind == .ack }
      }
      probe.expect(
        later.count >= 3, "\(later.count) ACKs for a frame each 10 ms outside the window in 200 ms")
    }

    Case(
      "LNK-20/ten-a-second", "A flood of stray frames is answered with at most 10 RSTs in a second",
      also: ["LNK-14"]
    ) { probe, _ in
      try await probe.open()
      let start = probe.now
      var rsts = 0
      for isAfterNewSession in [false, true] {
        // The count goes on across sessions.
        if isAfterNewSession { try await probe.open() }
        for _ in 0..<100 {
          var stray = probe.frame(.ping)
          stray.session = probe.session.id &+ 1000
          try await probe.write(stray)
        }
        rsts += try await probe.requestFence().filter { $0.kind == .rst }.count
      }
      let seconds = (probe.now - start).inMilliseconds / 1000
      probe.expect(
        rsts <= 10 * (Int(seconds) + 1), "\(rsts) RSTs within \(seconds) s for 200 frames")
    }
  }
}

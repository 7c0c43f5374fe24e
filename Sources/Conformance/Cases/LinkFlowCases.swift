import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Retransmission and flow control of the device.
extension Suite {
  static let linkFlow = chapter(.link) {
    Case(
      "LNK-34/nak-resends", "A NAK makes the device retransmit from its ack on, at once", also: ["LNK-35"]
    ) { probe, _ in
      try await probe.open()
      let first = try await probe.unacknowledgedAnswers(2)
      try await probe.write(probe.frame(.nak))
      let again = try await probe.fence().filter { $0.kind == .data }
      probe.expect("numbers sent again", again.map(\.seq), is: [0, 1])
      probe.expect("payloads sent again", again.map(\.payload), is: first.map(\.payload))
      var later = probe.frame(.nak)
      later.ack = 1
      try await probe.write(later)
      let rest = try await probe.fence().filter { $0.kind == .data }
      probe.expect("numbers sent again from 1 on", rest.map(\.seq), is: [1])
    }

    Case(
      "LNK-34/nak-bitmap",
      "For a NAK with a bitmap the device sends the missing frames below the highest held one, once per loss",
      also: ["LNK-33"]
    ) { probe, _ in
      try await probe.open()
      try probe.requireRequests(3)
      _ = try await probe.unacknowledgedAnswers(3)
      // Bit 0 is the frame ack + 1. Frames above the highest held one are in flight.
      try await probe.write(probe.frame(.nak, payload: Wire.u64(0b01)))
      let again = try await probe.fence().filter { $0.kind == .data }
      probe.expect("numbers sent again", again.map(\.seq), is: [0])
      // 2 was sent before 0 was sent again: its arrival is not evidence about 0.
      try await probe.write(probe.frame(.nak, payload: Wire.u64(0b11)))
      let twice = try await probe.fence().filter { $0.kind == .data }
      probe.expect("numbers sent again when more is held", twice.map(\.seq), is: [])
    }

    Case(
      "LNK-34/lost-again", "A retransmission is repeated once more when something newer has arrived"
    ) { probe, _ in
      try await probe.open()
      try probe.requireRequests(4)
      _ = try await probe.unacknowledgedAnswers(3)
      try await probe.write(probe.frame(.nak, payload: Wire.u64(0b10)))
      let first = try await probe.fence().filter { $0.kind == .data }
      probe.expect("numbers sent again", first.map(\.seq), is: [0, 1])
      try await probe.sendData([0x0A, 3, 0])
      _ = try await probe.awaitFrame("answer 3") { $0.kind == .data && $0.seq == 3 }
      for (round, expected) in [[0, 1], []].enumerated() {
        try await probe.write(probe.frame(.nak, payload: Wire.u64(0b110)))
        let again = try await probe.fence().filter { $0.kind == .data }
        probe.expect("numbers sent for NAK \(round) with 3 held", again.map { Int($0.seq) }, is: expected)
      }
    }

    Case(
      "LNK-51/held-spared", "The resend timer skips frames that a bitmap named as held", also: ["LNK-34"]
    ) { probe, _ in
      try await probe.open()
      try probe.requireRequests(3)
      _ = try await probe.unacknowledgedAnswers(3)
      try await probe.write(probe.frame(.nak, payload: Wire.u64(0b01)))
      _ = try await probe.fence()
      let timed = try await probe.frames(for: .milliseconds(900)).filter { $0.kind == .data }
      probe.expect("numbers sent by the timer", Set(timed.map(\.seq)), is: [0, 2])
    }

    Case("LNK-34/repeated-ack", "A repeated ACK never makes the device retransmit") { probe, _ in
      try await probe.open()
      _ = try await probe.unacknowledgedAnswers(2)
      for _ in 0..<20 { try await probe.write(probe.frame(.ack)) }
      let again = try await probe.fence().filter { $0.kind == .data }
      probe.expect("frames sent again for 20 ACKs", again, is: [])
    }

    Case(
      "LNK-35/resent-frame", "A retransmitted frame has its old number and payload and a current ack"
    ) { probe, _ in
      try await probe.open()
      let first = try await probe.unacknowledgedAnswers(1)[0]
      try await probe.sendData([0x55], channel: 2)
      try await probe.expectTaken("DATA after an unacknowledged answer")
      try await probe.write(probe.frame(.nak))
      let again = try await probe.fence().first { $0.kind == .data }
      probe.expect("seq", again?.seq, is: first.seq)
      probe.expect("payload", again?.payload, is: first.payload)
      probe.expect("ack", again?.ack, is: probe.session.nextSeq)
    }

    Case(
      "LNK-35/resent-count", "A notification of Count that is sent again has the value that it had",
      also: ["NTF-10"]
    ) { probe, _ in
      _ = try await probe.beginDelivery(room: 2)
      try await probe.request(Wire.literal("12 0400 0100"))
      let first = probe.session.expectedSeq
      let writes = [1, 2].map { [0x12, 6, 0] + Sample.json(id: $0) }
      try probe.requireMTU(writes.map(\.count).max() ?? 0)
      // The payload of each number; nothing is acknowledged.
      var sent: [UInt8: [UInt8]] = [:]
      let collect = {
        let data = try await probe.fence().filter { $0.kind == .data }
        for frame in data {
          probe.expect(
            "number \(frame.seq) again", frame.payload, is: sent[frame.seq, default: frame.payload])
          sent[frame.seq] = frame.payload
        }
        return Set(data.map(\.seq))
      }
      for write in writes {
        try await probe.sendData(write)
        _ = try await collect()
      }
      if sent.count < 4 {
        let next = first &+ UInt8(sent.count)
        _ = try await probe.awaitFurther("DATA \(next)") { $0.kind == .data && $0.seq == next }
      }
      let counts = sent.values.filter { $0.starts(with: [0x1B, 3, 0]) }
      probe.expect("notifications of Count", counts.count, is: 2)
      try await probe.write(probe.frame(.nak))
      let again = try await collect()
      probe.expect("numbers sent again", again, is: Set(sent.keys))
      probe.session.expectedSeq = first &+ UInt8(sent.count)
      try await probe.write(probe.frame(.ack))
      for id in [1, 2] as [UInt32] { try await probe.expectWritten(Sample.removal(id: id), "the removal") }
    }

    Case(
      "LNK-40/credit-when-handled", "ack moves when a frame was received, credit only when it was handled",
      also: ["LNK-52"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.open()
      let frames = probe.session.peerFrames
      try await control.perform(.stall)
      for _ in 0..<2 { try await probe.sendData([0x0A, 3, 0]) }
      try await probe.write(probe.frame(.ping))
      let pong = try await probe.awaitFrame(.pong)
      probe.expect("ack while the application is busy", pong.ack, is: 2)
      probe.expect("ack + credit while the application is busy", Int(pong.ack) + Int(pong.credit), is: frames)
      probe.expect("handled while the application is busy", pong.payload, is: [0])
      try await control.perform(.resume)
      let deadline = probe.now + Probe.patience
      for index in 0..<2 {
        let reply = try await probe.nextPDU(until: deadline)
        probe.expect("answer \(index) after it", reply?.first, is: 0x0B)
      }
      try await probe.write(probe.frame(.ping))
      let after = try await probe.awaitFrame(.pong)
      probe.expect("ack + credit after it", Int(after.ack) + Int(after.credit), is: 2 + frames)
      probe.expect("handled after it", after.payload, is: [2])
    }

    Case(
      "LNK-40/credit-of-waiting-requests", "Requests that wait for room have been received, and take credit",
      also: ["LNK-44", "LNK-52"]
    ) { probe, _ in
      try await probe.openShut()
      let frames = UInt8(probe.session.peerFrames)
      // More requests than ATT-6 allows: LNK-44 applies to them, too.
      var (sent, credit) = (0 as UInt8, frames)
      while sent < 100, credit > 0 {
        try await probe.sendData([0x0A, 3, 0])
        sent += 1
        var pong: WireFrame
        var attempts = 3
        repeat {
          // A request can be handled between the payload of a PONG and its header.
          pong = try await probe.ask(probe.frame(.ping), "PONG") { $0.kind == .pong }
          attempts -= 1
        } while pong.ack &+ pong.credit != (pong.payload.first ?? 0) &+ frames && attempts > 0
        let handled = pong.payload.first ?? 0
        probe.expect("ack after \(sent) requests", pong.ack, is: sent)
        probe.expect(
          "ack + credit with \(handled) of \(sent) requests handled", pong.ack &+ pong.credit,
          is: handled &+ frames)
        credit = pong.credit
      }
      probe.session.credit = 64
      try await probe.write(probe.frame(.ack))
      let deadline = probe.now + Probe.patience
      for index in 0..<sent {
        let reply = try await probe.nextPDU(until: deadline)
        probe.expect("answer \(index) of \(sent)", reply?.first, is: 0x0B)
      }
    }

    Case(
      "LNK-32/beyond-the-credit", "DATA beyond the given credit is dropped, and answered with an ACK",
      also: ["LNK-40"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.open()
      let frames = probe.session.peerFrames
      try await control.perform(.stall)
      for _ in 0..<(frames + 1) { try await probe.sendData([0x55], channel: 2) }
      _ = try await probe.awaitFrame("ACK without credit") { $0.ack == UInt8(frames) && $0.credit == 0 }
      _ = try await probe.frames(for: .milliseconds(100))
      try await probe.write(probe.data([0x55], channel: 2, seq: UInt8(frames)))
      let answer = try await probe.awaitFrame("answer beyond the credit") { _ in true }
      probe.expect("the answer beyond the credit", answer.kind, is: .ack)
      probe.expect("ack", answer.ack, is: UInt8(frames))
      try await control.perform(.resume)
      _ = try await probe.awaitFrame("credit again") { $0.ack == UInt8(frames) && Int($0.credit) == frames }
      probe.session.nextSeq = UInt8(frames)
      _ = try await probe.readCount()
    }

    Case(
      "LNK-50/handled-is-reported", "A handled frame is reported within 10 ms, even if nothing else is sent",
      also: ["LNK-40", "LNK-42"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.open()
      try await control.perform(.stall)
      try await probe.sendData([0x55], channel: 2)
      let early = try await probe.awaitFrame("acknowledgement") { $0.ack == 1 }
      probe.expect("credit before it was handled", Int(early.credit), is: probe.session.peerFrames - 1)
      _ = try await probe.frames(for: .milliseconds(50))
      try await control.perform(.resume)
      let start = probe.now
      _ = try await probe.awaitFrame("credit for the handled frame") {
        Int($0.credit) == probe.session.peerFrames
      }
      let passed = (probe.now - start).inMilliseconds
      probe.expect(passed <= (bench.hasExactTime ? 10 : 500), "reported after \(passed) ms")
    }

    Case("LNK-41/no-data-beyond-limit", "The device sends no DATA beyond the given credit") { probe, _ in
      try await probe.openShut()
      try await probe.sendData([0x0A, 3, 0])
      let held = try await probe.fence() + probe.frames(for: probe.settleTime)
      probe.expect("DATA without credit", held.filter { $0.kind == .data }, is: [])
      probe.session.credit = 1
      try await probe.write(probe.frame(.ack))
      let reply = try await probe.awaitFrame(.data)
      probe.expect("seq", reply.seq, is: 0)
      probe.expect("payload", reply.payload.first, is: 0x0B)
    }

    Case("LNK-41/credit-goes-back", "A credit that decreases revokes nothing") { probe, _ in
      try await probe.openShut()
      probe.session.credit = 2
      try await probe.write(probe.frame(.ack))
      probe.session.credit = 0
      try await probe.write(probe.frame(.ack))
      guard probe.session.peerFrames >= 3 else { throw CaseEnd.skip("the device takes fewer than 3 frames") }
      for _ in 0..<3 {
        try await probe.sendData([0x0A, 3, 0])
        _ = try await probe.fence()
      }
      probe.session.credit = 0
      try await probe.write(probe.frame(.nak))
      let sent = try await probe.fence().filter { $0.kind == .data }
      if sent.map(\.seq) == [0] {
        _ = try await probe.awaitFurther("DATA 1 within the limit of 2") { $0.kind == .data && $0.seq == 1 }
      }
      probe.expect("numbers within the limit of 2", sent.map(\.seq), is: [0, 1])
    }

    Case(
      "LNK-41/credit-above-64", "A credit above 64 counts as 64: so many frames follow it, and no more"
    ) { probe, _ in
      for credit in [65, 127, 128, 255] as [UInt8] {
        try await probe.openShut()
        probe.session.credit = credit
        try await probe.write(probe.frame(.ack))
        probe.session.credit = 0
        for _ in 0..<64 { _ = try await probe.readCount() }
        try await probe.sendData([0x0A, 3, 0])
        let sent = try await probe.fence() + probe.frames(for: probe.settleTime)
        probe.expect(
          "the 65th frame after a credit of \(credit)", sent.filter { $0.kind == .data }.map(\.seq), is: [])
        probe.session.credit = 1
        try await probe.write(probe.frame(.ack))
        _ = try await probe.awaitFrame("the 65th frame") { $0.kind == .data && $0.seq == 64 }
      }
    }

    Case(
      "LNK-43/unacknowledged-limit",
      "The device keeps no more unacknowledged frames than it announced requests, or 8"
    ) { probe, _ in
      try await probe.open()
      guard probe.session.features & 1 == 1 else {
        throw CaseEnd.skip("the device takes one request at a time")
      }
      let limit = max(8, probe.session.peerRequests)
      var numbers: Set<UInt8> = []
      // Each request is sent when the previous one is answered or held back; nothing is ever
      // acknowledged.
      for _ in 0..<(limit + 2) where probe.session.room > 0 {
        try await probe.sendData([0x0A, 3, 0])
        for frame in try await probe.fence() where frame.kind == .data { numbers.insert(frame.seq) }
      }
      probe.expect(numbers.count <= limit, "\(numbers.count) unacknowledged frames, at most \(limit)")
      let least = UInt8(min(probe.session.peerRequests, probe.session.peerFrames))
      let next = UInt8(numbers.count)
      if next < least {
        _ = try await probe.awaitFurther("DATA \(next)") { $0.kind == .data && $0.seq == next }
      }
    }

    Case(
      "LNK-44/reads-while-shut", "A device that waits for credit still reads and answers PINGs"
    ) { probe, _ in
      try await probe.openShut()
      try await probe.sendData([0x0A, 3, 0])
      for index in 1...3 {
        try await probe.sendData([0x55], channel: 2)
        try await probe.expectTaken("frame \(index) while an answer waits")
      }
      try await probe.write(probe.frame(.ping))
      let pong = try await probe.awaitFrame(.pong)
      // The request is handled when it is taken; the others are for an unserved channel.
      probe.expect("handled while an answer waits", pong.payload.first, is: 4)
      probe.session.credit = 64
      try await probe.write(probe.frame(.ack))
      let deadline = probe.now + Probe.patience
      let reply = try await probe.nextPDU(until: deadline)
      probe.expect("the pending answer", reply?.first, is: 0x0B)
    }
  }
}

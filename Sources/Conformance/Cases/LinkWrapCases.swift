import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Arithmetic at wraps: frame numbers at 256, session ids at 256 and 65536, a 32-bit clock in
/// milliseconds.
extension Suite {
  static let linkWraps = chapter(.link) {
    Case(
      "LNK-33/hole-across-the-wrap", "A missing frame is requested on both sides of 255 and 0",
      also: ["LNK-30", "LNK-32"]
    ) { probe, _ in
      for start in [251, 252] {
        try await probe.open()
        try await probe.sendUnserved(start)
        for _ in 0..<3 {
          let (missing, early) = (probe.session.nextSeq, probe.session.nextSeq &+ 1)
          try await probe.write(probe.data([0x55], channel: 2, seq: early))
          let kind = try await probe.awaitNAK(missing: missing, held: [early])
          try await probe.write(probe.data([0x55], channel: 2, seq: missing))
          if kind == .drops { try await probe.write(probe.data([0x55], channel: 2, seq: early)) }
          probe.session.nextSeq = early &+ 1
          try await probe.expectTaken("numbers \(missing) and \(early)")
        }
        _ = try await probe.readCount()
      }
    }

    Case(
      "LNK-32/window-across-the-wrap", "The window has the same boundaries on both sides of 255 and 0",
      also: ["LNK-33"], needs: [.longWaits]
    ) { probe, _ in
      try await probe.open()
      let frames = UInt8(probe.session.peerFrames)
      try await probe.sendUnserved(250)
      for _ in 250...260 {
        let next = probe.session.nextSeq
        for (what, seq, expected) in [
          ("the number beyond the window", next &+ frames, WireFrame.Kind.ack),
          ("the number before", next &- 1, .ack),
          ("the number 128 before", next &- 128, .ack),
          ("the last number of the window", next &+ frames &- 1, .nak),
        ] {
          _ = try await probe.frames(for: .milliseconds(40))
          try await probe.write(probe.data([0x55], channel: 2, seq: seq))
          let answers = try await probe.frames(for: .milliseconds(40)).filter { $0.kind != .ping }
          probe.expect("the answer to \(what), at \(next)", answers.map(\.kind), is: [expected])
          probe.expect("its ack", answers.first?.ack, is: next)
        }
        // The frame in between fills no hole but the first; kept frames of the last number stay
        // kept.
        try await probe.open()
        try await probe.sendUnserved(Int(next) + (next < 128 ? 257 : 1))
      }
    }

    Case(
      "LNK-34/resend-across-the-wrap", "Frames on both sides of 255 and 0 are sent again by NAK and timer",
      also: ["LNK-30", "LNK-31", "LNK-51"]
    ) { probe, bench in
      try await probe.open()
      var attempts = 0
      try await probe.bestOfThree {
        attempts += 1
        while probe.session.expectedSeq != 254 { _ = try await probe.readCount() }
        let start = probe.now
        let takesFour =
          probe.session.features & 1 == 1 && min(probe.session.peerRequests, probe.session.peerFrames) >= 4
        let first = try await (takesFour ? probe.answersTogether(4) : probe.unacknowledgedAnswers(4))
        probe.expect("numbers sent", first.map(\.seq), is: [254, 255, 0, 1])
        var steps: [(what: String, sent: [WireFrame], expected: [WireFrame])] = []
        for (ack, expected) in [(254, first), (0, Array(first.suffix(2)))] as [(UInt8, [WireFrame])] {
          probe.session.expectedSeq = ack
          try await probe.write(probe.frame(.nak))
          let sent = try await probe.fence().filter { $0.kind == .data }
          steps.append(("sent again from \(ack) on", sent, expected))
        }
        let passed = (probe.now - start).inMilliseconds
        let timed = try await probe.frames(for: .milliseconds(bench.hasVirtualTime ? 1100 : 600))
        probe.expect(
          "numbers sent by the timer", Set(timed.filter { $0.kind == .data }.map(\.seq)), is: [0, 1])
        probe.session.expectedSeq = 2
        _ = try await probe.readCount()
        for step in steps
        where step.sent.map(\.seq) != step.expected.map(\.seq)
          || step.sent.map(\.payload) != step.expected.map(\.payload)
        {
          let flaw =
            "\(step.what): \(step.sent.map(\.seq)), expected \(step.expected.map(\.seq))"
          // The resend timer can have expired.
          if passed >= 95, attempts == 3 { throw CaseEnd.skip("the resend timer is faster than the line") }
          return flaw
        }
        return nil
      }
    }

    Case(
      "LNK-41/limit-across-the-wrap", "A limit on the other side of 255 and 0 is respected",
      also: ["LNK-31", "LNK-40"]
    ) { probe, _ in
      try await probe.openShut()
      probe.session.credit = 1
      while probe.session.expectedSeq != 252 { _ = try await probe.readCount() }
      for _ in 252...260 {
        let number = probe.session.expectedSeq
        for _ in 0..<2 { try await probe.sendData([0x0A, 3, 0]) }
        let sent = try await probe.fence().filter { $0.kind == .data }
        probe.expect("numbers sent with a limit of \(number &+ 1)", Set(sent.map(\.seq)), is: [number])
        probe.session.expectedSeq = number &+ 1
        try await probe.write(probe.frame(.ack))
        let later = try await probe.awaitFrame("the answer after \(number)") {
          $0.kind == .data && $0.seq == number &+ 1
        }
        probe.expect("its payload", later.payload.first, is: 0x0B)
        probe.session.expectedSeq = number &+ 2
        try await probe.write(probe.frame(.ack))
      }
    }

    Case(
      "LNK-40/credit-across-the-wrap", "Received but unhandled frames are counted on both sides of 255 and 0",
      also: ["LNK-30", "LNK-32", "LNK-52"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      for start in [0, 126, 127, 128, 254, 255, 256] {
        try await probe.open()
        try await probe.sendUnserved(start)
        _ = try await probe.fence()
        try await control.perform(.stall)
        let frames = probe.session.peerFrames
        for count in 1...frames {
          try await probe.sendData([0x55], channel: 2)
          try await probe.write(probe.frame(.ping))
          let pong = try await probe.awaitFrame(.pong)
          probe.expect("ack after \(start) and \(count) frames", pong.ack, is: probe.session.nextSeq)
          probe.expect("credit after \(start) and \(count) frames", Int(pong.credit), is: frames - count)
          probe.expect("handled after \(start) frames", pong.payload, is: [UInt8(start % 256)])
        }
        _ = try await probe.frames(for: .milliseconds(50))
        try await probe.write(probe.data([0x55], channel: 2, seq: probe.session.nextSeq))
        let answer = try await probe.awaitFrame("answer beyond the credit") { $0.kind != .ping }
        probe.expect(
          "kind and ack of the answer beyond the credit", "\(answer.kind) \(answer.ack)",
          is: "ACK \(probe.session.nextSeq)")
        try await control.perform(.resume)
        _ = try await probe.awaitFrame("credit again") { Int($0.credit) == frames }
      }
    }

    Case(
      "LNK-12/id-carries",
      "The session id has 16 bits: after one that ends in FF the high byte is incremented"
    ) { probe, _ in
      try await probe.openSession()
      for _ in 0..<257 {
        let last = probe.session.id
        try await probe.openSession(isAcknowledged: false)
        probe.expect("the id after \(last)", probe.session.id, is: last == .max ? 1 : last + 1)
      }
    }

    Case(
      "LNK-12/id-wraps", "After session 65535 comes session 1", needs: [.control, .virtualTime]
    ) { probe, bench in
      let control = try bench.requireControl()
      // The first id of a boot is random: one of 256 is near enough.
      for _ in 0..<4000 where probe.session.id < 0xFF00 {
        try await control.perform(.reboot())
        try await probe.openSession(isAcknowledged: false)
      }
      guard probe.session.id >= 0xFF00 else { throw CaseEnd.skip("no boot in 4000 began near session 65535") }
      while probe.session.id >= 0xFF00 {
        let last = probe.session.id
        try await probe.openSession(isAcknowledged: false)
        probe.expect("the id after \(last)", probe.session.id, is: last == .max ? 1 : last + 1)
        guard probe.session.id != last else { return }
      }
    }

    Case(
      "LNK-5/uptime", "UPTIME counts milliseconds since the boot, whatever the clock shows", also: ["LNK-12"],
      leadToWrap: .seconds(1)
    ) { probe, bench in
      // The uptime of a board is unknown, unless it is restarted here.
      if bench.control != nil { try await bench.restart() }
      let first = try await probe.uptimeMs()
      probe.expect(
        bench.control == nil || first < 60_000, "UPTIME is \(first) ms in the first minute after a restart")
      let start = probe.now
      for _ in 0..<2 {
        _ = try await probe.frames(for: .seconds(1))
        let passed = try await probe.uptimeMs() - first
        let due = (probe.now - start).inMilliseconds
        probe.expect(abs(passed - due) < 50, "UPTIME rose by \(passed) ms in \(due) ms")
      }
    }

    Case(
      "LNK-5/uptime-of-60-days", "UPTIME has more than 32 bits: it continues after 49.7 days",
      also: ["LNK-12"], needs: [.virtualTime]
    ) { probe, _ in
      let first = try await probe.uptimeMs()
      let start = probe.now
      try await probe.requireIdle()
      for _ in 0..<3 {
        _ = try await probe.frames(for: .seconds(86_400 * 20))
        let passed = try await probe.uptimeMs() - first
        let due = (probe.now - start).inMilliseconds
        probe.expect(abs(passed - due) < 1000, "UPTIME rose by \(passed) ms in \(due) ms")
      }
    }

    Case(
      "LNK-5/boot-count", "BOOT_COUNT is one more after a restart, in HELLO and SYNACK", also: ["LNK-10"],
      needs: [.control]
    ) { probe, bench in
      try await probe.openSession()
      guard let before = probe.session.announced.number(of: 0x0B) else {
        throw CaseEnd.skip("the device announces no BOOT_COUNT")
      }
      let hello = try await bench.restartSession()
      probe.expect("BOOT_COUNT in HELLO", TLV.parse(hello.payload)?.number(of: 0x0B), is: before + 1)
      try await probe.openSession()
      probe.expect("BOOT_COUNT in SYNACK", probe.session.announced.number(of: 0x0B), is: before + 1)
    }
  }
}

extension Probe {
  /// Sends DATA on a channel that the device does not serve, as fast as its credit allows, and
  /// waits until all is acknowledged.
  func sendUnserved(_ count: Int, file: String = #fileID, line: Int = #line) async throws {
    for _ in 0..<count {
      try await awaitRoom(file: file, line: line)
      try await sendData([0x55], channel: 2)
    }
    try await expectTaken("\(count) frames", file: file, line: line)
  }

  /// Skips the case if the device sends anything while no session is open: days of that take too
  /// long.
  func requireIdle() async throws {
    _ = try await frames(for: .seconds(10))
    startCapture()
    _ = try await frames(for: .seconds(60))
    guard captured == [] else {
      throw CaseEnd.skip("the device logs even when idle: 60 days of it are too much")
    }
  }

  /// UPTIME of a SYNACK, in milliseconds.
  fileprivate func uptimeMs() async throws -> Double {
    try await openSession()
    guard let uptime = session.announced.number(of: 0x0D) else {
      throw CaseEnd.skip("the device announces no UPTIME")
    }
    return Double(uptime)
  }
}

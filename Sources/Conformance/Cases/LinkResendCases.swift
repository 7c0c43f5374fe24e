import NotibotProtocol
import SuiteWire

/// The resend timer, over several frames and a longer time; and the frames that a NAK proves lost.
extension Suite {
  static let linkResends = chapter(.link) {
    Case(
      "LNK-51/resends-all", "When the resend timer expires, all unacknowledged frames are sent again"
    ) { probe, bench in
      try await probe.open()
      _ = try await probe.unacknowledgedAnswers(3)
      let again = try await probe.frames(for: .milliseconds(bench.hasVirtualTime ? 520 : 900))
      probe.expect("numbers sent again", Set(again.filter { $0.kind == .data }.map(\.seq)), is: [0, 1, 2])
    }

    Case(
      "LNK-51/measured-fast", "On a fast line the resend timer is 100 ms or more",
      alsoAtWrap: .milliseconds(50)
    ) { probe, bench in
      try await probe.open()
      for _ in 0..<20 { _ = try await probe.readCount() }
      let passed = try await timeToResend(probe)
      probe.expect(passed >= 95 && passed <= latest(bench), "sent again after \(passed) ms")
    }

    Case("LNK-51/measured-slow", "On a slow line the resend timer is 500 ms or less") { probe, bench in
      try await probe.open()
      // A first sample of 200 ms alone would make it 600.
      try await probe.sendData([0x0A, 3, 0])
      _ = try await probe.awaitFrame(.data)
      _ = try await probe.frames(for: .milliseconds(200))
      probe.session.expectedSeq &+= 1
      try await probe.write(probe.frame(.ack))
      let passed = try await timeToResend(probe)
      probe.expect(passed >= 95 && passed <= latest(bench), "sent again after \(passed) ms")
    }

    Case(
      "LNK-51/stays-when-heard",
      "While frames are received the resend timer does not double, and the session stays", also: ["LNK-53"],
      alsoAtWrap: .milliseconds(500)
    ) { probe, bench in
      try await probe.open()
      let gaps = try await gapsOfResends(
        probe, within: .milliseconds(2400), sendingPongEach: .milliseconds(60))
      probe.expect(gaps.count >= 4, "retransmissions after \(gaps) ms in 2.4 s")
      let isLive = try await probe.isSessionLive()
      probe.expect(isLive, "the session is over after retransmissions, although frames were received")
      for gap in gaps where bench.hasVirtualTime {
        probe.expect(
          abs(gap - gaps[0]) <= gaps[0] * 0.05, "retransmissions after \(gaps) ms: different intervals")
      }
    }

    Case(
      "LNK-51/resend-at-most-2s", "The resend timer doubles up to 2 s and no further", needs: [.longWaits]
    ) { probe, _ in
      try await probe.open()
      // A frame every 3.9 s keeps the session, and leaves the timer time to double.
      let gaps = try await gapsOfResends(probe, within: .seconds(20), sendingPongEach: .milliseconds(3900))
      probe.expect(gaps.allSatisfy { $0 <= 2050 }, "retransmissions after \(gaps) ms")
      probe.expect(gaps.contains { $0 >= 1900 }, "retransmissions after \(gaps) ms: never near 2 s")
    }

    Case(
      "LNK-51/anew-when-acknowledged",
      "While acks advance in time nothing is sent again, although a frame is always unacknowledged"
    ) { probe, bench in
      try await probe.open()
      let pause = Duration.milliseconds(bench.hasVirtualTime ? 30 : 15)
      let count = 40 as UInt8
      var numbers: [UInt8] = []
      let collect = {
        for frame in try await probe.frames(for: pause) {
          probe.session.observe(frame)
          if frame.kind == .data { numbers.append(frame.seq) }
        }
      }
      // Each answer is acknowledged a pause after the next request; it is sent again after 100 ms
      // or more.
      for index in 0..<count {
        try await probe.awaitRoom()
        try await probe.sendData([0x0A, 3, 0])
        try await collect()
        probe.session.expectedSeq = index
        try await probe.write(probe.frame(.ack))
        try await collect()
      }
      probe.expect("numbers of the answers", numbers, is: Array(0..<count))
    }

    Case(
      "LNK-51/held-oldest",
      "The resend timer sends the oldest frame even if a bitmap named it, and skips the other held ones",
      also: ["LNK-34"]
    ) { probe, _ in
      try await probe.open()
      try probe.requireRequests(3)
      _ = try await probe.unacknowledgedAnswers(3)
      try await probe.expectAgain([0], for: Wire.u64(0b11), "for a bitmap of 1 and 2")
      // The held ones become the oldest one by one.
      for oldest in [1, 2] as [UInt8] {
        probe.session.expectedSeq = oldest
        try await probe.write(probe.frame(.ack))
        // The timer can expire while the ack is on its way.
        _ = try await probe.fence()
        var timed: [WireFrame] = []
        for _ in 0..<6 {
          timed += try await probe.frames(for: .milliseconds(150)).filter { $0.kind == .data }
          // The timer does not double while frames are received.
          try await probe.write(probe.frame(.pong, payload: [0]))
        }
        probe.expect("numbers sent by the timer from \(oldest) on", Set(timed.map(\.seq)), is: [oldest])
      }
    }

    Case(
      "LNK-34/nothing-held",
      "A NAK without bitmap, or with a bitmap of 0, requests all frames, even those that a bitmap named before",
      also: ["LNK-3"]
    ) { probe, _ in
      for payload in [[], Wire.u64(0), Wire.u64(0) + [0xFF]] {
        let what = "for a NAK of \(payload.count) bytes"
        try await probe.open()
        _ = try await probe.unacknowledgedAnswers(2)
        try await probe.expectAgain([0, 1], for: payload, what)
        // A frame that was never sent proves nothing.
        try await probe.expectAgain([], for: Wire.u64(1 << 20), "for a bitmap of frame 21")
        try await probe.open()
        _ = try await probe.unacknowledgedAnswers(2)
        try await probe.expectAgain([0], for: Wire.u64(0b1), "for a bitmap of 1")
        try await probe.expectAgain([0, 1], for: payload, what + " after it")
      }
    }

    Case(
      "LNK-34/first-sending-proves",
      "A held frame is evidence from its first sending: later retransmissions are not lost because of it",
      also: ["LNK-51", "FRM-15"]
    ) { probe, _ in
      for isByTimer in [false, true] {
        try await probe.open()
        _ = try await probe.unacknowledgedAnswers(2)
        if isByTimer {
          // 1 is sent after 0.
          _ = try await probe.awaitFrame("answer 1 again") { $0.kind == .data && $0.seq == 1 }
        } else {
          try await probe.expectAgain([0, 1], for: [], "for a NAK")
        }
        // Whichever sending of 1 has arrived, it could be the first.
        let what = "for a bitmap of 1 after the \(isByTimer ? "timer" : "NAK")"
        try await probe.expectAgain([], for: Wire.u64(0b1), what)
      }
    }

    Case(
      "LNK-34/many-sendings",
      "After any number of retransmissions, a held frame is evidence from its first sending only"
    ) { probe, bench in
      try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), requests: 32))
      try probe.requireRequests(2)
      let count = min(probe.session.peerRequests, 8)
      let answers = try await probe.answersTogether(count).map(\.seq)
      // More than 256 sendings in virtual time, otherwise more than 128.
      for round in 1...((bench.hasVirtualTime ? 272 : 136) / count) {
        try await probe.expectAgain(answers, for: [], "for NAK \(round)")
        guard bench.hasVirtualTime || round * count >= 128 else { continue }
        try await probe.expectAgain([], for: Wire.u64(0b1), "for a bitmap of 1 after NAK \(round)")
      }
    }

    Case(
      "LNK-34/every-bit", "Whichever frame a bitmap names, all that were sent before it are sent again",
      also: ["LNK-33"]
    ) { probe, _ in
      try await probe.open()
      try probe.requireRequests(3)
      let count = min(probe.session.peerRequests, 16)
      for held in 1..<count {
        try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), requests: 32))
        // All at once: in sequence they could take longer than the resend timer.
        for _ in 0..<count { try await probe.sendData([0x0A, 3, 0]) }
        for seq in 0..<UInt8(count) {
          _ = try await probe.awaitFurther("answer \(seq)") { $0.kind == .data && $0.seq == seq }
        }
        let before = Array(0..<UInt8(held))
        try await probe.expectAgain(before, for: Wire.u64(1 << UInt64(held - 1)), "for a bitmap of \(held)")
      }
    }

    Case(
      "LNK-42/resends-count-once", "A retransmission takes no more of the host's bytes",
      also: ["LNK-34", "LNK-35"]
    ) { probe, _ in
      try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), bytes: 1080))
      let answer = try await probe.unacknowledgedAnswers(1)[0]
      // More than 1080 bytes, if each of them counted.
      for _ in 0..<(1080 / (answer.payload.count + 12) + 2) {
        try await probe.write(probe.frame(.nak))
        _ = try await probe.awaitFrame("the answer again") { $0.kind == .data && $0.seq == answer.seq }
      }
      probe.session.expectedSeq &+= 1
      try await probe.write(probe.frame(.ack))
      try await probe.expectReads(1080 / 29, "in 1080 bytes")
    }
  }

  /// Milliseconds from an answer to its retransmission, if nothing acknowledges it.
  private static func timeToResend(_ probe: Probe) async throws -> Double {
    try await probe.sendData([0x0A, 3, 0])
    let first = try await probe.awaitFrame("answer") {
      $0.kind == .data && $0.seq == probe.session.expectedSeq
    }
    let start = probe.now
    _ = try await probe.awaitFrame("the answer again") { $0.kind == .data && $0.seq == first.seq }
    return (probe.now - start).inMilliseconds
  }

  /// The latest time of a first retransmission in milliseconds; a busy computer can receive it much
  /// later.
  private static func latest(_ bench: Bench) -> Double { bench.hasVirtualTime ? 505 : 2000 }

  /// Milliseconds between the transmissions of an answer that nothing acknowledges, while PONGs are
  /// sent.
  private static func gapsOfResends(
    _ probe: Probe, within limit: Duration, sendingPongEach interval: Duration
  ) async throws -> [Double] {
    try await probe.sendData([0x0A, 3, 0])
    _ = try await probe.awaitFrame(.data)
    var last = probe.now
    let end = last + limit
    var gaps: [Double] = []
    while probe.now < end {
      let next = min(probe.now + interval, end)
      while let frame = try await probe.nextFrame(until: next) {
        guard frame.kind == .data else { continue }
        gaps.append((probe.now - last).inMilliseconds)
        last = probe.now
      }
      try await probe.write(probe.frame(.pong, payload: [0]))
    }
    return gaps
  }
}

extension Probe {
  /// Sends a NAK and notes a finding unless exactly these frames are retransmitted, in this order.
  fileprivate func expectAgain(
    _ numbers: [UInt8], for payload: [UInt8], _ what: String, file: String = #fileID, line: Int = #line
  ) async throws {
    try await write(frame(.nak, payload: payload))
    var again = try await fence().filter { $0.kind == .data }
    // PONG can overtake them on a slow line. The resend timer takes longer than this.
    let deadline = now + .milliseconds(100)
    while again.count < numbers.count, let frame = try await nextFrame(until: deadline) {
      if frame.kind == .data { again.append(frame) }
    }
    expect("numbers sent again \(what)", again.map(\.seq), is: numbers, file: file, line: line)
  }

  /// Skips the case if the device does not accept so many requests at once.
  func requireRequests(_ count: Int) throws {
    guard session.peerRequests >= count, session.features & 1 == 1 else {
      throw CaseEnd.skip("the device takes fewer than \(count) requests at once")
    }
  }
}

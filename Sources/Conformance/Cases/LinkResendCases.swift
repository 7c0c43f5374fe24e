import NotibotProtocol

/// The resend timer, over several frames and a longer time.
extension Suite {
  static let linkResends: [Case] = [resendsAll, measuredFast, measuredSlow, staysWhenHeard, resendAtMost]

  static let resendsAll = Case(
    "LNK-51/resends-all", "When the resend timer runs out all that is not acknowledged is sent again", .link
  ) { bench in
    let probe = bench.probe
    try await probe.open()
    _ = try await probe.unacknowledgedAnswers(3)
    let again = try await probe.frames(for: .milliseconds(bench.hasVirtualTime ? 520 : 900))
    probe.expect("numbers sent again", Set(again.filter { $0.kind == .data }.map(\.seq)), is: [0, 1, 2])
  }

  static let measuredFast = Case(
    "LNK-51/measured-fast", "On a fast line the resend timer is 100 ms or more", .link, needs: [.virtualTime]
  ) { bench in
    let probe = bench.probe
    try await probe.open()
    for _ in 0..<20 { _ = try await probe.readCount() }
    let passed = try await timeToResend(probe)
    probe.expect((95...505).contains(passed), "sent again after \(passed) ms")
  }

  static let measuredSlow = Case(
    "LNK-51/measured-slow", "On a slow line the resend timer is 500 ms or less", .link, needs: [.virtualTime]
  ) { bench in
    let probe = bench.probe
    try await probe.open()
    // A first sample of 200 ms alone would make it 600.
    try await probe.sendData([0x0A, 3, 0])
    _ = try await probe.awaitFrame(.data)
    _ = try await probe.frames(for: .milliseconds(200))
    probe.session.expectedSeq &+= 1
    try await probe.write(probe.frame(.ack))
    let passed = try await timeToResend(probe)
    probe.expect((95...505).contains(passed), "sent again after \(passed) ms")
  }

  static let staysWhenHeard = Case(
    "LNK-51/stays-when-heard", "While frames come the resend timer does not double", .link,
    needs: [.virtualTime]
  ) { bench in
    let probe = bench.probe
    try await probe.open()
    let gaps = try await gapsOfResends(probe, within: .milliseconds(2400), hearingEach: .milliseconds(60))
    probe.expect(gaps.count >= 4, "resends after \(gaps) ms in 2.4 s")
    for gap in gaps {
      probe.expect(abs(gap - gaps[0]) <= gaps[0] * 0.05, "resends after \(gaps) ms: not each time the same")
    }
  }

  static let resendAtMost = Case(
    "LNK-51/resend-at-most-2s", "The resend timer doubles up to 2 s and no further", .link,
    needs: [.virtualTime]
  ) { bench in
    let probe = bench.probe
    try await probe.open()
    // A frame every 3.9 s keeps the session, and leaves the timer time to double.
    let gaps = try await gapsOfResends(probe, within: .seconds(20), hearingEach: .milliseconds(3900))
    probe.expect(gaps.allSatisfy { $0 <= 2050 }, "resends after \(gaps) ms")
    probe.expect(gaps.contains { $0 >= 1900 }, "resends after \(gaps) ms: never near 2 s")
  }

  /// Milliseconds from an answer to the same one again, when nothing acknowledges it.
  private static func timeToResend(_ probe: Probe) async throws -> Double {
    try await probe.sendData([0x0A, 3, 0])
    let first = try await probe.awaitFrame("answer") {
      $0.kind == .data && $0.seq == probe.session.expectedSeq
    }
    let start = probe.now
    _ = try await probe.awaitFrame("the answer again") { $0.kind == .data && $0.seq == first.seq }
    return (probe.now - start).inMilliseconds
  }

  /// Milliseconds between the sendings of an answer that nothing acknowledges, while PONGs are sent.
  private static func gapsOfResends(
    _ probe: Probe, within limit: Duration, hearingEach interval: Duration
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

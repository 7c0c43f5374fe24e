import NotibotProtocol
import SuiteWire

/// The bytes and frames that a device is allowed to send, the limits of its queues, and its
/// retransmissions.
extension Suite {
  static let linkBytes = chapter(.link) {
    Case(
      "LNK-42/bytes-of-each-frame",
      "Handling by the host frees the bytes of exactly those frames, up to 64 of them",
      also: ["LNK-8", "LNK-41"]
    ) { probe, _ in
      try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), bytes: 1080))
      // Frames of 15 bytes, then of 29: acknowledged, not handled.
      var sizes: [Int] = []
      for _ in 0..<36 { sizes.append(try await probe.answerUnhandled([0x0A, 3, 0])) }
      for _ in 0..<8 { sizes.append(try await probe.answerUnhandled([0x0A, 1, 0])) }
      probe.expect("sizes of the answers", Set(sizes), is: [15, 29])
      // Twelve are handled, then twenty: the first ones, of 15 bytes.
      var isOneWaiting = false
      for count in [12, 20] {
        probe.session.credit = UInt8(64 + count) &- probe.session.expectedSeq
        try await probe.write(probe.frame(.ack))
        let free = 1080 - sizes.dropFirst(count).reduce(0, +)
        let more = min(free / 29, 64 + count - sizes.count)
        try await probe.expectReads(
          more, isOneWaiting: isOneWaiting, "in \(free) bytes, \(count) frames handled")
        isOneWaiting = true
        sizes += [Int](repeating: 29, count: more)
      }
    }

    Case(
      "LNK-42/credit-below-frames",
      "Bytes are also counted while the credit is lower than the announced frames", also: ["LNK-41"]
    ) { probe, _ in
      for credit in [40, 63] as [UInt8] {
        try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), bytes: 1080), isAcknowledged: false)
        probe.session.credit = credit
        try await probe.write(probe.frame(.ack))
        try await probe.expectReads(1080 / 29, "in 1080 bytes, with a credit of \(credit)")
      }
    }

    Case(
      "LNK-8/bytes-with-limits-out-of-range",
      "If the host's limits are out of range, its bytes are counted with the nearest valid ones",
      also: ["LNK-42"]
    ) { probe, _ in
      let limits: [(frames: UInt8, bytes: UInt32)] = [
        (65, 1080), (100, 1080), (128, 1080), (192, 1080), (255, 1080), (64, 0), (64, 540), (64, 1060),
        (255, 0),
      ]
      for (frames, bytes) in limits {
        try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), frames: frames, bytes: bytes))
        let what = "to a host that announced \(frames) frames and \(bytes) bytes"
        for isOneWaiting in [false, true] {
          // Everything sent so far is handled, and not more.
          probe.session.credit = 64
          try await probe.write(probe.frame(.ack))
          try await probe.expectReads(1080 / 29, isOneWaiting: isOneWaiting, what)
        }
      }
    }

    Case(
      "LNK-44/queues-full",
      "While long answers are unacknowledged a device accepts requests as long as it has room, and answers all",
      also: ["LNK-35", "LNK-43", "ATT-5"]
    ) { probe, _ in
      try await probe.openWide()
      let first = probe.session.expectedSeq
      let length = min(probe.session.peerMTU, 517) - 5
      // The queue of parts accepts at least two of 512 bytes.
      let pdus: [[UInt8]] = (0..<8).map { (index: Int) -> [UInt8] in
        index % 3 == 2
          ? Wire.literal("18 00")
          : Wire.literal("16 0600 0000") + [UInt8](repeating: UInt8(0x41 + index), count: length)
      }
      var answers: [[UInt8]] = []
      var sent = 0
      while sent < pdus.count, answers.count == sent {
        try await probe.awaitRoom()
        try await probe.sendData(pdus[sent])
        sent += 1
        let frames = try await probe.fence() + probe.frames(for: probe.settleTime)
        let number = first &+ UInt8(answers.count)
        guard let answer = frames.first(where: { $0.kind == .data && $0.seq == number }) else { break }
        answers.append(answer.payload)
      }
      probe.session.expectedSeq = first &+ UInt8(answers.count)
      try await probe.write(probe.frame(.ack))
      let deadline = probe.now + Probe.patience
      while answers.count < sent, let answer = try await probe.nextPDU(until: deadline) {
        answers.append(answer)
      }
      probe.expect("answers to \(sent) requests", answers.count, is: sent)
      for (pdu, answer) in zip(pdus, answers) {
        let expected = pdu[0] == 0x16 ? [0x17] + pdu.dropFirst() : [0x19]
        probe.expect(
          "whether the answer to [\(Wire.hex(pdu, limit: 6))] is complete", answer == expected, is: true)
      }
      try await probe.request(Wire.literal("18 00"))
    }

    Case(
      "LNK-3/longer-bitmap", "The first 8 bytes of a NAK longer than 8 bytes are the bitmap", also: ["LNK-34"]
    ) { probe, _ in
      for length in [9, 16, 528] {
        try await probe.open()
        _ = try await probe.unacknowledgedAnswers(3)
        let more = [UInt8](repeating: 0xFF, count: length - 8)
        try await probe.write(probe.frame(.nak, payload: Wire.u64(0b01) + more))
        let again = try await probe.fence().filter { $0.kind == .data }
        probe.expect("numbers sent again for a NAK of \(length) bytes", again.map(\.seq), is: [0])
      }
    }

    Case(
      "LNK-51/anew-after-nak", "A retransmission for a NAK restarts the resend timer", also: ["LNK-34"],
      needs: [.virtualTime]
    ) { probe, bench in
      try bench.requireExactTime()
      // Without a bitmap, and with one.
      for payload in [[], Wire.u64(0b01)] {
        try await probe.open()
        _ = try await probe.unacknowledgedAnswers(2)
        _ = try await probe.frames(for: .milliseconds(190))
        try await probe.write(probe.frame(.nak, payload: payload))
        let start = probe.now
        let again = try await probe.fence().filter { $0.kind == .data }
        probe.expect("numbers sent again", again.map(\.seq), is: payload.isEmpty ? [0, 1] : [0])
        _ = try await probe.awaitFrame("the first answer by the timer") { $0.kind == .data && $0.seq == 0 }
        let passed = (probe.now - start).inMilliseconds
        probe.expect((195...505).contains(passed), "the timer expired \(passed) ms after the NAK")
      }
    }

    Case(
      "LNK-51/oldest-in-time",
      "The resend timer is that of the oldest frame, whatever is sent in the meantime"
    ) { probe, bench in
      try await probe.open()
      let start = probe.now
      var times: [Double] = []
      for _ in 0..<7 where times.count < 2 {
        try await probe.sendData([0x0A, 3, 0])
        let end = probe.now + .milliseconds(90)
        while let frame = try await probe.nextFrame(until: end) {
          if frame.kind == .data, frame.seq == 0 { times.append((probe.now - start).inMilliseconds) }
        }
      }
      let passed = times.dropFirst().first ?? .infinity
      probe.expect(
        passed >= 195 && passed <= (bench.hasVirtualTime ? 505 : 630),
        "the oldest was sent again after \(passed) ms")
    }

    Case(
      "LNK-32/duplicates-alone",
      "Each number outside the window is answered with an ACK, an old one and a far one", also: ["LNK-31"]
    ) { probe, bench in
      try await probe.open()
      for _ in 0..<3 { _ = try await probe.readCount() }
      let beyond = 3 + probe.session.peerFrames
      let numbers = bench.hasVirtualTime ? Array(beyond...258) : [beyond, 130, 131, 132, 256, 258]
      for number in numbers {
        _ = try await probe.frames(for: .milliseconds(25))
        try await probe.write(probe.data([0x0A, 3, 0], seq: UInt8(number % 256)))
        let answer = try await probe.awaitFrame("answer to number \(number % 256)", within: .seconds(1)) {
          $0.kind != .ping && $0.kind != .udata
        }
        probe.expect("the answer to number \(number % 256)", [answer.kind], is: [.ack])
        probe.expect("its ack", answer.ack, is: 3)
      }
    }
  }
}

extension Probe {
  /// Sends a request whose answer is acknowledged and not handled: for a host that announced 64
  /// frames. Returns the decoded size of the answer.
  ///
  /// - Parameter first: the first number that is not handled.
  @discardableResult
  func answerUnhandled(_ pdu: [UInt8], since first: UInt8 = 0) async throws -> Int {
    let end = first &+ 64
    session.credit = end &- session.expectedSeq
    try await awaitRoom()
    try await sendData(pdu)
    let number = session.expectedSeq
    let answer = try await awaitFrame("answer \(number)") { $0.kind == .data && $0.seq == number }
    session.observe(answer)
    session.expectedSeq &+= 1
    session.credit = end &- session.expectedSeq
    try await write(frame(.ack))
    return answer.payload.count + 12
  }

  /// Reads the service, whose answer is a frame of 29 bytes, and acknowledges each answer without
  /// handling it. Notes a finding unless exactly that many answers are sent; the request after them
  /// then waits.
  ///
  /// - Parameter isOneWaiting: whether a request is already waiting.
  func expectReads(
    _ count: Int, isOneWaiting: Bool = false, _ what: String, file: String = #fileID, line: Int = #line
  ) async throws {
    // Wrap-around is the rule: numbers are modulo 256.
    let end = session.expectedSeq &+ session.credit
    for index in 0...count {
      if index > 0 || !isOneWaiting {
        try await awaitRoom()
        try await sendData([0x0A, 1, 0])
      }
      let number = session.expectedSeq
      guard index < count else {
        let sent = try await fence() + frames(for: settleTime)
        let isSent = sent.contains { $0.kind == .data && $0.seq == number }
        return expect(
          "whether more than \(count) answers of 29 bytes are sent \(what)", isSent, is: false, file: file,
          line: line)
      }
      let answer = try await awaitFrame("answer \(index) of \(count) \(what)", file: file, line: line) {
        $0.kind == .data && $0.seq == number
      }
      session.observe(answer)
      session.expectedSeq &+= 1
      session.credit = end &- session.expectedSeq
      try await write(frame(.ack))
    }
  }
}

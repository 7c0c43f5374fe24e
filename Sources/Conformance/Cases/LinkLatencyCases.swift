import NotibotProtocol
import SuiteWire

/// Times of answers and retransmissions that are correct even in real time: a computer that is busy
/// delays some of several measurements, not each of them.
extension Suite {
  static let linkLatencies = chapter(.link) {
    Case(
      "LNK-50/prompt-answers",
      "PONG and the ACK of two frames come at once, an ACK of one frame and a NAK within 10 ms",
      also: ["LNK-33", "LNK-52", "LNK-55"]
    ) { probe, bench in
      try await probe.open()
      let answers: [(what: String, limit: Double, measure: () async throws -> Double)] = [
        ("PONG", 0, { try await probe.timeToAnswer(probe.frame(.ping).bytes) { $0.kind == .pong } }),
        ("the ACK of two frames", 0, { try await probe.timeToACK(of: 2) }),
        ("the ACK of one frame", 10, { try await probe.timeToACK(of: 1) }),
        ("the NAK of an early frame", 10, { try await probe.timeToNAK() }),
      ]
      var least: [Double] = []
      for (_, _, measure) in answers {
        // The first question meets a device that waits on a clock of its own at any time, each
        // later one directly after an answer.
        _ = try await measure()
        var times: [Double] = []
        for _ in 0..<20 { times.append(try await measure()) }
        least.append(times.min() ?? 0)
      }
      // On the line, and in an adapter that waits for more bytes.
      let way = least.min() ?? 0
      let tolerance = bench.hasExactTime ? 0 : 20.0
      for (answer, time) in zip(answers, least) {
        probe.expect(
          time <= way + answer.limit + tolerance,
          "\(answer.what) came after \(time) ms or more each time, the fastest answer after \(way) ms")
      }
    }

    Case(
      "LNK-51/resend-in-time", "The first and the measured resend time are at most 500 ms", also: ["LNK-55"]
    ) { probe, bench in
      let rows: [(what: String, reads: Int, pause: Duration)] = [
        ("the first answer", 0, .zero), ("an answer after 20", 20, .zero), ("a long answer", 0, .zero),
        ("an answer after a pause", 1, .milliseconds(1050)),
      ]
      for (what, reads, pause) in rows {
        let isLong = what == "a long answer"
        let limit = bench.hasExactTime ? 505.0 : 600
        try await probe.expectTime("the time to the retransmission of \(what)", in: 0...limit) {
          if isLong { try await probe.openWide() } else { try await probe.open() }
          for _ in 0..<reads { _ = try await probe.readCount() }
          _ = try await probe.frames(for: pause)
          let part = [UInt8](repeating: 0x5A, count: probe.session.peerMTU - 5)
          return try await probe.timeBetweenCopies(
            of: isLong ? Wire.literal("16 0600 0000") + part : [0x0A, 3, 0])
        }
      }
    }

    Case(
      "LNK-51/anew-after-each-nak",
      "After a retransmission for a NAK the next one by the timer is a whole resend time later",
      also: ["LNK-34"]
    ) { probe, _ in
      let rows: [(what: String, payload: [UInt8], naks: Int)] = [
        ("a NAK", [], 1), ("a bitmap", Wire.u64(0b01), 1), ("an empty bitmap", Wire.u64(0), 1),
        ("a second NAK", [], 2),
      ]
      for (what, payload, naks) in rows {
        // A timer that goes on expires 50 to 100 ms after the NAK, if its time is the default.
        try await probe.expectTime("the time from \(what)", in: 150...1000) {
          try await probe.open()
          var start = probe.now
          _ = try await probe.unacknowledgedAnswers(payload == Wire.u64(0b01) ? 2 : 1)
          let way = probe.now - start
          for round in 1...naks {
            let early = try await probe.frames(for: max(.zero, .milliseconds(150) - way))
            try await probe.write(probe.frame(.nak, payload: payload))
            // The timer, of 200 ms or more, does not expire before the NAK has arrived.
            guard probe.now - start + way < .milliseconds(195), !early.contains(where: { $0.kind == .data })
            else { return nil }
            guard round < naks else { break }
            _ = try await probe.awaitFrame("the answer again") { $0.kind == .data }
            start = probe.now
          }
          return try await probe.timeBetweenCopies(number: 0)
        }
      }
      try await probe.expectTime("the time from a NAK after a retransmission by the timer", in: 150...2100) {
        try await probe.open()
        _ = try await probe.unacknowledgedAnswers(1)
        let sent = probe.now
        _ = try await probe.awaitFrame("the answer again") { $0.kind == .data }
        let (start, time) = (probe.now, (probe.now - sent).inMilliseconds)
        // The resend time has doubled.
        let early = try await probe.frames(for: .milliseconds(2 * time - 90))
        try await probe.write(probe.frame(.nak))
        guard (probe.now - start).inMilliseconds < 2 * time - 40, !early.contains(where: { $0.kind == .data })
        else { return nil }
        return try await probe.timeBetweenCopies(number: 0)
      }
    }

    Case(
      "LNK-51/from-sending",
      "The resend timer starts when a frame is sent, not with its queuing or with an earlier ack",
      also: ["LNK-41"]
    ) { probe, _ in
      try await probe.expectTime("the time to the retransmission of an answer that waited", in: 150...1000) {
        try await probe.openShut()
        try await probe.sendData([0x0A, 3, 0])
        _ = try await probe.frames(for: .milliseconds(400))
        try await probe.grant(1)
        return try await probe.timeBetweenCopies(number: 0)
      }
      if probe.session.features & 0b0111 == 0b0111 {
        try await probe.expectTime("the time to the retransmission of SYNCED that waited", in: 150...1000) {
          try await probe.openShut(features: Probe.deliveryFeatures)
          try await probe.sendData(Sync(probe.makeSource()).bytes, channel: 0)
          _ = try await probe.frames(for: .milliseconds(400))
          try await probe.grant(1)
          return try await probe.timeBetweenCopies(number: 0)
        }
      }
      try await probe.expectTime("the time to the retransmission after a pause", in: 80...1000) {
        try await probe.open()
        _ = try await probe.readCount()
        _ = try await probe.frames(for: .milliseconds(430))
        return try await probe.timeBetweenCopies()
      }
    }

    Case(
      "LNK-51/doubling-ends", "When answers are acknowledged again, the doubling of the resend timer is over"
    ) { probe, _ in
      try await probe.expectTime("the time to the retransmission after the doubling", in: 0...700) {
        try await probe.open()
        var times: [Double] = []
        for _ in 0..<2 {
          try await probe.awaitRoom()
          let number = probe.session.expectedSeq
          _ = try await probe.unacknowledgedAnswers(1)
          for _ in 0..<2 {
            _ = try await probe.awaitFrame("the answer again") { $0.kind == .data && $0.seq == number }
          }
          // Wrap-around is the rule: numbers are modulo 256.
          probe.session.expectedSeq &+= 1
          try await probe.write(probe.frame(.ack))
          // The next sample.
          _ = try await probe.readCount()
          times.append(try await probe.timeBetweenCopies())
          probe.session.expectedSeq &+= 1
          try await probe.write(probe.frame(.ack))
        }
        return times.max()
      }
    }

    Case(
      "LNK-52/ping-in-time",
      "A device's PING comes 2 s after the last frame at the latest, with the present ack and credit",
      also: ["LNK-2", "LNK-40", "LNK-55"]
    ) { probe, bench in
      try await probe.expectTime("the time to the PING", in: 0...(bench.hasExactTime ? 2000 : 2150)) {
        try await probe.open()
        for _ in 0..<4 { _ = try await probe.readCount() }
        let start = probe.now
        let ping = try await probe.awaitFrame(.ping)
        let time = (probe.now - start).inMilliseconds
        probe.expect("the flaws of PING", ping.flaws(in: probe.session), is: [])
        probe.expect("ack of PING", ping.ack, is: probe.session.nextSeq)
        probe.expect("credit of PING", ping.credit, is: UInt8(probe.session.peerFrames))
        return time
      }
    }

    Case(
      "LNK-52/ping-while-waiting",
      "A device sends PING also while requests wait for credit, and grants no more than it has room for",
      also: ["LNK-40", "LNK-44"]
    ) { probe, _ in
      try await probe.openShut()
      let handled = try await probe.fillRequests()
      let ping = try await probe.awaitFrame(.ping)
      probe.expect("ack of PING", ping.ack, is: probe.session.nextSeq)
      guard try await probe.handled() == handled else { return }
      probe.expect(
        "ack + credit of PING", ping.ack &+ ping.credit, is: handled &+ UInt8(probe.session.peerFrames))
    }
  }
}

extension Probe {
  /// Measures a time in milliseconds, up to three times. Notes a finding if none of them is in
  /// `range`.
  ///
  /// - Parameter measure: returns nil if the computer was too busy for a measurement.
  fileprivate func expectTime(
    _ what: String, in range: ClosedRange<Double>, file: String = #fileID, line: Int = #line,
    measure: () async throws -> Double?
  ) async throws {
    let attempts = 3
    var times: [Double] = []
    for _ in 0..<attempts {
      guard let time = try await measure() else { continue }
      if range.contains(time) { return }
      times.append(time)
    }
    expect(
      times.count < attempts, "\(what) is \(times) ms, never in \(range)", file: file, line: line)
  }

  /// The time between two transmissions of a frame, in milliseconds.
  ///
  /// - Parameters:
  ///   - request: sent if `number` is nil; its answer is measured.
  ///   - number: that of a frame under way.
  fileprivate func timeBetweenCopies(
    of request: [UInt8] = [0x0A, 3, 0], number: UInt8? = nil, file: String = #fileID, line: Int = #line
  ) async throws -> Double {
    if number == nil {
      try await awaitRoom(file: file, line: line)
      try await sendData(request)
    }
    let number = number ?? session.expectedSeq
    let isCopy = { [session] (frame: WireFrame) in
      frame.kind == .data && frame.session == session.id && frame.seq == number
    }
    _ = try await awaitFrame("DATA \(number)", file: file, line: line, where: isCopy)
    let start = now
    _ = try await awaitFrame("DATA \(number) again", file: file, line: line, where: isCopy)
    return (now - start).inMilliseconds
  }

  /// The time from writing `bytes` to the first frame that `matches`, in milliseconds.
  fileprivate func timeToAnswer(_ bytes: [UInt8], where matches: (WireFrame) -> Bool) async throws -> Double {
    let start = now
    try await write(bytes)
    let answer = try await awaitFrame("answer", where: matches)
    session.observe(answer)
    return (now - start).inMilliseconds
  }

  /// The time from DATA that is not answered, in one piece, to its acknowledgement.
  fileprivate func timeToACK(of count: UInt8) async throws -> Double {
    try await awaitRoomForTwo()
    let first = session.nextSeq
    // Wrap-around is the rule: numbers are modulo 256.
    let frames = (0..<count).map { data([0x55], channel: 2, seq: first &+ $0) }
    session.nextSeq = first &+ count
    session.room -= Int(count)
    let next = session.nextSeq
    return try await timeToAnswer(frames.flatMap(\.bytes)) {
      $0.session == session.id && $0.ack == next && $0.kind != .udata
    }
  }

  /// The time from a frame with the number after the next one to its NAK. The hole is filled then.
  fileprivate func timeToNAK() async throws -> Double {
    try await awaitRoomForTwo()
    let missing = session.nextSeq
    var isKept = false
    let time = try await timeToAnswer(data([0x55], channel: 2, seq: missing &+ 1).bytes) {
      isKept = $0.kind == .nak && !$0.payload.isEmpty
      return $0.kind == .nak
    }
    try await write(data([0x55], channel: 2, seq: missing))
    session.nextSeq = missing &+ (isKept ? 2 : 1)
    session.room -= isKept ? 2 : 1
    try await expectTaken("the missing frame")
    return time
  }

  /// Waits until two more DATA frames are granted: any device takes two.
  private func awaitRoomForTwo() async throws {
    let deadline = now + Self.patience
    while session.room < 2 {
      guard let frame = try await nextFrame(until: deadline) else {
        throw CaseEnd.fault("the device grants no credit for two frames", file: #fileID, line: #line)
      }
      session.observe(frame)
    }
  }
}

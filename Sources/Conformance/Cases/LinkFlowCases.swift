import NotibotProtocol

/// What makes the device send again, and what holds it back.
extension Suite {
  static let nakResends = Case(
    "LNK-34/nak-resends", "A NAK makes the device send from its ack on again, at once", .link,
    also: ["LNK-35"]
  ) { bench in
    let probe = bench.probe
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

  static let nakBitmap = Case(
    "LNK-34/nak-bitmap", "What a NAK's bitmap says is held is not sent again", .link, also: ["LNK-33"]
  ) { bench in
    let probe = bench.probe
    try await probe.open()
    guard probe.session.peerRequests >= 3, probe.session.features & 1 == 1 else {
      throw CaseSkipped("the device takes fewer than 3 requests at once")
    }
    _ = try await probe.unacknowledgedAnswers(3)
    // Bit 0 is the frame ack + 1.
    try await probe.write(probe.frame(.nak, payload: Wire.u64(0b01)))
    let again = try await probe.fence().filter { $0.kind == .data }
    probe.expect("numbers sent again", again.map(\.seq), is: [0, 2])
  }

  static let repeatedACK = Case(
    "LNK-34/repeated-ack", "A repeated ACK never makes the device send again", .link
  ) { bench in
    let probe = bench.probe
    try await probe.open()
    _ = try await probe.unacknowledgedAnswers(2)
    for _ in 0..<20 { try await probe.write(probe.frame(.ack)) }
    let again = try await probe.fence().filter { $0.kind == .data }
    probe.expect("frames sent again for 20 ACKs", again, is: [])
  }

  static let resentFrame = Case(
    "LNK-35/resent-frame", "A frame sent again has its old number and payload and a present ack", .link
  ) { bench in
    let probe = bench.probe
    try await probe.open()
    let first = try await probe.unacknowledgedAnswers(1)[0]
    try await probe.sendData([0x55], channel: 2)
    try await probe.expectTaken("DATA beside an unacknowledged answer")
    try await probe.write(probe.frame(.nak))
    let again = try await probe.fence().first { $0.kind == .data }
    probe.expect("seq", again?.seq, is: first.seq)
    probe.expect("payload", again?.payload, is: first.payload)
    probe.expect("ack", again?.ack, is: probe.session.nextSeq)
  }

  static let creditWhenHandled = Case(
    "LNK-40/credit-when-handled", "ack moves when a frame was received, credit only when it was handled",
    .link,
    also: ["LNK-52"], needs: [.control]
  ) { bench in
    let probe = bench.probe
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

  static let shutWindow = Case(
    "LNK-41/no-data-beyond-limit", "The device sends no DATA beyond the credit it was given", .link
  ) { bench in
    let probe = bench.probe
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

  static let creditBackwards = Case(
    "LNK-41/credit-goes-back", "A credit that goes back takes nothing back", .link
  ) { bench in
    let probe = bench.probe
    try await probe.openShut()
    probe.session.credit = 2
    try await probe.write(probe.frame(.ack))
    probe.session.credit = 0
    try await probe.write(probe.frame(.ack))
    guard probe.session.peerFrames >= 3 else { throw CaseSkipped("the device takes fewer than 3 frames") }
    for _ in 0..<3 {
      try await probe.sendData([0x0A, 3, 0])
      _ = try await probe.fence()
    }
    probe.session.credit = 0
    try await probe.write(probe.frame(.nak))
    let sent = try await probe.fence().filter { $0.kind == .data }
    probe.expect("numbers within the limit of 2", sent.map(\.seq), is: [0, 1])
  }

  static let hugeCredit = Case(
    "LNK-41/credit-above-64", "A credit above 64 is taken as 64 and does no harm", .link
  ) { bench in
    let probe = bench.probe
    try await probe.open()
    for credit in [65, 127, 128, 255] as [UInt8] {
      probe.session.credit = credit
      _ = try await probe.readCount()
    }
  }

  static let unacknowledgedLimit = Case(
    "LNK-43/unacknowledged-limit",
    "The device keeps no more unacknowledged frames than it announced requests, or 8",
    .link
  ) { bench in
    let probe = bench.probe
    try await probe.open()
    guard probe.session.features & 1 == 1 else { throw CaseSkipped("the device takes one request at a time") }
    let limit = max(8, probe.session.peerRequests)
    var numbers: Set<UInt8> = []
    // Each request goes out when the one before is answered or held back; nothing is ever acknowledged.
    for _ in 0..<(limit + 2) where probe.session.room > 0 {
      try await probe.sendData([0x0A, 3, 0])
      for frame in try await probe.fence() where frame.kind == .data { numbers.insert(frame.seq) }
    }
    probe.expect(numbers.count <= limit, "\(numbers.count) unacknowledged frames, at most \(limit)")
    probe.expect(
      numbers.count >= min(limit, probe.session.peerFrames), "only \(numbers.count) of \(limit) frames")
  }

  static let readsWhileShut = Case(
    "LNK-44/reads-while-shut", "A device whose sending waits for credit goes on reading and answering PINGs",
    .link
  ) { bench in
    let probe = bench.probe
    try await probe.openShut()
    try await probe.sendData([0x0A, 3, 0])
    for index in 1...3 {
      try await probe.sendData([0x55], channel: 2)
      try await probe.expectTaken("frame \(index) while an answer waits")
    }
    _ = try await probe.fence()
    probe.session.credit = 64
    try await probe.write(probe.frame(.ack))
    let deadline = probe.now + Probe.patience
    let reply = try await probe.nextPDU(until: deadline)
    probe.expect("the answer that waited", reply?.first, is: 0x0B)
  }
}

extension Probe {
  /// Sends requests, one after the other's answer, and acknowledges none of the answers.
  fileprivate func unacknowledgedAnswers(_ count: Int) async throws -> [WireFrame] {
    var answers: [WireFrame] = []
    for index in 0..<count {
      try await sendData([0x0A, 3, 0])
      answers.append(try await awaitFrame("answer \(index)") { $0.kind == .data && Int($0.seq) == index })
    }
    return answers
  }

  /// Opens a session in which the device may not send any DATA yet.
  fileprivate func openShut() async throws {
    try await open(isAcknowledged: false)
    session.credit = 0
    try await write(frame(.ack))
  }
}

import NotibotHost
import NotibotProtocol

/// Order, resending, credit and timers of the host.
extension Suite {
  static let hostFlow: [Case] = [
    hostUnservedChannel, hostEmptyData, hostAckOutside, hostKeepsOutOfOrder, hostNAKRounds, hostOutOfWindow,
    hostNAKResends, hostRepeatedACK, hostCredit, hostLimit, hostByteLimit, hostDefaultLimits,
    hostAcknowledges,
    hostReadsWhileShut, hostResendTimer, hostPings, hostDown, hostStalled,
  ]

  static let hostUnservedChannel = Case(
    "LNK-4/host-unserved-channel", "The host acknowledges and drops DATA on a channel that it does not serve",
    .link,
    needs: [.host]
  ) { bench in
    let device = bench.makeHost()
    let probe = device.probe
    try await device.open()
    for channel in [0, 2, 7] as [UInt8] {
      try await probe.sendData([0x1B, 3, 0, 9, 9], channel: channel)
      try await probe.expectTaken("DATA on channel \(channel)")
    }
    probe.expect("events", device.host.events, is: [])
  }

  static let hostEmptyData = Case(
    "LNK-3/host-malformed-frames",
    "DATA and PONG without payload, NAK with half a bitmap: dropped, and nothing sent",
    .link, needs: [.host]
  ) { bench in
    let device = bench.makeHost()
    let probe = device.probe
    try await device.open()
    _ = try await probe.frames(for: .milliseconds(50))
    try await probe.write(probe.data([], seq: probe.session.nextSeq))
    try await probe.write(probe.frame(.pong))
    var nak = probe.frame(.nak, payload: [1, 2, 3])
    nak.ack = 0
    try await probe.write(nak)
    let answers = try await probe.frames(for: .milliseconds(100))
    probe.expect("answers", answers, is: [])
    let id = device.submit(.readCount)
    try await device.serve { device.host.results[id] != nil }
  }

  static let hostAckOutside = Case(
    "LNK-31/host-ack-outside",
    "The host ignores an ack that cannot be, with its credit, and takes the payload", .link,
    needs: [.host]
  ) { bench in
    let device = bench.makeHost()
    let probe = device.probe
    try await device.open()
    let subscription = device.submit(.subscribe(.count))
    try await device.serve { device.host.results[subscription] != nil }
    var wrong = probe.data(Wire.literal("1b 0300 0900"), seq: probe.session.nextSeq)
    (wrong.ack, wrong.credit) = (probe.session.expectedSeq &+ 50, 0)
    probe.session.nextSeq &+= 1
    try await probe.write(wrong)
    probe.expect("events", device.host.events, is: [.countChanged(9)])
    // Were that ack believed, this request would be taken for acknowledged, or never sent.
    let id = device.submit(.readCount)
    _ = try await probe.awaitFrame(.data)
    let again = try await probe.awaitFrame(.data)
    probe.expect("seq sent again", again.seq, is: probe.session.expectedSeq)
    probe.expect("the result so far", device.host.results[id], is: nil)
  }

  static let hostKeepsOutOfOrder = Case(
    "LNK-32/host-keeps-out-of-order", "The host keeps what came too early, and says so in the NAK's bitmap",
    .link,
    also: ["LNK-33"], needs: [.host]
  ) { bench in
    let device = bench.makeHost()
    let probe = device.probe
    try await device.open()
    let subscription = device.submit(.subscribe(.count))
    try await device.serve { device.host.results[subscription] != nil }
    let base = probe.session.nextSeq
    let count = { (index: UInt8) in probe.data([0x1B, 3, 0, index, 0], seq: base &+ index) }
    for index in [1, 3] as [UInt8] { try await probe.write(count(index)) }
    let nak = try await probe.awaitFrame(.nak)
    probe.expect("ack of the NAK", nak.ack, is: base)
    if nak.payload.count == 8 {
      probe.expect("bit 0, the frame ack + 1", nak.payload[0] & 1, is: 1)
    } else {
      probe.expect("length of the NAK's payload", nak.payload.count, is: 0)
    }
    probe.expect("events before the hole is filled", device.host.events, is: [])
    try await probe.write(count(0))
    try await probe.write(count(2))
    probe.expect("events", device.host.events, is: [0, 1, 2, 3].map(HostEvent.countChanged))
    let ack = try await probe.awaitFrame("ACK of all") { $0.ack == base &+ 4 }
    probe.expect("session", ack.session, is: device.sessionID)
  }

  static let hostNAKRounds = Case(
    "LNK-33/host-nak-rounds", "The host sends one NAK for each hole and round", .link, needs: [.host]
  ) { bench in
    let device = bench.makeHost()
    let probe = device.probe
    try await device.open()
    _ = try await probe.frames(for: .milliseconds(50))
    let base = probe.session.nextSeq
    let note = { (index: UInt8) in probe.data([0x1B, 3, 0, index, 0], seq: base &+ index) }
    for index in [1, 2, 3] as [UInt8] { try await probe.write(note(index)) }
    let first = try await probe.frames(for: .milliseconds(15))
    probe.expect("NAKs for 1, 2, 3", first.filter { $0.kind == .nak }.count, is: 1)
    for index in [1, 2, 3] as [UInt8] { try await probe.write(note(index)) }
    let second = try await probe.frames(for: .milliseconds(15))
    probe.expect("NAKs for 1, 2, 3 again", second.filter { $0.kind == .nak }.count, is: 1)
    probe.expect("ack", second.first { $0.kind == .nak }?.ack, is: base)
  }

  static let hostOutOfWindow = Case(
    "LNK-32/host-out-of-window", "Old frames are dropped and answered by an ACK, at most one in 20 ms", .link,
    also: ["FRM-15"], needs: [.host]
  ) { bench in
    let device = bench.makeHost()
    let probe = device.probe
    try await device.open()
    let subscription = device.submit(.subscribe(.count))
    try await device.serve { device.host.results[subscription] != nil }
    try await probe.sendData(Wire.literal("1b 0300 0100"))
    _ = try await probe.frames(for: .milliseconds(100))
    let old = probe.data(Wire.literal("1b 0300 0100"), seq: probe.session.nextSeq &- 1)
    for _ in 0..<50 {
      try await probe.write(old)
      _ = try await probe.frames(for: .milliseconds(1))
    }
    let sent = device.host.machine.statistics.link
    probe.expect("events", device.host.events, is: [.countChanged(1)])
    probe.startCapture()
    for _ in 0..<50 { try await probe.write(old) }
    let answers = try await probe.frames(for: .milliseconds(19))
    probe.expect(answers.count <= 1, "\(answers.count) answers within 19 ms")
    probe.expect("frames dropped", device.host.machine.statistics.link.outOfWindow - sent.outOfWindow, is: 50)
  }

  static let hostNAKResends = Case(
    "LNK-34/host-nak-resends", "A NAK makes the host send again at once, less what the bitmap says is held",
    .link,
    also: ["LNK-35"], needs: [.host]
  ) { bench in
    let device = bench.makeHost()
    let probe = device.probe
    try await device.open()
    for index in 0..<3 { _ = device.submit(.sendEncoded(Sample.json("frame \(index)"))) }
    let base = probe.session.expectedSeq
    var first: [WireFrame] = []
    while first.count < 3 { first.append(try await probe.awaitFrame(.data)) }
    probe.expect("numbers", first.map(\.seq), is: [base, base &+ 1, base &+ 2])
    try await probe.write(probe.frame(.nak))
    let all = try await probe.frames(for: .milliseconds(1)).filter { $0.kind == .data }
    probe.expect("numbers sent again", all.map(\.seq), is: first.map(\.seq))
    probe.expect("payloads sent again", all.map(\.payload), is: first.map(\.payload))
    try await probe.write(probe.frame(.nak, payload: Wire.u64(0b01)))
    let some = try await probe.frames(for: .milliseconds(1)).filter { $0.kind == .data }
    probe.expect("numbers sent again with 1 held", some.map(\.seq), is: [base, base &+ 2])
  }

  static let hostRepeatedACK = Case(
    "LNK-34/host-repeated-ack", "A repeated ACK never makes the host send again", .link, needs: [.host]
  ) { bench in
    let device = bench.makeHost()
    let probe = device.probe
    try await device.open()
    _ = device.submit(.readCount)
    _ = try await probe.awaitFrame(.data)
    for _ in 0..<20 { try await probe.write(probe.frame(.ack)) }
    let again = try await probe.frames(for: .milliseconds(99))
    probe.expect("frames sent again for 20 ACKs", again.filter { $0.kind == .data }, is: [])
  }

  static let hostCredit = Case(
    "LNK-40/host-credit", "The host's ack + credit is what it has handled and its frames", .link,
    needs: [.host]
  ) { bench in
    let device = bench.makeHost()
    let probe = device.probe
    device.connect()
    let syn = try await probe.awaitFrame(.syn)
    let frames = TLV.parse(syn.payload)?.value(of: 0x06)?.first ?? 4
    try await probe.write(device.hello(bootID: device.bootID))
    try await device.answerSyn()
    try await device.serve { device.host.openedCount == 1 }
    for _ in 0..<300 { try await probe.sendData(Wire.literal("1b 0300 0100")) }
    let last = try await probe.awaitFrame("acknowledgement of all") { $0.ack == probe.session.nextSeq }
    probe.expect("credit when all is handled", last.credit, is: frames)
  }
}

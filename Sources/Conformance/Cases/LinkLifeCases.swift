import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// The frames that count as a sign of life, and those that confirm a session.
extension Suite {
  static let linkLife = chapter(.link) {
    Case(
      "LNK-53/what-keeps-open", "Each valid frame of the live session keeps it open, whatever its content",
      also: ["LNK-3"]
    ) { probe, bench in
      // Each takes 5.6 s.
      for sign in signsOfLife.prefix(bench.waitsLong ? .max : 1) {
        try await probe.open()
        try await probe.sendUnserved(1)
        let isLive = try await probe.isLive(receiving: sign.frame)
        probe.expect(isLive, "the session is over, although \(sign.what) was sent every 400 ms")
      }
    }

    Case(
      "LNK-53/what-keeps-nothing-open",
      "Malformed frames, frames of session 0 or another one, SYNs and echoes keep no session open",
      also: ["LNK-3", "LNK-13", "LNK-14", "LNK-19", "FRM-11"], needs: [.longWaits]
    ) { probe, _ in
      for kind in [.data, .ack, .nak, .ping, .pong, .fin, .udata] as [WireFrame.Kind] {
        let payload: [UInt8] = [.data, .pong, .udata].contains(kind) ? [1] : []
        try await probe.expectDead(receiving: "\(kind) of another session") {
          $0.frame(kind, channel: kind == .data || kind == .udata ? 2 : 0, payload: payload)
            .with(session: $0.session.id &+ 1000)
        }
        try await probe.expectDead(receiving: "\(kind) in the device's direction") {
          $0.echo(of: $0.frame(kind, channel: kind == .data || kind == .udata ? 2 : 0, payload: payload))
        }
      }
      for length in [1, 7] {
        try await probe.expectDead(receiving: "NAK of \(length) bytes") {
          $0.frame(.nak, payload: [UInt8](repeating: 0, count: length))
        }
      }
      try await probe.expectDead(receiving: "DATA without payload") { $0.data([], channel: 2, seq: 0) }
      try await probe.expectDead(receiving: "PONG without payload") { $0.frame(.pong) }
      try await probe.expectDead(receiving: "UDATA of session 0") {
        $0.frame(.udata, channel: 1, payload: [0x41]).with(ack: 0, credit: 0, session: 0)
      }
      try await probe.expectDead(receiving: "the SYN of the session") {
        $0.syn(Probe.synTLVs(nonce: $0.session.nonce))
      }
      try await probe.expectDead(receiving: "a SYN that is refused") {
        $0.syn(Probe.synTLVs(nonce: $0.session.nonce &+ 1) + [TLV(0xC0, [])]).with(session: $0.session.id)
      }
      let old = probe.session.nonce
      try await probe.expectDead(receiving: "a SYN with an old nonce") { $0.syn(Probe.synTLVs(nonce: old)) }
    }

    Case(
      "LNK-4/log-while-offered",
      "Between SYNACK and the first frame of the session, and without a session, the log is console text",
      also: ["LNK-16"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), features: 0b1000), isAcknowledged: false)
      // The text is complete only when a zero follows it; its bytes are sent before.
      probe.startCapture()
      let line = "rig: not yet open \(Sample.everyByte)"
      try await control.perform(.log(line))
      let deadline = probe.now + Probe.patience
      var early: [WireFrame] = []
      while early.isEmpty, probe.now < deadline, !(probe.captured ?? []).contains(line.utf8) {
        early += try await probe.frames(for: .milliseconds(5))
      }
      probe.expect("frames before the first one of the session", early, is: [])
      try await probe.write(probe.frame(.ack))
      _ = try await probe.fence()
      probe.expect(probe.textReceived.contains(line.utf8), "the log is not console text")
      try await SessionEnding.fin.end(bench)
      let next = "rig: without a session \(Sample.everyByte)"
      try await control.perform(.log(next))
      _ = try await probe.frames(for: .milliseconds(100))
      try await probe.open()
      probe.expect(
        probe.textReceived.contains(next.utf8), "without a session the log is not console text")
    }

    Case(
      "LNK-4/long-framed-log", "A log longer than a frame is sent completely in several UDATA",
      also: ["FRM-4", "LNK-9"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), features: 0b1000))
      guard probe.session.features & 0b1000 != 0 else { throw CaseEnd.skip("the device frames no log") }
      _ = try await probe.fence()
      // Longer than 528 with its line end, and exactly as long.
      for length in [526, 527, 528, 529, 700, 1200] {
        let ascii = String((0..<length % 2).map { _ in "x" })
        let line = ascii + String(repeating: "é", count: length / 2)
        try await control.perform(.log(line))
        let deadline = probe.now + Probe.patience
        var log: [UInt8] = []
        while !log.contains(line.utf8), probe.now < deadline {
          let frames = try await probe.frames(for: .milliseconds(5))
          log += frames.filter { $0.kind == .udata && $0.channel == 1 }.flatMap(\.payload)
        }
        probe.expect(
          log.contains(line.utf8),
          "of a log of \(length) bytes \(log.count) were sent in UDATA, or with changes")
      }
    }

    Case(
      "LNK-2/fields-of-log", "UDATA from the device has the live session, and 0 for seq, ack and credit",
      also: ["LNK-4"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), features: 0b1000))
      guard probe.session.features & 0b1000 != 0 else { throw CaseEnd.skip("the device frames no log") }
      for _ in 0..<3 { _ = try await probe.readCount() }
      try await control.perform(.log("rig: fields"))
      let udata = try await probe.awaitFrame(.udata)
      probe.expect("the flaws of \(udata)", udata.flaws(in: probe.session), is: [])
    }
  }

  /// A frame that a case sends repeatedly.
  private typealias Sign = (what: String, frame: @Sendable (Probe) -> WireFrame)

  private static let signsOfLife: [Sign] = [
    ("UDATA without payload", { $0.frame(.udata, channel: 5).with(ack: 0, credit: 0) }),
    ("UDATA on channel 5", { $0.frame(.udata, channel: 5, payload: [0x41]).with(ack: 0, credit: 0) }),
    ("ACK", { $0.frame(.ack) }),
    ("NAK", { $0.frame(.nak) }),
    ("NAK of 9 bytes", { $0.frame(.nak, payload: [UInt8](repeating: 0, count: 9)) }),
    ("PING", { $0.frame(.ping) }),
    ("PONG", { $0.frame(.pong, payload: [0]) }),
    ("PONG of 3 bytes", { $0.frame(.pong, payload: [0, 1, 2]) }),
    ("ACK with an impossible ack", { $0.frame(.ack).with(ack: 99) }),
    ("UDATA on channel 1", { $0.frame(.udata, channel: 1, payload: [0x41]).with(ack: 0, credit: 0) }),
    ("DATA that was already received", { $0.data([0x55], channel: 2, seq: 0) }),
    ("DATA beyond the window", { $0.data([0x55], channel: 2, seq: 200) }),
  ]
}

extension Probe {
  /// Whether the open session is live after 5.6 s in which a frame is sent every 400 ms.
  fileprivate func isLive(receiving frame: (Probe) -> WireFrame) async throws -> Bool {
    for _ in 0..<14 {
      _ = try await frames(for: .milliseconds(400))
      try await write(frame(self))
    }
    return try await isSessionLive()
  }

  /// Opens a session and notes a finding unless it goes down while only these frames are sent.
  fileprivate func expectDead(
    receiving what: String, file: String = #fileID, line: Int = #line, _ frame: (Probe) -> WireFrame
  ) async throws {
    try await open()
    _ = try await fence()
    let isLive = try await isLive(receiving: frame)
    expect(!isLive, "the session is kept open by \(what)", file: file, line: line)
  }
}

extension WireFrame {
  /// The same frame with other numbers.
  func with(ack: UInt8? = nil, credit: UInt8? = nil, session: UInt16? = nil) -> WireFrame {
    var frame = self
    (frame.ack, frame.credit) = (ack ?? self.ack, credit ?? self.credit)
    frame.session = session ?? self.session
    return frame
  }
}

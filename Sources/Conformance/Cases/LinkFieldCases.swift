import NotibotProtocol
import SuiteWire

/// The fields of every frame that a device sends, for each type and each field of LNK-2's table.
extension Suite {
  static let linkFields = chapter(.link) {
    Case(
      "LNK-2/fields-of-every-type",
      "In SYNACK, DATA, ACK, NAK, PONG, PING, RST and the ACK of a FIN each field is 0 or present, depending on the type",
      also: ["LNK-1", "LNK-3", "LNK-24", "LNK-40"]
    ) { probe, bench in
      let synAck = try await probe.openSession()
      probe.expectLawful([synAck])
      for _ in 0..<3 { probe.expectLawful(try await probe.nextAnswer()) }
      // An ACK of a frame without an answer.
      try await probe.sendData([0x55], channel: 2)
      let ack = try await probe.awaitFrame("ACK of DATA") { $0.ack == 4 }
      probe.expectLawful([ack])
      probe.expect(
        "ack, credit and kind of the ACK", "\(ack.kind) \(ack.ack) \(ack.credit)", is: probe.present(.ack, 4))
      try await probe.write(probe.frame(.ping))
      let pong = try await probe.awaitFrame(.pong)
      probe.expectLawful([pong])
      probe.expect(
        "ack, credit and kind of PONG", "\(pong.kind) \(pong.ack) \(pong.credit)", is: probe.present(.pong, 4)
      )
      try await probe.write(probe.data([0x55], channel: 2, seq: 5))
      let nak = try await probe.awaitFrame(.nak)
      probe.expectLawful([nak])
      probe.expect(
        "ack, credit and kind of NAK", "\(nak.kind) \(nak.ack) \(nak.credit)", is: probe.present(.nak, 4))
      try await probe.write(probe.data([0x55], channel: 2, seq: 4))
      // The frames kept after the hole have been delivered with it.
      probe.session.nextSeq = nak.payload.isEmpty ? 5 : 6
      try await probe.expectTaken("the missing frame")
      if bench.hasVirtualTime {
        let ping = try await probe.awaitFrame(.ping)
        probe.expectLawful([ping])
      }
      try await probe.write(probe.frame(.fin))
      let last = try await probe.awaitFrame("ACK of FIN") {
        $0.kind == .ack && $0.session == probe.session.id
      }
      probe.expectLawful([last])
      probe.expect(
        "ack, credit and kind of the ACK of FIN", "\(last.kind) \(last.ack) \(last.credit)",
        is: probe.present(.ack, probe.session.nextSeq))
      let rst = try await probe.ask(probe.frame(.ping), "RST") { $0.kind == .rst }
      probe.expectLawful([rst])
    }

    Case(
      "LNK-2/fields-of-hello", "HELLO has session 0, numbers of 0, and its TLVs in the order of the table",
      also: ["LNK-5", "LNK-6"], needs: [.control]
    ) { probe, bench in
      let hello = try await bench.restartSession()
      probe.expectLawful([hello])
    }

    Case(
      "LNK-3/any-channel", "SYN, ACK, NAK, PING, PONG and FIN are accepted with each channel number",
      also: ["LNK-13", "LNK-20", "LNK-24", "LNK-34", "LNK-41"]
    ) { probe, _ in
      for channel in 1...7 as ClosedRange<UInt8> {
        try await probe.openShut()
        var syn = probe.syn(Probe.synTLVs(nonce: probe.session.nonce))
        syn.channel = channel
        try await probe.write(syn)
        _ = try await probe.awaitFrame("SYNACK to a SYN with channel \(channel)") { $0.kind == .synAck }
        for (index, kind) in [.ack, .ping, .pong].enumerated() as EnumeratedSequence<[WireFrame.Kind]> {
          probe.session.credit = 0
          try await probe.sendData([0x0A, 3, 0])
          _ = try await probe.fence()
          // The answer waits for its credit.
          probe.session.credit = 1
          try await probe.write(probe.frame(kind, channel: channel, payload: kind == .pong ? [0] : []))
          var isPonged = false
          _ = try await probe.awaitFrame("answer for the credit of \(kind) with channel \(channel)") {
            isPonged = isPonged || $0.kind == .pong
            return $0.kind == .data && $0.seq == UInt8(index)
          }
          // It can come on either side of the answer, and is not the one of the fence.
          if kind == .ping, !isPonged { _ = try await probe.awaitFrame(.pong) }
          try await probe.write(probe.frame(.nak, channel: channel))
          let again = try await probe.fence().filter { $0.kind == .data }
          probe.expect(
            "numbers sent again for NAK with channel \(channel)", again.map(\.seq), is: [UInt8(index)])
          probe.session.expectedSeq = UInt8(index + 1)
        }
        try await probe.write(probe.frame(.ping, channel: channel))
        _ = try await probe.awaitFrame("PONG to PING with channel \(channel)") { $0.kind == .pong }
        let stray = probe.frame(.ping, channel: channel).with(session: probe.session.id &+ 1000)
        _ = try await probe.ask(stray, "RST to PING with channel \(channel)") { $0.kind == .rst }
        try await probe.write(probe.frame(.fin, channel: channel))
        _ = try await probe.awaitFrame("ACK of FIN with channel \(channel)") { $0.kind == .ack }
        let isLive = try await probe.isSessionLive()
        probe.expect(!isLive, "the session is served after FIN with channel \(channel)")
      }
    }
  }
}

extension Probe {
  /// Reads Count and returns everything up to the answer.
  fileprivate func nextAnswer() async throws -> [WireFrame] {
    try await awaitRoom()
    try await sendData([0x0A, 3, 0])
    let number = session.expectedSeq
    let answer = try await awaitFrame("answer") { $0.kind == .data && $0.seq == number }
    expect(
      "ack and credit of DATA", "\(answer.kind) \(answer.ack) \(answer.credit)",
      is: present(.data, session.nextSeq))
    session.observe(answer)
    session.expectedSeq &+= 1
    try await write(frame(.ack))
    return [answer]
  }

  /// A kind, an ack, and the credit when everything has been handled, for comparison.
  fileprivate func present(_ kind: WireFrame.Kind, _ ack: UInt8) -> String {
    "\(kind) \(ack) \(session.peerFrames)"
  }

  /// Notes the flaws of the device's frames.
  fileprivate func expectLawful(_ frames: [WireFrame], file: String = #fileID, line: Int = #line) {
    for frame in frames {
      expect("the flaws of \(frame)", frame.flaws(in: session), is: [], file: file, line: line)
    }
  }
}

extension WireFrame {
  /// The fields of a device's frame that are invalid for its type. Source: PROTOCOL.md LNK-2,
  /// LNK-3, LNK-5, LNK-6.
  func flaws(in session: ProbeSession) -> [String] {
    var flaws: [String] = []
    func claim(_ holds: Bool, _ flaw: String) { if !holds { flaws.append(flaw) } }
    if kind != .data { claim(seq == 0, "seq \(seq)") }
    if kind != .data, kind != .udata { claim(channel == 0, "channel \(channel)") }
    claim(credit <= 64, "credit \(credit)")
    switch kind {
    case .hello: claim(self.session == 0, "session \(self.session)")
    case .synAck, .data, .ack, .nak, .udata, .ping, .pong, .fin:
      claim(self.session == session.id, "session \(self.session)")
    case .rst, .syn: break
    }
    switch kind {
    case .hello, .rst, .udata, .syn: claim(ack == 0 && credit == 0, "ack \(ack) and credit \(credit)")
    case .synAck: claim(ack == 0, "ack \(ack)")
    case .data, .ack, .nak, .ping, .pong, .fin: break
    }
    switch kind {
    case .ack, .ping, .fin: claim(payload.isEmpty, "a payload")
    case .nak: claim(payload.isEmpty || payload.count == 8, "\(payload.count) bytes of bitmap")
    case .pong: claim(payload.count == 1, "\(payload.count) bytes")
    case .data, .udata: claim(!payload.isEmpty, "no payload")
    case .hello, .synAck, .rst, .syn: flaws += tlvFlaws
    }
    return flaws
  }

  /// The flaws of the TLVs of HELLO, SYNACK and RST: their order is that of the table, each is
  /// there once and listed for the frame, and the required ones are there.
  private var tlvFlaws: [String] {
    guard let tlvs = TLV.parse(payload) else { return ["a TLV that exceeds the end"] }
    let types = tlvs.map(\.type)
    let (required, others): ([UInt8], [UInt8]) =
      switch kind {
      case .hello: ([0x81, 0x83, 0x0A], [0x0B, 0x0C, 0x0E, 0x0F, 0x10])
      case .synAck:
        ([0x81, 0x82, 0x84, 0x0A], [0x05, 0x06, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12, 0x13])
      case .rst: ([0x81, 0x83, 0x0A, 0x14], [0x82, 0x15])
      case .syn, .data, .ack, .nak, .udata, .ping, .pong, .fin: ([], [])
      }
    var flaws: [String] = []
    // The low seven bits are the rows of the table.
    let known = types.map { $0 & 0x7F }.filter { (1...0x15).contains($0) }
    if known != known.sorted() { flaws.append("TLVs in the order \(Wire.hex(types))") }
    if Set(types).count != types.count { flaws.append("a TLV twice in \(Wire.hex(types))") }
    for type in required where !types.contains(type) { flaws.append("no TLV \(Wire.hex([type]))") }
    for type in types where type & 0x7F <= 0x15 && !(required + others).contains(type) {
      flaws.append("TLV \(Wire.hex([type]))")
    }
    return flaws
  }
}

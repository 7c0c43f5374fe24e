import NotibotProtocol
import SuiteWire

/// What is still due when something else happens: at the end of a session, at a SYN, before a
/// retransmission.
extension Suite {
  static let linkLeftovers = chapter(.link) {
    Case(
      "LNK-50/answers-without-ack", "SYNACK and RST do not stand for an acknowledgement that is due",
      also: ["LNK-2", "LNK-13", "LNK-19", "LNK-20"]
    ) { probe, _ in
      try await probe.open()
      let nonce = probe.session.nonce
      let questions: [(String, WireFrame)] = [
        ("SYNACK", probe.syn(Probe.synTLVs(nonce: nonce))),
        ("RST of a SYN", probe.syn(Probe.synTLVs(nonce: nonce &+ 1) + [TLV(0xC0, [])])),
        ("RST of a PING", probe.frame(.ping).with(session: probe.session.id &+ 1000)),
      ]
      for (what, question) in questions {
        var isAcknowledged = false
        for _ in 0..<3 where !isAcknowledged {
          // Nothing else is unacknowledged, and the device has RSTs left.
          _ = try await probe.fence()
          _ = try await probe.ask(question, what) { $0.kind == .synAck || $0.kind == .rst }
          try await probe.awaitRoom()
          let data = probe.data([0x55], channel: 2, seq: probe.session.nextSeq)
          probe.session.nextSeq &+= 1
          probe.session.room -= 1
          try await probe.write(data.bytes + question.bytes)
          // Before the device's next PING.
          let deadline = probe.now + .milliseconds(450)
          while !isAcknowledged, let frame = try await probe.nextFrame(until: deadline) {
            probe.session.observe(frame)
            isAcknowledged =
              frame.session == probe.session.id && frame.ack == probe.session.nextSeq
              && ![.synAck, .rst, .udata].contains(frame.kind)
          }
        }
        probe.expect(isAcknowledged, "DATA before \(what) is not acknowledged within 450 ms, three times")
      }
    }

    Case(
      "LNK-16/nothing-due",
      "DATA, ACKs, NAKs and PONGs that were due in a session are not sent in the next one",
      also: ["LNK-14", "LNK-23", "LNK-24", "LNK-50", "LNK-52"]
    ) { probe, _ in
      for (due, isClosed) in Due.allCases.flatMap({ [($0, false), ($0, true)] }) {
        try await probe.openShut()
        try await probe.grant(1)
        _ = try await probe.unacknowledgedAnswers(1)
        let fin = isClosed ? probe.frame(.fin).bytes : []
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
        try await probe.write(due.frames(probe).flatMap(\.bytes) + fin + probe.syn(tlvs).bytes)
        // Sends the same SYN again.
        try await probe.openSession(tlvs, isAcknowledged: false)
        let silent = try await probe.frames(for: .milliseconds(due == .response ? 300 : 30))
        // An ACK has no answer that could stand for what is due.
        try await probe.write(probe.frame(.ack))
        var sent = try await probe.frames(for: .milliseconds(20))
        sent += try await probe.fence() + probe.frames(for: .milliseconds(10))
        let what = "\(due.rawValue) of the last one being due\(isClosed ? " at FIN" : "")"
        let isUnasked = { (frame: WireFrame) in
          frame.session == probe.session.id && ![.synAck, .udata].contains(frame.kind)
        }
        probe.expect("frames of an offered session, \(what)", silent.filter(isUnasked), is: [])
        probe.expect(
          "unasked frames of a session, \(what)", sent.filter { isUnasked($0) && $0.kind != .ping }, is: [])
        try await probe.write(probe.frame(.ping))
        let pong = try await probe.awaitFrame("PONG") { $0.kind == .pong && $0.session == probe.session.id }
        probe.expect(
          "ack, credit and handled of a new session", [pong.ack, pong.credit, pong.payload.first ?? 255],
          is: [0, UInt8(probe.session.peerFrames), 0])
      }
    }

    Case(
      "LNK-35/present-numbers",
      "A frame that is sent again, by the timer or for a NAK, has the present ack and credit",
      also: ["LNK-40", "LNK-44", "LNK-51"]
    ) { probe, _ in
      try await probe.open()
      // The credit is less than that of the first sending as soon as a request waits.
      let handled = try await probe.fillRequests()
      for what in ["by the timer", "by the timer once more", "for a NAK", "for a bitmap"] {
        if probe.session.room > 0 { try await probe.sendData([0x0A, 3, 0]) }
        // The frames behind PONG are sent when the device has that request.
        _ = try await probe.handled()
        if what == "for a NAK" { try await probe.write(probe.frame(.nak)) }
        if what == "for a bitmap" {
          guard handled > 2 else { break }
          try await probe.write(probe.frame(.nak, payload: Wire.u64(0b01)))
        }
        let first = try await probe.awaitFrame("DATA again \(what)") { $0.kind == .data }
        let again = try await [first] + probe.fence().filter { $0.kind == .data }
        // Nothing is acknowledged, so that no room appears; otherwise the credit is not known.
        guard try await probe.handled() == handled else { return }
        let limit = handled &+ UInt8(probe.session.peerFrames)
        for frame in again {
          probe.expect("ack of \(frame.seq) sent again \(what)", frame.ack, is: probe.session.nextSeq)
          probe.expect(
            "ack + credit of \(frame.seq) sent again \(what)", frame.ack &+ frame.credit, is: limit)
        }
      }
    }
  }
}

/// What is due in a session when it ends.
private enum Due: String, CaseIterable {
  case ack = "an ACK"
  case nakAndPongs = "a NAK and PONGs"
  case response = "a response"

  /// The frames that cause it, if the device has sent all that it has credit for.
  func frames(_ probe: Probe) -> [WireFrame] {
    let next = probe.session.nextSeq
    return switch self {
    case .ack: [probe.data([0x55], channel: 2, seq: next)]
    case .nakAndPongs:
      [probe.data([0x55], channel: 2, seq: next &+ 1), probe.frame(.ping), probe.frame(.ping)]
    case .response: [probe.data([0x0A, 3, 0], seq: next)]
    }
  }
}

import NotibotProtocol
import SuiteWire

/// The effects of the fields and payloads of frames, and effects that they must not have.
extension Suite {
  static let linkEffects = chapter(.link) {
    Case(
      "LNK-2/fields-without-effect",
      "ack and credit of SYN, UDATA, RST and frames of other sessions acknowledge and grant nothing",
      also: ["LNK-31", "LNK-41", "LNK-51"]
    ) { probe, _ in
      let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
      var syn = probe.syn(tlvs)
      syn.credit = 64
      // The first SYN offers credit, and so does the same one at the end; the session's first frame
      // grants none.
      try await probe.write(syn)
      _ = try await probe.awaitFrame(.synAck)
      try await probe.openSession(tlvs, isAcknowledged: false)
      try await probe.write(syn)
      _ = try await probe.awaitFrame(.synAck)
      probe.session.credit = 0
      try await probe.write(probe.frame(.udata, channel: 1, payload: [0x41]).with(credit: 64))
      try await probe.write(probe.frame(.ack))
      try await probe.sendData([0x0A, 3, 0])
      var stray: [(String, WireFrame)] = [("SYN", syn)]
      let id = probe.session.id
      stray.append(("UDATA", probe.frame(.udata, channel: 1, payload: [0x41])))
      stray.append(("UDATA of session 0", probe.frame(.udata, channel: 1, payload: [0x41]).with(session: 0)))
      stray.append(("RST", probe.frame(.rst, payload: [TLV.magic, .versions(1, 1), .reason(1)].payload)))
      for kind in [.ack, .nak, .ping, .pong, .fin] as [WireFrame.Kind] {
        stray.append(
          (
            "\(kind) of another session",
            probe.frame(kind, payload: kind == .pong ? [0] : []).with(session: id &+ 1000)
          ))
      }
      for (what, frame) in stray {
        try await probe.write(frame.with(credit: 64))
        let sent = try await probe.fence()
        probe.expect("DATA granted by \(what)", sent.filter { $0.kind == .data }, is: [])
      }
      probe.session.credit = 1
      try await probe.write(probe.frame(.ack))
      _ = try await probe.awaitFrame(.data)
      // It is not acknowledged by any of them, so it is sent again.
      for (_, frame) in stray { try await probe.write(frame.with(ack: 1)) }
      _ = try await probe.awaitFrame("the answer again, after an ack in SYN, UDATA and RST") {
        $0.kind == .data
      }
    }

    Case(
      "LNK-4/udata-not-served", "A PDU or a SYNC in UDATA is dropped, on each channel", also: ["NTF-30"]
    ) { probe, _ in
      try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), features: 0xF))
      let before = try await probe.readCount()
      let sync = Sync(probe.makeSource()).bytes
      // Channel 2 is reserved for rigs.
      for channel in [0, 1, 3, 4, 5, 6, 7] as [UInt8] {
        for session in [probe.session.id, 0] {
          for payload in [[0x0A, 3, 0], Wire.literal("12 0400 0100"), Wire.literal("02 0502"), sync]
            as [[UInt8]]
          {
            let udata = probe.frame(.udata, channel: channel, payload: payload)
              .with(ack: 0, credit: 0, session: session)
            try await probe.write(udata)
          }
          let answers = try await probe.fence()
          probe.expect("answers to UDATA on channel \(channel)", answers.filter { $0.kind == .data }, is: [])
        }
      }
      let cccd = try await probe.request([0x0A, 4, 0])
      probe.expect("CCCD of Count", cccd, is: [0x0B, 0, 0])
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "LNK-5/type-0", "A TLV of type 0 has a length like any other, whatever its value", also: ["LNK-7"]
    ) { probe, _ in
      // As TLVs, these values would be another magic, an unknown critical one, a second FEATURES,
      // or exceed the end.
      let values: [[UInt8]] = [
        [], [0], [1], [0xC0], [0xC0, 0], [0x81, 0], [0x05, 4, 1, 0, 0, 0, 0x05, 4, 1, 0, 0, 0],
        [0xFF, 0xFF, 0xFF],
        [UInt8](repeating: 0xC0, count: 200),
      ]
      for type in [0x00, 0x01, 0x16, 0x7F] as [UInt8] {
        for value in values {
          let usual = Probe.synTLVs(nonce: probe.makeNonce())
          for tlvs in [
            usual + [TLV(type, value)], Array(usual.prefix(1)) + [TLV(type, value)] + usual.dropFirst(),
          ] {
            try await probe.openSession(tlvs, attempts: 2)
          }
        }
      }
      for payload in [[0], [0, 1], [0, 5, 1, 2]] as [[UInt8]] {
        let whole = Probe.synTLVs(nonce: probe.makeNonce()).payload + payload
        try await probe.expectRefused(whole, reason: 4, "[\(Wire.hex(payload))] at the end")
      }
      // A type byte alone exceeds the end, whatever its type.
      for type in [0x05, 0x16, 0x7F, 0x82, 0xC0, 0xFF] as [UInt8] {
        let whole = Probe.synTLVs(nonce: probe.makeNonce()).payload + [type]
        try await probe.expectRefused(whole, reason: 4, "the byte \(Wire.hex([type])) at the end")
      }
    }

    Case(
      "LNK-16/confirmed-by-each", "The frame that confirms a session has its usual effect, whatever its type",
      also: ["LNK-24", "LNK-32", "LNK-41", "LNK-52"]
    ) { probe, _ in
      let open = { try await probe.openSession(isAcknowledged: false) }
      _ = try await open()
      try await probe.sendData([0x0A, 3, 0])
      let answer = try await probe.awaitFrame("the answer to the first DATA") { $0.kind == .data }
      probe.expect("ack", answer.ack, is: 1)
      _ = try await open()
      try await probe.sendData([0x55], channel: 2)
      _ = try await probe.awaitFrame("acknowledgement of the first DATA") { $0.ack == 1 }
      _ = try await open()
      try await probe.write(probe.data([0x55], channel: 2, seq: 1))
      _ = try await probe.awaitNAK(missing: 0, held: [1])
      _ = try await open()
      try await probe.write(probe.frame(.ping))
      _ = try await probe.awaitFrame(.pong)
      _ = try await open()
      try await probe.write(probe.frame(.fin))
      let ack = try await probe.awaitFrame(.ack)
      probe.expect("session of the ACK", ack.session, is: probe.session.id)
      // Its credit counts, and nothing else grants any.
      for kind in [.ack, .nak, .ping, .pong] as [WireFrame.Kind] {
        _ = try await open()
        try await probe.write(probe.frame(kind, payload: kind == .pong ? [0] : []))
        probe.session.credit = 0
        try await probe.sendData([0x0A, 3, 0])
        _ = try await probe.awaitFrame("an answer in the credit of the first \(kind)") { $0.kind == .data }
      }
    }

    Case(
      "LNK-13/bearer-stays", "A repeated SYN does not affect subscriptions, MTU and prepared parts",
      also: ["ATT-3"]
    ) { probe, _ in
      let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
      try await probe.openWide(tlvs)
      for handle in [4, 7] as [UInt8] { try await probe.request([0x12, handle, 0, 1, 0]) }
      // Fails, because the first part begins at 5: this shows whether it is still there.
      try await probe.request(Wire.literal("16 0600 0500 2020"))
      for _ in 0..<2 {
        try await probe.write(probe.syn(tlvs))
        _ = try await probe.awaitFrame(.synAck)
      }
      for handle in [4, 7] as [UInt8] {
        let value = try await probe.request([0x0A, handle, 0])
        probe.expect("CCCD \(handle) after the same SYN", value, is: [0x0B, 1, 0])
      }
      if probe.session.mtu >= 24 {
        let echo = try await probe.request(Wire.literal("16 0600 0700") + [UInt8](repeating: 0x20, count: 19))
        probe.expect("the answer to 24 bytes after the same SYN", echo.first, is: 0x17)
      }
      let executed = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer to Execute after the same SYN", executed.prefix(2), is: [0x01, 0x18])
    }

    Case(
      "LNK-41/credit-without-progress",
      "Credit in any frame counts even if the frame acknowledges nothing new", also: ["LNK-31"]
    ) { probe, _ in
      // Skips the case if the device sends one frame at a time.
      try await probe.open()
      _ = try await probe.unacknowledgedAnswers(2)
      for kind in [.ack, .ping, .pong, .data] as [WireFrame.Kind] {
        try await probe.openShut()
        probe.session.credit = 1
        for _ in 0..<2 { try await probe.sendData([0x0A, 3, 0]) }
        _ = try await probe.fence()
        try await probe.write(probe.frame(.ack))
        let early = try await probe.fence().filter { $0.kind == .data && $0.seq > 0 }
        probe.expect("answers beyond a credit of 1", early, is: [])
        probe.session.credit = 2
        switch kind {
        case .data:
          try await probe.awaitRoom()
          try await probe.sendData([0x55], channel: 2)
        case .pong: try await probe.write(probe.frame(.pong, payload: [0]))
        case _: try await probe.write(probe.frame(kind))
        }
        _ = try await probe.awaitFrame("the second answer, granted by \(kind) with an old ack") {
          $0.kind == .data && $0.seq == 1
        }
      }
    }

    Case(
      "LNK-32/dropped-bytes", "A frame out of order takes no bytes twice, however often it is received",
      also: ["LNK-33", "LNK-42"]
    ) { probe, _ in
      try await probe.open()
      let long = [UInt8](repeating: 0x55, count: 528)
      let count = probe.session.peerBytes / 540 + 2
      let early = probe.data(long, channel: 2, seq: 1)
      // Each time it begins a new round, or is already held.
      for _ in 0..<min(count, 130) {
        try await probe.write(early)
        _ = try await probe.frames(for: probe.settleTime)
      }
      _ = try await probe.fence()
      try await probe.write(probe.data([0x55], channel: 2, seq: 0))
      let taken = try await probe.awaitFrame("acknowledgement of the missing frame") { $0.ack >= 1 }
      let isKept = taken.ack == 2
      probe.session.nextSeq = isKept ? 2 : 1
      if !isKept {
        try await probe.write(early)
        _ = try await probe.awaitFrame("acknowledgement of the long frame") { $0.ack == 2 }
        probe.session.nextSeq = 2
      }
      _ = try await probe.fence()
      _ = try await probe.readCount()
    }

    Case(
      "LNK-18/from-the-host",
      "An RST from the host is not a frame of the session: it does not confirm, end or keep it open",
      also: ["LNK-16", "LNK-53"], needs: [.longWaits]
    ) { probe, _ in
      let payloads = [[], [TLV.magic, .versions(1, 1), .reason(1)].payload] as [[UInt8]]
      for payload in payloads {
        try await probe.openSession(isAcknowledged: false)
        try await probe.write(probe.frame(.rst, payload: payload).with(ack: 0, credit: 0))
        let silent = try await probe.frames(for: .seconds(6)).filter { $0.kind != .hello }
        probe.expect("frames that an RST has confirmed", silent, is: [])
        try await probe.write(probe.frame(.ack))
        _ = try await probe.readCount()
        try await probe.write(probe.frame(.rst, payload: payload).with(ack: 0, credit: 0))
        let isLive = try await probe.isSessionLive()
        probe.expect(isLive, "an RST from the host ends the session")
        for _ in 0..<14 {
          _ = try await probe.frames(for: .milliseconds(400))
          try await probe.write(probe.frame(.rst, payload: payload).with(ack: 0, credit: 0))
        }
        let isKept = try await probe.isSessionLive()
        probe.expect(!isKept, "RSTs keep the session open")
      }
    }

    Case(
      "LNK-18/first-critical", "Of several unknown critical TLVs REFUSED names the first",
      also: ["LNK-5", "LNK-19"]
    ) { probe, _ in
      for types in [[0xC0, 0xD0], [0xD0, 0xC0], [0x85, 0xFF, 0x80], [0xFF, 0x80, 0xFF]] as [[UInt8]] {
        let usual = Probe.synTLVs(nonce: probe.makeNonce())
        let tlvs =
          usual.prefix(3) + [TLV(types[0], [1])] + usual.dropFirst(3) + types.dropFirst().map { TLV($0, []) }
        let fields = try await probe.expectRefused(Array(tlvs).payload, reason: 3, "TLVs \(Wire.hex(types))")
        probe.expect("REFUSED for \(Wire.hex(types))", fields.number(of: 0x15), is: UInt64(types[0]))
      }
    }
  }
}

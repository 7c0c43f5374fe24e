import NotibotProtocol
import SuiteWire

/// SYNs and what their SYNACKs announce: of the boot, of the firmware, of the features in use.
extension Suite {
  static let linkIdentities = chapter(.link) {
    Case(
      "LNK-5/announced-of-boot",
      "The SYNACKs of one boot announce the same device, firmware and boot; UPTIME counts milliseconds",
      also: ["LNK-12"]
    ) { probe, bench in
      var flaw: String?
      // A busy computer can keep a device from counting.
      for attempt in 0..<3 where attempt == 0 || flaw != nil {
        flaw = nil
        var last: (from: Instant, to: Instant, tlvs: [TLV])?
        for ending in [nil, .fin, .syn, .silence] as [SessionEnding?] {
          if let ending {
            guard ending.isPossible(on: bench) else { continue }
            try await ending.end(bench)
          }
          var hasRestarted = false
          if ending == .fin {
            hasRestarted = try await probe.frames(for: .milliseconds(1800)).contains { $0.kind == .hello }
          }
          let start = probe.now
          try await probe.openSession()
          let (from, to, tlvs) = (start, probe.now, probe.session.announced)
          if let last {
            let uptimes = [last.tlvs, tlvs].map { $0.number(of: 0x0D).map { Double($0) } }
            if let first = uptimes[0], let second = uptimes[1] {
              hasRestarted = hasRestarted || second < first
            }
            if hasRestarted { throw CaseEnd.skip("the device has restarted during the case") }
            probe.expectSameDevice(last.tlvs, tlvs)
            if let first = uptimes[0], let second = uptimes[1] {
              // A clock can count in steps of 10 ms.
              let least = (from - last.to).inMilliseconds * 0.985 - 11
              let most = (to - last.from).inMilliseconds * 1.015 + 11
              if !(least...max(least, most)).contains(second - first) {
                flaw = "UPTIME rose by \(second - first) ms in \(least) to \(most) ms"
              }
            }
          }
          last = (from, to, tlvs)
        }
      }
      probe.expect(flaw == nil, flaw ?? "")
    }

    Case(
      "LNK-5/texts-announced",
      "FIRMWARE_NAME, FIRMWARE_VERSION and BUILD_HASH have at most 32 bytes, the texts in UTF-8"
    ) { probe, _ in
      try await probe.openSession()
      for (name, type) in [("FIRMWARE_NAME", 0x0F), ("FIRMWARE_VERSION", 0x10), ("BUILD_HASH", 0x11)]
        as [(String, UInt8)]
      {
        guard let value = probe.session.announced.value(of: type) else { continue }
        probe.expect(value.count <= 32, "\(name) has \(value.count) bytes")
        // Invalid bytes are replaced.
        let isText = type == 0x11 || Array(String(decoding: value, as: UTF8.self).utf8) == value
        probe.expect(isText, "\(name) is not UTF-8: [\(Wire.hex(value))]")
      }
    }

    Case(
      "LNK-9/unknown-bits",
      "Unknown bits of FEATURES change nothing: they are not repeated, the others are in use",
      also: ["NTF-30"]
    ) { probe, _ in
      let known: UInt32 = 0b1_1111
      try await probe.openSession(Probe.synTLVs(nonce: probe.makeNonce(), features: known))
      let usual = UInt32(truncatingIfNeeded: probe.session.features)
      let isLogging = try await probe.isLogSent()
      var logs = 0
      for unknown in [0xFFFF_FFE0, 0xAAAA_AAA0, 0x5555_5540] as [UInt32] {
        try await probe.openSession(Probe.synTLVs(nonce: probe.makeNonce(), features: known | unknown))
        let announced = UInt32(truncatingIfNeeded: probe.session.features)
        probe.expect("bits 0 to 4 of FEATURES", announced & known, is: usual & known)
        // A device of a later version may announce some.
        probe.expect(announced & ~known != unknown, "FEATURES repeats unknown bits: \(announced)")
        if isLogging, try await probe.isLogSent() { logs += 1 }
      }
      if usual & 0b0110 == 0b0110 {
        try await probe.sendData(Sync(probe.makeSource()).bytes, channel: 0)
        let deadline = probe.now + Probe.patience
        var synced: WireFrame?
        while synced == nil, let frame = try await probe.nextData(until: deadline) {
          if frame.channel == 0, frame.payload.first == 2 { synced = frame }
        }
        probe.expect(synced != nil, "SYNC is not answered when the SYN sets unknown features")
      }
      guard isLogging, logs == 0 else { return }
      // What a device logs is its own choice, and can have changed.
      for _ in 0..<3 {
        try await probe.openSession(Probe.synTLVs(nonce: probe.makeNonce(), features: known))
        guard try await probe.isLogSent() else { return }
      }
      probe.expect(false, "the log is framed only when the SYN sets no unknown features")
    }

    Case(
      "LNK-2/session-of-syn", "A SYN opens a session, is repeated or refused, whatever its session field is",
      also: ["LNK-12", "LNK-13", "LNK-19"]
    ) { probe, bench in
      try await probe.open()
      let last = probe.session.id
      for field in SessionField.allCases {
        try await probe.open()
        let live = probe.session.id
        if field == .ended { try await SessionEnding.fin.end(bench) }
        let session = field.number(live: live, last: last)
        let nonce = probe.makeNonce()
        let syn = probe.syn(Probe.synTLVs(nonce: nonce)).with(session: session)
        var ids: [UInt16] = []
        for what in ["the first", "the same"] {
          let reply = try await probe.ask(syn, "SYNACK to \(what) SYN with session \(session)") {
            ($0.kind == .synAck || $0.kind == .rst) && TLV.parse($0.payload)?.number(of: 0x82) == nonce
          }
          probe.expect("the answer to \(what) SYN with session \(session)", reply.kind, is: .synAck)
          ids.append(reply.session)
        }
        probe.expect("the session of the same SYN", ids[1], is: ids[0])
        probe.expect(ids[0] != live, "a SYN with a new nonce and session \(session) opens none")
        let refused = probe.syn(Probe.synTLVs(nonce: ~nonce) + [TLV(0xC0, [])]).with(session: session)
        let rst = try await probe.ask(refused, "RST to a SYN with session \(session)") {
          $0.kind == .rst && TLV.parse($0.payload)?.number(of: 0x82) == ~nonce
        }
        probe.expect("the session of the RST to a SYN with session \(session)", rst.session, is: 0)
      }
      let offered = try await probe.openSession(isAcknowledged: false)
      let again = probe.syn(Probe.synTLVs(nonce: probe.session.nonce)).with(session: offered.session)
      _ = try await probe.ask(again, "SYNACK") { $0.kind == .synAck && $0.session == offered.session }
      try await probe.expectNone(
        "frame of a session that only its SYN names",
        within: .milliseconds(bench.hasVirtualTime ? 2100 : 1200)
      ) { $0.session == offered.session && ![.synAck, .udata].contains($0.kind) }
      try await probe.write(probe.frame(.ack))
      _ = try await probe.readCount()
    }

    Case(
      "LNK-19/remembered-nonce",
      "A SYN that is to be refused is refused with a remembered nonce too, and the live session stays",
      also: ["LNK-14", "LNK-18"]
    ) { probe, bench in
      let nonces = (0..<8).map { _ in probe.makeNonce() }
      for nonce in nonces { try await probe.open(Probe.synTLVs(nonce: nonce)) }
      for isLive in [true, false] {
        if !isLive { try await SessionEnding.fin.end(bench) }
        for (index, which) in [(0, "oldest"), (1, "second oldest"), (6, "latest but one")] {
          let nonce = nonces[index]
          let flaws: [(UInt64, [TLV])] = [
            (2, [.magic, .nonce(nonce), .versions(2, 3)]), (2, [.magic, .nonce(nonce), .versions(2, 2)]),
            (3, Probe.synTLVs(nonce: nonce) + [TLV(0xC0, [])]),
            (4, Probe.synTLVs(nonce: nonce) + [.features(1)]),
          ]
          for (reason, tlvs) in flaws {
            let what = "reason \(reason) for the \(which) nonce \(isLive ? "in" : "after") another session"
            let fields = try await probe.expectRefused(tlvs.payload, reason: reason, what)
            probe.expect("NONCE with \(what)", fields.number(of: 0x82), is: nonce)
          }
        }
        if isLive { _ = try await probe.readCount() }
      }
    }
  }
}

/// A number in the session field of a SYN.
private enum SessionField: CaseIterable {
  case other, live, last, ended, highest

  func number(live: UInt16, last: UInt16) -> UInt16 {
    switch self {
    case .other: 0xBEEF
    case .live, .ended: live
    case .last: last
    case .highest: .max
    }
  }
}

extension Probe {
  /// Notes a finding for each TLV of a boot or of a firmware that differs in two frames.
  func expectSameDevice(
    _ earlier: [TLV], _ later: [TLV], file: String = #fileID, line: Int = #line
  ) {
    // BOOT_ID to RESET_REASON, DEVICE_ID to PROFILE_HASH.
    for type in [0x0A, 0x0B, 0x0C, 0x0E, 0x0F, 0x10, 0x11, 0x12] as [UInt8] {
      expect(
        "TLV \(Wire.hex([type])) in a later frame", later.value(of: type), is: earlier.value(of: type),
        file: file, line: line)
    }
  }

  /// Whether a line of the log comes as UDATA of the session within a short time.
  fileprivate func isLogSent() async throws -> Bool {
    let deadline = now + .milliseconds(200)
    while let frame = try await nextFrame(until: deadline) {
      if frame.kind == .udata, frame.channel == 1, frame.session == session.id { return true }
    }
    return false
  }
}

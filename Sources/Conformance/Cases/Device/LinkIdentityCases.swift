import NotibotProtocol

/// SYNs and what their SYNACKs announce: of the boot, of the firmware, of the features in use.
extension Suite {
  static let linkIdentities: [Case] = [
    announcedOfBoot, textsAnnounced, unknownFeatures, sessionOfSyn, rememberedRefused,
  ]

  static let announcedOfBoot = Case(
    "LNK-5/announced-of-boot",
    "The SYNACKs of one boot announce the same device, firmware and boot; UPTIME counts milliseconds", .link,
    also: ["LNK-12"]
  ) { bench in
    let probe = bench.probe
    var last: (from: Instant, to: Instant, tlvs: [TLV])?
    for index in 0..<3 {
      var hasRestarted = false
      if index == 1 {
        hasRestarted = try await probe.frames(for: .milliseconds(600)).contains { $0.kind == .hello }
      }
      let start = probe.now
      try await probe.openSession()
      let (from, to, tlvs) = (start, probe.now, probe.session.announced)
      if let last {
        let uptimes = [last.tlvs, tlvs].map { $0.number(of: 0x0D).map { Double($0) } }
        if let first = uptimes[0], let second = uptimes[1] { hasRestarted = hasRestarted || second < first }
        if hasRestarted { throw CaseSkipped("the device has restarted during the case") }
        // BOOT_ID to RESET_REASON, DEVICE_ID to PROFILE_HASH.
        for type in [0x0A, 0x0B, 0x0C, 0x0E, 0x0F, 0x10, 0x11, 0x12] as [UInt8] {
          probe.expect(
            "TLV \(Wire.hex([type])) in the next session", tlvs.value(of: type), is: last.tlvs.value(of: type)
          )
        }
        if let first = uptimes[0], let second = uptimes[1] {
          let least = (from - last.to).inMilliseconds * 0.98 - 50
          let most = (to - last.from).inMilliseconds * 1.02 + 50
          probe.expect(
            (least...max(least, most)).contains(second - first),
            "UPTIME rose by \(second - first) ms in \(least) to \(most) ms")
        }
      }
      last = (from, to, tlvs)
      // By FIN, and by the next SYN.
      if index == 0 { try await SessionEnding.fin.end(bench) }
    }
  }

  static let textsAnnounced = Case(
    "LNK-5/texts-announced",
    "FIRMWARE_NAME, FIRMWARE_VERSION and BUILD_HASH have at most 32 bytes, the texts in UTF-8",
    .link
  ) { bench in
    let probe = bench.probe
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

  static let unknownFeatures = Case(
    "LNK-9/unknown-bits",
    "Unknown bits of FEATURES change nothing: they are not repeated, the others are in use",
    .link, also: ["NTF-30"]
  ) { bench in
    let probe = bench.probe
    let known: UInt32 = 0b1_1111
    try await probe.openSession(Probe.synTLVs(nonce: probe.makeNonce(), features: known))
    let usual = UInt32(truncatingIfNeeded: probe.session.features)
    for unknown in [0xFFFF_FFE0, 0xAAAA_AAA0, 0x5555_5540] as [UInt32] {
      try await probe.openSession(Probe.synTLVs(nonce: probe.makeNonce(), features: known | unknown))
      let announced = UInt32(truncatingIfNeeded: probe.session.features)
      probe.expect("bits 0 to 4 of FEATURES", announced & known, is: usual & known)
      probe.expect(announced & ~known != unknown, "FEATURES repeats unknown bits: \(announced)")
    }
    guard usual & 0b0110 == 0b0110 else { return }
    try await probe.sendData(Sync(probe.makeSource()).bytes, channel: 0)
    let deadline = probe.now + Probe.patience
    var synced: WireFrame?
    while synced == nil, let frame = try await probe.nextData(until: deadline) {
      if frame.channel == 0, frame.payload.first == 2 { synced = frame }
    }
    probe.expect(synced != nil, "SYNC is not answered when the SYN sets unknown features")
  }

  static let sessionOfSyn = Case(
    "LNK-2/session-of-syn", "A SYN opens a session, is repeated or refused, whatever its session field is",
    .link,
    also: ["LNK-12", "LNK-13", "LNK-19"]
  ) { bench in
    let probe = bench.probe
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
      "frame of a session that only its SYN names", within: .milliseconds(bench.hasVirtualTime ? 2100 : 1200)
    ) { $0.session == offered.session && ![.synAck, .udata].contains($0.kind) }
    try await probe.write(probe.frame(.ack))
    _ = try await probe.readCount()
  }

  static let rememberedRefused = Case(
    "LNK-19/remembered-nonce",
    "A SYN that is to be refused is refused with a remembered nonce too, and the live session stays", .link,
    also: ["LNK-14", "LNK-18"]
  ) { bench in
    let probe = bench.probe
    let nonce = probe.makeNonce()
    try await probe.open(Probe.synTLVs(nonce: nonce))
    try await probe.open()
    let flaws: [(UInt64, [TLV])] = [
      (2, [.magic, .nonce(nonce), .versions(2, 3)]), (3, Probe.synTLVs(nonce: nonce) + [TLV(0xC0, [])]),
      (4, Probe.synTLVs(nonce: nonce) + [.features(1)]),
    ]
    for isLive in [true, false] {
      if !isLive { try await SessionEnding.fin.end(bench) }
      for (reason, tlvs) in flaws {
        let what = "reason \(reason) for a remembered nonce \(isLive ? "in" : "after") another session"
        let fields = try await probe.expectRefused(tlvs.payload, reason: reason, what)
        probe.expect("NONCE with \(what)", fields.number(of: 0x82), is: nonce)
      }
      if isLive { _ = try await probe.readCount() }
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

import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Repeated SYNs, and HELLOs that must not be repeated.
extension Suite {
  static let linkRepeats =
    chapter(.link) {
      Case(
        "LNK-13/goes-on",
        "After the same SYN the session continues: a retransmission and PING need no frame of the host",
        also: ["LNK-16", "LNK-51", "LNK-52"]
      ) { probe, bench in
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
        try await probe.open(tlvs)
        _ = try await probe.unacknowledgedAnswers(1)
        let start = probe.now
        var (synAcks, frames): (Int, [WireFrame]) = (0, [])
        // The SYN repeatedly: it is not a frame of the session.
        for _ in 0..<6 where Set(frames.map(\.kind)).count < 2 {
          try await probe.write(probe.syn(tlvs))
          let end = probe.now + .milliseconds(400)
          while let frame = try await probe.nextFrame(until: end) {
            switch frame.kind {
            case .synAck: synAcks += 1
            // An ACK, because the request was handled.
            case .ack, .udata: break
            case .hello, .syn, .data, .nak, .ping, .pong, .rst, .fin:
              if frames.isEmpty {
                let passed = (probe.now - start).inMilliseconds
                probe.expect(
                  passed >= 195 && passed <= (bench.hasExactTime ? 505 : 2000),
                  "the first frame after \(passed) ms")
              }
              frames.append(frame)
            }
          }
        }
        probe.expect(synAcks >= 2, "only \(synAcks) SYNACKs")
        probe.expect("the kinds of frames", Set(frames.map(\.kind)), is: [.data, .ping])
        probe.expect("numbers of DATA", Set(frames.filter { $0.kind == .data }.map(\.seq)), is: [0])
        // The earlier credit still applies.
        probe.session.credit = 0
        try await probe.sendData([0x0A, 3, 0])
        _ = try await probe.awaitFurther("the second answer") { $0.kind == .data && $0.seq == 1 }
      }

      Case(
        "LNK-13/sends-on",
        "After the same SYN the device notifies Count without a further frame of the host",
        also: ["LNK-16", "NTF-10"], needs: [.control]
      ) { probe, bench in
        let control = try bench.requireControl()
        _ = try await bench.restart()
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
        try await probe.openWide(tlvs)
        try await probe.requireStoreRoom(1)
        try await probe.expectWritten(Sample.json("sent"))
        try await probe.request(Wire.literal("12 0400 0100"))
        try await probe.write(probe.syn(tlvs))
        _ = try await probe.awaitFrame(.synAck)
        try await control.perform(.dismiss(1))
        _ = try await probe.awaitFrame("the new Count") { $0.kind == .data }
      }

      Case(
        "LNK-13/other-limits",
        "A SYN that opens no session changes no limits: repeated, remembered or refused",
        also: ["LNK-8", "LNK-14", "LNK-19", "LNK-41", "LNK-42"]
      ) { probe, _ in
        for other in OpeningNone.allCases {
          // 37 answers of 29 bytes fit in 1080 bytes, the 64 of the credit in 65536.
          for (bytes, others, count) in [(1080, 65536, 37), (65536, 1080, 64), (1080, nil, 37)]
            as [(UInt32, UInt32?, Int)]
          {
            let previous = probe.session.nonce
            try await probe.openSession(Probe.synTLVs(nonce: probe.makeNonce(), bytes: bytes))
            let limits = others.map { TLV.limits(frames: 2, requests: 8, mtu: 517, bytes: $0) }
            try await probe.expectOpensNone(
              other, previous: previous, with: [.features(0)] + [limits].compactMap(\.self))
            let what = others.map { "of \($0) bytes" } ?? "without LIMITS"
            try await probe.expectReads(count, "in \(bytes) bytes, after \(other.name) SYN \(what)")
          }
        }
        // The given credit applies: the first answer needs no more of it.
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
        try await probe.open(tlvs)
        try await probe.write(probe.syn(tlvs))
        _ = try await probe.awaitFrame(.synAck)
        probe.session.credit = 0
        try await probe.sendData([0x0A, 3, 0])
        _ = try await probe.awaitFrame("the answer") { $0.kind == .data && $0.seq == 0 }
      }
    }
    + chapter(.delivery) {
      Case(
        "LNK-13/other-source",
        "A SYN that opens no session sets no clock, source or feature, and takes no part or subscription",
        also: ["ATT-3", "LNK-14", "LNK-19", "NTF-20", "NTF-21", "NTF-27"]
      ) { probe, bench in
        let noon = Sample.noon
        for kind in OpeningNone.allCases {
          let (source, other) = (probe.makeSource(), probe.makeSource())
          let previous = probe.session.nonce
          let first =
            Probe.synTLVs(nonce: probe.makeNonce(), features: Probe.deliveryFeatures) + [
              .source(source), .clock(noon),
            ]
          try await probe.openWide(first)
          try probe.requireFeatures(Probe.deliveryFeatures)
          try await probe.request(Wire.literal("12 0700 0100"))
          try await probe.request(Wire.literal("12 0400 0100"))
          try await probe.requireStoreRoom(1)
          let before = try await probe.readCount()
          let json = Sample.json(id: 1, more: ",\"exp\":\(noon + 500)")
          try await probe.expectWritten(json)
          try await probe.request(Wire.literal("16 0700 0000 0100"))
          try await probe.expectOpensNone(
            kind, previous: previous, with: [.features(0), .source(other), .clock(noon + 1000)])
          let shown = try await probe.readCount()
          let what = "after \(kind.name) SYN"
          probe.expect("Count \(what) with a CLOCK beyond exp", shown, is: before + 1)
          for (request, answer) in Suite.bearerAsBefore {
            let reply = try await probe.request(request)
            probe.expect("the answer to \(Wire.hex(request)) \(what)", reply, is: answer)
          }
          // Under its own source it is already there.
          try await probe.expectWritten(json, "the same notification \(what)")
          let same = try await probe.readCount()
          probe.expect("Count \(what) with another SRC", same, is: before + 1)
          if bench.hasVirtualTime, kind == .repeated {
            for _ in 0..<2 {
              try await probe.stayOpen(for: .seconds(251))
              // The time of its CLOCK is long past.
              try await probe.write(probe.syn(first))
              _ = try await probe.awaitFrame(.synAck)
            }
            let expired = try await probe.readCount()
            probe.expect("Count at exp, after the first SYN again", expired, is: before)
          }
          try await probe.expectWritten(Sample.removal(id: 1, more: ",\"src\":\(source)"), "the removal")
        }
      }
    }
    + chapter(.link) {
      Case(
        "LNK-14/ignored-syns",
        "A SYN that opens no session moves no nonce: ignored, refused or repeated",
        also: ["LNK-13", "LNK-19"]
      ) { probe, _ in
        let all = (0..<8).map { _ in Probe.synTLVs(nonce: probe.makeNonce()) }
        for tlvs in all { try await probe.open(tlvs) }
        let (live, id) = (probe.syn(all[7]), probe.session.id)
        let olds = all.dropLast().map { probe.syn($0) }
        for round in 1...2 {
          // Each twice, so that it is repeated as the latest one.
          for old in olds + olds.reversed() {
            for _ in 0..<2 { try await probe.write(old) }
            try await probe.expectUnanswered("an old SYN in round \(round)", old.bytes)
          }
          for _ in 0..<9 {
            try await probe.write(live)
            let again = try await probe.awaitFrame(.synAck)
            probe.expect("the session id", again.session, is: id)
          }
        }
        let refused = (0..<9).map { _ in Probe.synTLVs(nonce: probe.makeNonce()) }
        for tlvs in refused {
          let rst = try await probe.ask(probe.syn(tlvs + [TLV(0xC0, [])]), "RST") { $0.kind == .rst }
          probe.expect("REASON", TLV.parse(rst.payload)?.number(of: 0x14), is: 3)
        }
        for old in olds { try await probe.expectUnanswered("an old SYN after refused ones", old.bytes) }
        // The nonce that is forgotten first is the one that opened its session first.
        try await probe.openSession(refused[0], attempts: 2)
        for old in olds.dropFirst() { try await probe.expectUnanswered("an old SYN", old.bytes) }
        try await probe.expectUnanswered("the SYN of the previous session", live.bytes)
        try await probe.openSession(all[0], attempts: 2)
      }

      Case(
        "LNK-10/no-more-hellos",
        "However a session ends, the device sends nothing until the next SYN",
        also: ["LNK-24", "LNK-52", "LNK-53"], needs: [.longWaits]
      ) { probe, bench in
        let quiet = Duration.seconds(bench.hasVirtualTime ? 10 : 3)
        for isClosed in [true, false] {
          let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
          try await probe.open(tlvs)
          _ = try await probe.readCount()
          if isClosed {
            try await probe.write(probe.frame(.fin))
            _ = try await probe.awaitFrame("ACK of FIN") { $0.kind == .ack }
          } else {
            let last = try await probe.frames(for: .milliseconds(5600))
            probe.expect("frames of other types than PING", last.filter { $0.kind != .ping }, is: [])
          }
          let what = isClosed ? "FIN" : "silence"
          let behind = try await probe.frames(for: quiet)
          probe.expect("frames after the end by \(what)", behind, is: [])
          // Nor does a frame that opens nothing restart them.
          try await probe.write(probe.syn(tlvs))
          try await probe.write(
            probe.frame(.udata, channel: 5, payload: [1]).with(ack: 0, credit: 0, session: 0))
          let later = try await probe.frames(for: quiet)
          probe.expect("frames after an old SYN, after \(what)", later, is: [])
        }
      }
    }

  /// The CCCDs are 1, and the last part ends at 2.
  private static let bearerAsBefore: [([UInt8], [UInt8])] = [
    ([0x0A, 4, 0], [0x0B, 1, 0]), ([0x0A, 7, 0], [0x0B, 1, 0]),
    ([0x16, 7, 0, 2, 0], [0x17, 7, 0, 2, 0]), ([0x18, 1], [0x19]),
  ]
}

/// Why a SYN opens no session, so that its TLVs have no effect.
enum OpeningNone: CaseIterable {
  case repeated, remembered, ofAnotherVersion, critical, malformed

  var name: String {
    switch self {
    case .repeated: "a repeated"
    case .remembered: "an old"
    case .ofAnotherVersion: "a refused (2)"
    case .critical: "a refused (3)"
    case .malformed: "a refused (4)"
    }
  }
}

extension Probe {
  /// Sends a SYN that opens no session, with these TLVs behind the required ones, and expects what
  /// it is answered by.
  ///
  /// - Parameter previous: the nonce of the session before the live one.
  func expectOpensNone(
    _ kind: OpeningNone, previous: UInt64, with tlvs: [TLV]
  ) async throws {
    let fresh = makeNonce()
    switch kind {
    case .repeated:
      let id = session.id
      try await write(syn([.magic, .nonce(session.nonce), .versions(1, 1)] + tlvs))
      expect("the session of the SYNACK", try await awaitFrame(.synAck).session, is: id)
    case .remembered:
      try await expectUnanswered("an old SYN", syn([.magic, .nonce(previous), .versions(1, 1)] + tlvs).bytes)
    case .ofAnotherVersion:
      try await expectRefused(
        ([.magic, .nonce(fresh), .versions(2, 3)] + tlvs).payload, reason: 2, kind.name)
    case .critical:
      let critical = tlvs + [TLV(0xC0, [])]
      try await expectRefused(
        ([.magic, .nonce(fresh), .versions(1, 1)] + critical).payload, reason: 3, kind.name)
    case .malformed:
      let malformed = tlvs + [.versions(1, 1)]
      try await expectRefused(
        ([.magic, .nonce(fresh), .versions(1, 1)] + malformed).payload, reason: 4, kind.name)
    }
  }

  /// Lets time pass, with a PING each second.
  fileprivate func stayOpen(for time: Duration) async throws {
    let end = now + time
    while now < end {
      _ = try await frames(for: min(.seconds(1), end - now))
      _ = try await fence()
    }
  }
}

import NotibotProtocol
import SuiteWire

/// Every type of TLV in a SYN: known or not, too short, exactly long enough, longer, twice, past
/// the end.
extension Suite {
  static let linkTLVs = chapter(.link) {
    Case(
      "LNK-5/every-unknown-type", "Unknown types without bit 7, 01 to 04 among them, are ignored",
      also: ["LNK-7"]
    ) { probe, bench in
      // Each alone and empty, then all at once; also with the length of the critical TLV of the
      // same number.
      let types = [0x00, 0x01, 0x02, 0x03, 0x04] + Array(0x16...0x7F) as [UInt8]
      let lonely = bench.hasVirtualTime ? types : [0x00, 0x01, 0x02, 0x03, 0x04, 0x16, 0x7F]
      for type in lonely {
        try await probe.openSession(Probe.synTLVs(nonce: probe.makeNonce()) + [TLV(type, [])], attempts: 2)
      }
      for type in [0x01, 0x02, 0x03, 0x04] as [UInt8] {
        let nonce = probe.makeNonce()
        let strange = TLV(type, [UInt8](repeating: 0x77, count: 8))
        try await probe.openSession([.magic, strange, .nonce(nonce), .versions(1, 1), strange], attempts: 2)
      }
      let all = types.map { TLV($0, []) } + types.map { TLV($0, []) }
      try await probe.openSession([.magic, .nonce(probe.makeNonce()), .versions(1, 1)] + all, attempts: 2)
      _ = try await probe.readCount()
      // None of them replaces the required one.
      for type in [0x01, 0x02, 0x03] as [UInt8] {
        let tlvs = [TLV.magic, .nonce(probe.makeNonce()), .versions(1, 1)].map { tlv in
          tlv.type == type | 0x80 ? TLV(type, tlv.value) : tlv
        }
        try await probe.expectRefused(
          tlvs.payload, reason: 4, "\(Wire.hex([type])) instead of \(Wire.hex([type | 0x80]))")
      }
    }

    Case(
      "LNK-5/every-critical-type", "Each unknown type with bit 7 is refused by its number",
      also: ["LNK-18", "LNK-19"]
    ) { probe, bench in
      try await probe.open()
      let types = [0x80] + Array(0x85...0xFF) as [UInt8]
      for type in bench.hasVirtualTime ? types : [0x80, 0x85, 0x86, 0x95, 0x96, 0xC0, 0xFE, 0xFF] {
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce()) + [TLV(type, [])]
        let fields = try await probe.expectRefused(tlvs.payload, reason: 3, "TLV \(Wire.hex([type]))")
        probe.expect("REFUSED for TLV \(Wire.hex([type]))", fields.number(of: 0x15), is: UInt64(type))
      }
    }

    Case(
      "LNK-7/every-length",
      "Each known TLV is accepted with its length or more, and malformed with one byte less", also: ["LNK-5"]
    ) { probe, _ in
      for tlv in known {
        let name = "TLV \(Wire.hex([tlv.type]))"
        let nonce = probe.makeNonce()
        var good: [TLV] = [.magic, .nonce(nonce), .versions(1, 1)]
        let place = good.firstIndex { $0.type == tlv.type }
        // Of the three required ones the value stays.
        let value = place.map { good[$0].value } ?? tlv.value
        let put = { (value: [UInt8]) in
          if let place {
            good[place].value = value
          } else {
            good = Array(good.prefix(3)) + [TLV(tlv.type, value)]
          }
        }
        put(Array(value.dropLast()))
        try await probe.expectRefused(good.payload, reason: 4, "\(name) with one byte less")
        put(value + [0xEE, 0xEE, 0xEE])
        try await probe.write(probe.syn(good))
        let reply = try await probe.awaitFrame("answer to \(name) with three bytes more") {
          $0.kind == .synAck || $0.kind == .rst
        }
        probe.expect("the answer to \(name) with three bytes more", reply.kind, is: .synAck)
        probe.expect("its NONCE", TLV.parse(reply.payload)?.number(of: 0x82), is: nonce)
      }
      try await probe.open()
      _ = try await probe.readCount()
    }

    Case(
      "LNK-7/twice", "Each duplicate known TLV makes a SYN malformed, whether or not the two are equal"
    ) { probe, _ in
      let texts = [TLV(0x0F, [0x61]), TLV(0x10, [0x61]), TLV(0x11, [0x61])]
      for tlv in known + texts {
        let good: [TLV] = [.magic, .nonce(probe.makeNonce()), .versions(1, 1)]
        let other = good.contains { $0.type == tlv.type } ? [] : [tlv]
        let again = TLV(tlv.type, tlv.type == 0x81 ? tlv.value : tlv.value.map { ~$0 })
        try await probe.expectRefused(
          (good + other + [again]).payload, reason: 4, "TLV \(Wire.hex([tlv.type])) twice")
      }
    }

    Case(
      "LNK-7/past-the-end", "A last TLV that claims one byte more than there is makes a SYN malformed"
    ) { probe, _ in
      let good: [TLV] = [.magic, .nonce(probe.makeNonce()), .versions(1, 1)]
      for type in [0x05, 0x08, 0x0F, 0x40, 0x7F, 0xC0] as [UInt8] {
        for length in [0, 1, 4, 10] {
          for excess in [1, 2, 255 - length] {
            let payload =
              good.payload + [type, UInt8(length + excess)] + [UInt8](repeating: 0, count: length)
            try await probe.expectRefused(
              payload, reason: 4,
              "TLV \(Wire.hex([type])) of \(length + excess) bytes, \(length) of them there"
            )
          }
        }
        try await probe.expectRefused(
          good.payload + [type], reason: 4, "TLV \(Wire.hex([type])) without a length")
      }
      // The required ones, cut short at the end.
      for count in [1, 2] {
        let payload = good.payload.dropLast(count)
        try await probe.expectRefused(Array(payload), reason: 4, "a SYN that ends \(count) bytes early")
      }
    }

    Case(
      "LNK-6/no-features",
      "Without FEATURES, or with bit 2 alone, there is no SYNC, whatever the previous session",
      also: ["LNK-9", "NTF-30"]
    ) { probe, _ in
      for features in [0b1111, nil, 0b1111, 0, 0b0100] as [UInt32?] {
        let tlvs: [TLV] = [.magic, .nonce(probe.makeNonce()), .versions(1, 1)]
        try await probe.openSession(tlvs + (features.map { [.features($0)] } ?? []))
        let has = probe.session.features & 0b0110 == 0b0110 && features == 0b1111
        try await probe.sendData(Sync(probe.makeSource()).bytes, channel: 0)
        try await probe.expectTaken("SYNC")
        if !has {
          let unsolicited = try await probe.listen()
          let name = features.map { "FEATURES \($0)" } ?? "no FEATURES"
          probe.expect("answers to SYNC with \(name)", unsolicited.messages, is: [])
        }
      }
    }
  }

  /// The TLVs whose value has a length, with a harmless value (LNK-5).
  private static let known: [TLV] = [
    .magic, .nonce(0), .versions(1, 1), .version(1), .features(0),
    .limits(frames: 64, requests: 8, mtu: 517, bytes: 65536), .source(0), TLV(0x08, [1, 0, 0, 0]), .clock(1),
    .bootID(1), TLV(0x0B, [1, 0, 0, 0]), TLV(0x0C, [1]), TLV(0x0D, Wire.u64(1)),
    TLV(0x0E, [1, 2, 3, 4, 5, 6]),
    .profileHash(1), TLV(0x13, [1, 0]), .reason(1), TLV(0x15, [0xC0]),
  ]
}

extension Probe {
  /// Sends a SYN and notes a finding unless it is refused for this reason. Returns the TLVs of the
  /// RST.
  @discardableResult
  func expectRefused(
    _ payload: [UInt8], reason: UInt64, _ what: String, file: String = #fileID, line: Int = #line
  ) async throws -> [TLV] {
    let syn = WireFrame(kind: .syn, sender: .host, payload: payload)
    let reply = try await ask(syn, "answer to \(what)", file: file, line: line) {
      $0.kind == .rst || $0.kind == .synAck
    }
    let fields = TLV.parse(reply.payload) ?? []
    expect("the answer to \(what)", reply.kind, is: .rst, file: file, line: line)
    expect("REASON for \(what)", fields.number(of: 0x14), is: reason, file: file, line: line)
    return fields
  }
}

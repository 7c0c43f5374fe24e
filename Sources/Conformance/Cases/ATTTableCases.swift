import NotibotProtocol
import SuiteWire

/// The attribute table, its discovery and its reads.
extension Suite {
  static let attTable = chapter(.att) {
    Case(
      "ATT-2/primary-service", "Read By Group Type finds the one service, handles 1 to 7",
      also: ["ATT-1", "ATT-9"], isOfServer: true
    ) { probe, _ in
      try await probe.open()
      let found = try await probe.request(Wire.literal("10 0100 ffff 0028"))
      probe.expect("the services", found, is: Wire.literal("11 14 0100 0700") + service)
      let rest = try await probe.request(Wire.literal("10 0800 ffff 0028"))
      probe.expect("after the last one", rest, is: Wire.literal("01 10 0800 0a"))
    }

    Case(
      "ATT-2/characteristics",
      "Read By Type finds Count and Data, in two rounds at MTU 23 and in one if the MTU allows",
      also: ["ATT-9", "ATT-1"]
    ) { probe, _ in
      try await probe.open()
      let countDeclaration = Wire.literal("0200 12 0300") + count
      let dataDeclaration = Wire.literal("0500 18 0600") + data
      let first = try await probe.request(Wire.literal("08 0100 0700 0328"))
      probe.expect("the first round", first, is: [0x09, 21] + countDeclaration)
      let second = try await probe.request(Wire.literal("08 0300 0700 0328"))
      probe.expect("the second round", second, is: [0x09, 21] + dataDeclaration)
      let end = try await probe.request(Wire.literal("08 0600 0700 0328"))
      probe.expect("after the last one", end, is: Wire.literal("01 08 0600 0a"))
      guard probe.session.peerMTU >= 44 else { return }
      try await probe.request(Wire.literal("02 0502"))
      let both = try await probe.request(Wire.literal("08 0100 0700 0328"))
      probe.expect("both at MTU 517", both, is: [0x09, 21] + countDeclaration + dataDeclaration)
    }

    Case(
      "ATT-2/descriptors", "Find Information finds the CCCDs and returns entries of one size", also: ["ATT-9"]
    ) { probe, _ in
      try await probe.open()
      for handle in [4, 7] as [UInt8] {
        let found = try await probe.request([0x04, handle, 0, handle, 0])
        probe.expect("descriptor \(handle)", found, is: [0x05, 1, handle, 0, 0x02, 0x29])
      }
      // 1 and 2 have short types, 3 a long one: the answer ends before it, whether it would fit or
      // not.
      for mtu in [23, 517] as [UInt16] {
        try await probe.request([0x02] + Wire.u16(mtu))
        let short = try await probe.request(Wire.literal("04 0100 ffff"))
        probe.expect("from 1 on at MTU \(mtu)", short, is: Wire.literal("05 01 0100 0028 0200 0328"))
        try await probe.open()
      }
      let long = try await probe.request(Wire.literal("04 0300 ffff"))
      probe.expect("from 3 on", long, is: Wire.literal("05 02 0300") + count)
    }

    Case("ATT-4/profile-hash", "PROFILE_HASH is that of the table", also: ["ATT-2"], needs: [.session]) {
      probe, _ in
      try await probe.open()
      guard let hash = probe.session.announced.number(of: 0x12) else {
        throw CaseEnd.skip("the device announces no PROFILE_HASH")
      }
      let handle = { (listed: UInt16) in Wire.u16(probe.handles.device(listed)) }
      let characteristic = { (listed: UInt16, properties: UInt8, uuid: [UInt8]) in
        handle(listed) + [0x03, 0x28, properties] + handle(listed + 1) + uuid
      }
      let covered: [UInt8] =
        handle(1) + [0x00, 0x28] + service + characteristic(2, 0x12, count) + handle(4) + [0x02, 0x29]
        + characteristic(5, 0x18, data) + handle(7) + [0x02, 0x29]
      // Python: zlib.crc32 over the attributes as ATT-4 lists them.
      let known: UInt32? = probe.handles.first == 1 ? 0x7D92_E27D : nil
      probe.expect("PROFILE_HASH", hash, is: UInt64(known ?? Wire.crc(covered)))
    }

    Case("ATT-9/find-by-type-value", "Find By Type Value finds the service by its UUID", isOfServer: true) {
      probe, _ in
      try await probe.open()
      let found = try await probe.request(Wire.literal("06 0100 ffff 0028") + service)
      probe.expect("the service", found, is: Wire.literal("07 0100 0700"))
      let other = try await probe.request(Wire.literal("06 0100 ffff 0028") + count)
      probe.expect("another UUID", other, is: Wire.literal("01 06 0100 0a"))
    }

    Case(
      "ATT-9/discovery-errors", "Start 0, start above end, no match and another group type are errors",
      also: ["ATT-5"], isOfServer: true
    ) { probe, _ in
      try await probe.open()
      let vectors: [(String, String)] = [
        ("04 0000 ffff", "01 04 0000 01"), ("04 0500 0400", "01 04 0500 01"),
        ("04 0800 ffff", "01 04 0800 0a"),
        ("06 0000 ffff 0028 00", "01 06 0000 01"), ("06 0300 0200 0028 00", "01 06 0300 01"),
        ("08 0000 ffff 0328", "01 08 0000 01"), ("08 0700 0100 0328", "01 08 0700 01"),
        ("08 0100 ffff 0128", "01 08 0100 0a"), ("08 0300 0400 0328", "01 08 0300 0a"),
        ("10 0200 0700 0028", "01 10 0200 0a"), ("06 0500 0600 0229 0000", "01 06 0500 0a"),
        ("10 0000 ffff 0028", "01 10 0000 01"),
        ("10 0200 0100 0028", "01 10 0200 01"), ("10 0000 ffff 0328", "01 10 0000 01"),
        ("10 0200 0100 0328", "01 10 0200 01"), ("10 0100 ffff 0328", "01 10 0100 10"),
        ("10 0100 ffff 0128", "01 10 0100 10"), ("10 0300 ffff 0328", "01 10 0300 10"),
      ]
      for (pdu, expected) in vectors {
        let reply = try await probe.request(Wire.literal(pdu))
        probe.expect("the answer to \(pdu)", reply, is: Wire.literal(expected))
      }
    }

    Case("ATT-9/last-handle", "A search finds nothing beyond its last handle", isOfServer: true) { probe, _ in
      try await probe.openWide()
      let vectors: [(String, String)] = [
        ("06 0100 0400 0229 0000", "07 0400 0400"), ("06 0100 0600 0229 0000", "07 0400 0400"),
        ("08 0100 0400 0229", "09 04 0400 0000"), ("08 0500 0700 0229", "09 04 0700 0000"),
        ("08 0200 0200 0328", "09 15 0200 12 0300"), ("08 0100 0400 0328", "09 15 0200 12 0300"),
        ("10 0100 0100 0028", "11 14 0100 0700"), ("10 0100 0300 0028", "11 14 0100 0700"),
      ]
      for (request, answer) in vectors {
        let found = try await probe.request(Wire.literal(request))
        // The length of an entry, if there is one, is that of the only entry.
        let answer = Wire.literal(answer)
        probe.expect("the answer to [\(request)]", Array(found.prefix(answer.count)), is: answer)
        let length = answer[0] == 0x07 ? answer.count : 2 + Int(answer[1])
        probe.expect("the length of the answer to [\(request)]", found.count, is: length)
      }
      for (range, error) in [("0100 ffff", "0100 10"), ("0000 ffff", "0000 01"), ("0300 0200", "0300 01")] {
        let groups = try await probe.request(Wire.literal("10" + range) + count)
        probe.expect("groups of another long type", groups, is: Wire.literal("01 10" + error))
      }
    }

    Case(
      "ATT-9/read-by-type-of-values", "Read By Type reads Count by its UUID; of Data it is error 0x02"
    ) { probe, _ in
      try await probe.open()
      let stored = try await probe.readCount()
      let found = try await probe.request(Wire.literal("08 0100 ffff") + count)
      probe.expect("Count by UUID", found, is: Wire.literal("09 04 0300") + Wire.u16(UInt16(stored)))
      let refused = try await probe.request(Wire.literal("08 0100 ffff") + data)
      probe.expect("Data by UUID", refused, is: Wire.literal("01 08 0600 02"))
      let cccds = try await probe.request(Wire.literal("08 0100 ffff 0229"))
      probe.expect("both CCCDs", cccds, is: Wire.literal("09 04 0400 0000 0700 0000"))
    }

    Case(
      "ATT-8/exchange-mtu", "Exchange MTU returns the server's MTU; a second one gets the same answer"
    ) { probe, _ in
      try await probe.open()
      let expected = [0x03] + Wire.u16(UInt16(probe.session.peerMTU))
      let first = try await probe.request(Wire.literal("02 b900"))
      probe.expect("the answer to the first one", first, is: expected)
      try await probe.ofServer {
        for pdu in ["02 b900", "02 0502", "02 0000"] {
          let reply = try await probe.request(Wire.literal(pdu))
          probe.expect("the answer to \(pdu)", reply, is: expected)
        }
        guard probe.session.peerMTU >= 44 else { return }
        // The last one, of 0, would make it 23: two declarations fit in 44 only.
        let both = try await probe.request(Wire.literal("08 0100 0700 0328"))
        probe.expect("length of an answer at the first MTU", both.count, is: 44)
      }
    }

    Case(
      "ATT-8/smaller-of-both", "The smaller MTU of the two applies, but at least 23", also: ["ATT-9"]
    ) { probe, _ in
      try await probe.open()
      guard probe.session.peerMTU >= 44 else {
        throw CaseEnd.skip("the device's MTU is \(probe.session.peerMTU)")
      }
      // Each declaration takes 21 bytes: one fits below 44, two from 44 on.
      for (mtu, length) in [(5, 23), (23, 23), (43, 23), (44, 44)] as [(UInt16, Int)] {
        try await probe.open()
        let expectLength = { (limit: UInt16) in
          try await probe.request([0x02] + Wire.u16(limit))
          let reply = try await probe.request(Wire.literal("08 0100 0700 0328"))
          probe.expect(
            "length of the characteristics at MTU \(mtu), after an exchange of \(limit)", reply.count,
            is: length)
        }
        try await expectLength(mtu)
        // The second one changes nothing.
        try await probe.ofServer { try await expectLength(517) }
      }
    }

    Case(
      "ATT-10/read-and-blob", "Read returns as much as fits, Read Blob continues from an offset up to the end"
    ) { probe, _ in
      try await probe.open()
      let stored = Wire.u16(UInt16(try await probe.readCount()))
      let vectors: [(String, [UInt8])] = [
        ("0a 0100", [0x0B] + service), ("0a 0200", Wire.literal("0b 12 0300") + count),
        ("0c 0200 0300", [0x0D] + count), ("0c 0200 1300", [0x0D]),
        ("0c 0200 1400", Wire.literal("01 0c 0200 07")),
        ("0a 0300", [0x0B] + stored), ("0c 0300 0100", [0x0D, stored[1]]), ("0c 0300 0200", [0x0D]),
        ("0c 0300 0300", Wire.literal("01 0c 0300 07")), ("0a 0400", Wire.literal("0b 0000")),
        ("0c 0400 0200", [0x0D]),
      ]
      for isBlob in [false, true] {
        for (pdu, expected) in vectors where pdu.hasPrefix("0c") == isBlob {
          let expectAnswer = {
            let reply = try await probe.request(Wire.literal(pdu))
            probe.expect("the answer to \(pdu)", reply, is: expected)
          }
          if isBlob { try await probe.ofServer(expectAnswer) } else { try await expectAnswer() }
        }
      }
    }

    Case(
      "ATT-11/permissions",
      "Unknown handles, reading Data, and writes that are not permitted get the right errors", also: ["ATT-5"]
    ) { probe, _ in
      try await probe.open()
      let vectors: [(String, String)] = [
        ("0a 0000", "01 0a 0000 01"), ("0a ffff", "01 0a ffff 01"),
        ("0c 7777 0000", "01 0c 7777 01"), ("12 7777 00", "01 12 7777 01"),
        ("16 7777 0000 00", "01 16 7777 01"),
        ("0a 0600", "01 0a 0600 02"), ("0c 0600 0000", "01 0c 0600 02"), ("12 0300 0000", "01 12 0300 03"),
        ("12 0100 00", "01 12 0100 03"), ("12 0200 00", "01 12 0200 03"), ("12 0500 00", "01 12 0500 03"),
        ("16 0300 0000 00", "01 16 0300 03"), ("16 0100 0000 00", "01 16 0100 03"),
      ]
      for (pdu, expected) in vectors {
        let reply = try await probe.request(Wire.literal(pdu))
        probe.expect("the answer to \(pdu)", reply, is: Wire.literal(expected))
      }
      // A stack can have other services there.
      try await probe.ofServer {
        let reply = try await probe.request(Wire.literal("0a 0800"))
        probe.expect("the answer behind the table", reply, is: Wire.literal("01 0a 0800 01"))
      }
      // The low byte alone would be a handle.
      for handle in 1...7 as ClosedRange<UInt8> {
        for high in [1, 0x80] as [UInt8] {
          let tails: [(UInt8, [UInt8])] = [
            (0x0A, []), (0x0C, [0, 0]), (0x12, [0, 0]), (0x16, [0, 0, 0, 0]),
          ]
          for (opcode, tail) in tails {
            let reply = try await probe.request([opcode, handle, high] + tail)
            probe.expect(
              "the answer to \(Wire.hex([opcode, handle, high]))", reply, is: [1, opcode, handle, high, 1])
          }
        }
      }
    }

    Case("ATT-12/cccd", "A CCCD accepts 2 bytes and bit 0, and reads back as written") { probe, _ in
      try await probe.open()
      for handle in [4, 7] as [UInt8] {
        let expectAnswers = { (vectors: [([UInt8], [UInt8])]) in
          for (pdu, expected) in vectors {
            let reply = try await probe.request(pdu)
            probe.expect("the answer to \(Wire.hex(pdu))", reply, is: expected)
          }
        }
        try await expectAnswers([
          ([0x0A, handle, 0], [0x0B, 0, 0]), ([0x12, handle, 0, 1, 0], [0x13]),
          ([0x0A, handle, 0], [0x0B, 1, 0]),
        ])
        try await probe.ofServer {
          try await expectAnswers([
            ([0x12, handle, 0, 2, 0], [0x01, 0x12, handle, 0, 0xFD]),
            ([0x12, handle, 0, 0, 1], [0x01, 0x12, handle, 0, 0xFD]),
            ([0x12, handle, 0, 1], [0x01, 0x12, handle, 0, 0x0D]),
            ([0x12, handle, 0], [0x01, 0x12, handle, 0, 0x0D]),
            ([0x12, handle, 0, 0, 0, 0], [0x01, 0x12, handle, 0, 0x0D]), ([0x0A, handle, 0], [0x0B, 1, 0]),
          ])
        }
        try await expectAnswers([([0x12, handle, 0, 0, 0], [0x13]), ([0x0A, handle, 0], [0x0B, 0, 0])])
      }
    }

    Case(
      "ATT-3/new-session", "MTU, CCCDs and the prepare queue end with the bearer, the store does not",
      also: ["NTF-12", "LNK-23"], needs: [.strict]
    ) { probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      let before = try await probe.readCount()
      try await probe.request(Wire.literal("12 0400 0100"))
      try await probe.request(Wire.literal("12 0700 0100"))
      try await probe.writeData(Sample.json("stays"))
      try await probe.prepare(Sample.json("goes"))
      try await probe.open()
      for handle in [4, 7] as [UInt8] {
        let value = try await probe.request([0x0A, handle, 0])
        probe.expect("CCCD \(handle) on the new bearer", value, is: [0x0B, 0, 0])
      }
      let execute = try await probe.request(Wire.literal("18 01"))
      probe.expect("Execute on the new bearer", execute, is: [0x19])
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before + 1)
      let first = try await probe.request(Wire.literal("08 0100 0700 0328"))
      probe.expect("length of an answer at MTU 23", first.count, is: 23)
    }
  }

  /// The service and the two characteristics, least significant byte first (ATT-1).
  package static let service = Wire.literal("4b9131c3c9c5cc8f9e45b51f01c2af4f")
  package static let count = Wire.literal("a8261b3607eaf5b78846e1363e48b5be")
  package static let data = Wire.literal("7ee87b5d2e7a3dbf3a41f7d8e3d5951c")
}

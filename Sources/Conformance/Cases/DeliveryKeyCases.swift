import NotibotProtocol
import SuiteWire

/// The optional keys, and when they are in use.
extension Suite {
  static let delivery = chapter(.delivery) {
    Case(
      "NTF-20/values-taken", "Every optional key is accepted at both ends of its range, in any order",
      also: ["NTF-23"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source)
      let letters = { (count: Int) in String(repeating: "x", count: count) }
      let members = [
        ",\"rev\":0", ",\"rev\":65535", ",\"ev\":\"a\"", ",\"ev\":\"m\"", ",\"ev\":\"\\u0061\"",
        ",\"ev\":\"\\u006d\"", ",\"lvl\":0", ",\"lvl\":3",
        ",\"cat\":0",
        ",\"cat\":255", ",\"grp\":\"\"", ",\"grp\":\"\(letters(16))\"", ",\"grp\":\"\\u00e9\(letters(14))\"",
        ",\"act\":[]", ",\"act\":[\"\(letters(24))\",\"\",\"\\\"\\ud83d\\ude00\",\"d\"]",
        ",\"act\" : [ \"a\" , \"b\" ] ",
        ",\"exp\":4294967295", ",\"fl\":0", ",\"fl\":255", ",\"src\":\(source)",
        ",\"x\":null,\"levels\":[[1]]",
      ]
      try await probe.requireStoreRoom(members.count + 1)
      let before = try await probe.readCount()
      var held: [Holding] = []
      for (index, more) in members.enumerated() {
        let json = Sample.json(id: UInt32(index + 1), more: more)
        try await probe.expectWritten(json, more)
        held.append(Holding(UInt32(index + 1), json))
      }
      let last = Array(
        "{\"ev\":\"a\",\"id\":4294967295,\"text\":\"\",\"lvl\":2,\"timestamp\":0,\"app\":\"\",\"title\":\"\"}"
          .utf8)
      try await probe.expectWritten(last, "the last id, before the four keys")
      held.append(Holding(.max, last))
      try await probe.expectWritten(
        Sample.json(id: 1, more: ",\"ev\":\"\\u0072\""), "a removal with an escape")
      held.removeFirst()
      try await probe.expectHeld(held, of: source, highest: .max)
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before + held.count)
    }

    Case(
      "NTF-20/values-refused", "A value with another type or out of its range is refused with 0x80",
      also: ["NTF-4", "NTF-23"], needs: [.strict]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source)
      let before = try await probe.readCount()
      let numbers = [
        "\"1\"", "null", "true", "[1]", "{}", "-1", "-0", "1.0", "1e0", "01", "99999999999999999999",
        // 1 more than 2 to the power of 32, 64 and 128.
        "4294967297", "18446744073709551617", "340282366920938463463374607431768211457",
      ]
      let ranges = [
        ("rev", "65536"), ("rev", "65537"), ("lvl", "4"), ("lvl", "257"), ("cat", "256"), ("cat", "257"),
        ("exp", "4294967296"), ("fl", "256"), ("fl", "257"),
        ("src", "4294967296"),
        ("src", "0"), ("id", "0"), ("id", "4294967296"),
      ]
      var inputs: [[UInt8]] = ranges.map { key, value in
        key == "id"
          ? Array(Sample.text("x").dropLast().utf8) + Array(",\"id\":\(value)}".utf8)
          : Sample.json(id: 1, more: ",\"\(key)\":\(value)")
      }
      for key in ["rev", "lvl", "cat", "exp", "fl", "src"] {
        for value in numbers { inputs.append(Sample.json(id: 1, more: ",\"\(key)\":\(value)")) }
      }
      for value in numbers { inputs.append(Array("\(Sample.text("x").dropLast()),\"id\":\(value)}".utf8)) }
      let others = [
        "\"ev\":1", "\"ev\":\"\"", "\"ev\":\"A\"", "\"ev\":\"x\"", "\"ev\":\"\\u0041\"",
        "\"ev\":\"\\u0072x\"",
        "\"ev\":\"added\"", "\"ev\":null",
        "\"grp\":1",
        "\"grp\":null", "\"grp\":\"seventeen letters\"", "\"act\":\"a\"", "\"act\":{}", "\"act\":[1]",
        "\"act\":[null]",
        "\"act\":[\"a\",\"b\",\"c\",\"d\",\"e\"]", "\"act\":[\"twenty-five letters here.\"]",
        "\"act\":[[\"a\"]]",
        "\"act\":[\"a\",]", "\"id\":1",
      ]
      inputs += others.map { Sample.json(id: 1, more: ",\($0)") }
      for input in inputs {
        let reply = try await probe.writeData(input)
        probe.expect(
          "the answer to \(String(decoding: input.dropFirst(60), as: UTF8.self))", reply,
          is: Wire.literal("01 12 0600 80"))
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
      try await probe.expectHeld([], of: source, highest: 0, "after the refused ones")
    }

    Case(
      "NTF-20/without-id", "rev, src, and ev other than \"a\" are refused without id", needs: [.strict]
    ) { probe, _ in
      try await probe.openDelivery(source: probe.makeSource())
      let before = try await probe.readCount()
      for member in ["\"rev\":0", "\"rev\":1", "\"src\":1", "\"ev\":\"m\"", "\"ev\":\"r\""] {
        let reply = try await probe.writeData(Array("\(Sample.text("x").dropLast()),\(member)}".utf8))
        probe.expect("the answer to \(member)", reply, is: Wire.literal("01 12 0600 80"))
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "NTF-20/details-without-identity",
      "The keys that need no id are accepted without one, and store a plain notification", also: ["NTF-32"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 2)
      let before = try await probe.readCount()
      let more =
        "\"ev\":\"a\",\"lvl\":3,\"cat\":6,\"grp\":\"g\",\"act\":[\"Yes\",\"No\"],\"exp\":4294967295,\"fl\":2"
      let json = Array("\(Sample.text("plain").dropLast()),\(more)}".utf8)
      try await probe.expectWritten(json)
      try await probe.expectWritten(json, "the same once more")
      let after = try await probe.readCount()
      probe.expect("Count after two writes", after, is: before + 2)
      try await probe.expectHeld([], of: source, highest: 0)
    }

    Case(
      "NTF-20/not-in-use",
      "If feature bit 1 is not in use, the keys are ignored: two writes of one id are two",
      also: ["NTF-5", "LNK-9"]
    ) { probe, _ in
      let source = probe.makeSource()
      // Bit 2 alone sets neither.
      for features in [0b0001, 0b0101] as [UInt32] {
        try await probe.openWide(
          Probe.synTLVs(nonce: probe.makeNonce(), features: features) + [.source(source)])
        try await probe.requireStoreRoom(4)
        let before = try await probe.readCount()
        for more in ["", "", ",\"rev\":\"?\",\"lvl\":9", ",\"ev\":\"r\",\"src\":0"] {
          try await probe.expectWritten(
            Sample.json(id: 1, more: more), "id 1\(more) with features \(features)")
        }
        let after = try await probe.readCount()
        probe.expect("Count after four writes with features \(features)", after, is: before + 4)
      }
    }

    Case(
      "NTF-30/not-in-use",
      "If feature bit 2 is not in use, SYNC is acknowledged and dropped; bit 2 needs bit 1",
      also: ["LNK-4", "LNK-9"]
    ) { probe, _ in
      let source = probe.makeSource()
      for features in [0b0001, 0b0011, 0b0101] as [UInt32] {
        try await probe.openWide(
          Probe.synTLVs(nonce: probe.makeNonce(), features: features) + [.source(source)])
        try await probe.sendData(Sync(source).bytes, channel: 0)
        let unsolicited = try await probe.listen()
        probe.expect("notifications after SYNC with features \(features)", unsolicited.items, is: [])
        let isLive = try await probe.isSessionLive()
        probe.expect(isLive, "the session ended")
      }
    }

    Case(
      "NTF-20/in-parts", "A notification with an identity can be sent in parts, and is applied as a whole",
      also: ["ATT-14", "NTF-32"]
    ) { probe, _ in
      let source = try await probe.beginDelivery(room: 1)
      let json = Sample.json(id: 3, "in parts")
      for round in 1...2 {
        let length = min(40, probe.session.mtu - 5)
        for offset in stride(from: 0, to: json.count, by: length) {
          let part = Array(json[offset..<min(offset + length, json.count)])
          try await probe.request([0x16, 6, 0] + Wire.u16(UInt16(offset)) + part)
        }
        let reply = try await probe.request(Wire.literal("18 01"))
        probe.expect("the answer to Execute \(round)", reply, is: [0x19])
      }
      try await probe.expectHeld([Holding(3, json)], of: source, highest: 3)
    }
  }
}

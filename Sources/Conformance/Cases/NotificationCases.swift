import NotibotProtocol
import SuiteWire

/// The four keys, the store and the count.
extension Suite {
  static let notifications = chapter(.notifications) {
    Case(
      "NTF-1/stored-and-counted",
      "A notification that is answered with success is stored: Count grows by one", also: ["NTF-10"]
    ) { probe, _ in
      try await probe.openForExpiring()
      try await probe.requireStoreRoom(3)
      let before = try await probe.readCount()
      for index in 1...3 {
        let reply = try await probe.writeData(probe.expiring(Sample.json("number \(index)")))
        probe.expect("the answer to write \(index)", reply, is: [0x13])
        let count = try await probe.readCount()
        probe.expect("Count after write \(index)", count, is: before + index)
      }
    }

    Case(
      "NTF-1/json-freedoms", "Keys in any order, white space wherever JSON allows it", also: ["NTF-4"]
    ) { _, bench in
      try await expectStored(
        bench,
        [
          "{\"timestamp\":0,\"text\":\"\",\"title\":\"\",\"app\":\"\"}",
          " \t\r\n{ \"app\" : \"a\" ,\r\n\"title\":\t\"b\",\"text\":\"c\",\"timestamp\": 1 } \n",
          "{\"\\u0061pp\":\"escaped key\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1}",
        ])
    }

    Case(
      "NTF-1/escapes-and-unicode",
      "Every escape of JSON, complete surrogate pairs and UTF-8 of every length are accepted", also: ["NTF-4"]
    ) { _, bench in
      try await expectStored(
        bench,
        [
          Sample.text("\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u00e9 \\u001F"),
          Sample.text("\\ud83d\\ude00 \\uD83D\\uDE00"),
          Sample.text("é € 😀 👨‍👩‍👧‍👦 🇩🇪 سلام \u{7F}"), Sample.text("\\uFFFF \u{FFFD}"),
        ])
    }

    Case(
      "NTF-3/length-limits",
      "app of 64 and title of 128 bytes are accepted, one more is refused, counted after unescaping",
      also: ["NTF-4"], needs: [.strict]
    ) { _, bench in
      let member = { (app: String, title: String) in
        "{\"app\":\"\(app)\",\"title\":\"\(title)\",\"text\":\"\",\"timestamp\":1}"
      }
      let x = { (length: Int) in String(repeating: "x", count: length) }
      let e = { (length: Int) in String(repeating: "\\u00e9", count: length) }
      try await expectStored(
        bench, [member(x(64), x(128)), member(e(32), e(32)), member("", "\u{1F600}" + x(124))])
      try await expectRefused(
        bench, [member(x(65), "t"), member("a", x(129)), member(e(32) + "x", "t"), member("a", "é" + x(127))])
    }

    Case(
      "NTF-5/other-keys", "Keys other than the four are ignored, whatever their values", needs: [.session]
    ) { _, bench in
      let base = "\"app\":\"a\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1"
      try await expectStored(
        bench,
        [
          "{\"x\":null,\(base),\"y\":[true,false,-1.5e+3,{\"app\":7}],\"z\":{}}",
          "{\"id\":5,\"rev\":1,\"ev\":\"a\",\(base)}",
          "{\"fl\":\"?\",\(base),\"exp\":-1}", "{\"\":0,\(base)}",
        ], withOptionalKeys: false)
    }

    Case(
      "NTF-2/timestamps", "0 to 4294967295 in plain digits, nothing else", also: ["NTF-4"], needs: [.strict]
    ) { _, bench in
      let stamped = { (value: String) in
        "{\"app\":\"a\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":\(value)}"
      }
      try await expectStored(bench, ["0", "1", "4294967295"].map(stamped))
      try await expectRefused(
        bench,
        [
          "4294967296", "-1", "-0", "1.0", "1.5", "1e3", "1E3", "01", "+1", "\"1\"", "true", "null", "[1]",
          "",
          "99999999999999999999999999", "0x10", "NaN", "1 2",
          // 1 more than 2 to the power of 32, 64 and 128.
          "4294967297", "18446744073709551617", "340282366920938463463374607431768211457",
        ].map(stamped))
    }

    Case(
      "NTF-4/not-json", "A value that is not one JSON object is refused with 0x80, and Count does not change",
      also: ["NTF-1"], needs: [.strict]
    ) { _, bench in
      let good = String(decoding: Sample.json("x"), as: UTF8.self)
      try await expectRefused(
        bench,
        [
          "", " ", "{", "}", "{}", "[]", "null", "1", "\"app\"", "[\(good)]", "\(good) x", "\(good)\(good)",
          "\(good),",
          "\(good)\u{0}", "\u{FEFF}\(good)", String(good.dropLast()), "{,\(good.dropFirst())",
          good.replacing(":", with: "="), good.replacing("\"", with: "'"), "\(good.dropLast()),}",
          "{\u{0C}\(good.dropFirst())", "\(good)\u{0B}", "\u{A0}\(good)", "//\n\(good)",
          good.replacing("1234567890", with: "tru"),
          // A line break, which is blank between tokens, ends no string.
          "{\"app\":\"a\n,\"title\":\"b\",\"text\":\"c\",\"timestamp\":1}",
        ])
    }

    Case(
      "NTF-4/hostile-text", "Invalid UTF-8, half surrogate pairs, U+0000 and bare controls are refused",
      needs: [.strict]
    ) { probe, _ in
      try await probe.openWide()
      let before = try await probe.readCount()
      let bytes: [[UInt8]] = [
        [0xFF], [0xC0, 0x80], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80],
        [0xF0, 0x80, 0x80, 0x80],
        [0x00], [0x01], [0x0A], [0x1F], [0x09],
      ]
      let escapes = [
        "\\ud800", "\\udc00", "\\ud83d\\u0041", "\\ude00\\ud83d", "\\ud83d\\ud83d", "\\u0000", "\\x41",
        "\\u12",
        "\\u12g4", "\\", "\\ud83dx",
      ]
      for value in bytes + escapes.map({ Array($0.utf8) }) {
        let json =
          Array("{\"app\":\"a\",\"title\":\"b\",\"text\":\"".utf8) + value + Array("\",\"timestamp\":1}".utf8)
        let reply = try await probe.writeData(json)
        probe.expect("the answer to text [\(Wire.hex(value))]", reply, is: Wire.literal("01 12 0600 80"))
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "NTF-4/depth", "8 levels of nesting are accepted, 9 are refused, hundreds as well", needs: [.strict]
    ) { _, bench in
      let nested = { (open: String, close: String, levels: Int) in
        let value = String(repeating: open, count: levels) + "1" + String(repeating: close, count: levels)
        return "{\"x\":\(value),\"app\":\"a\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1}"
      }
      // The object around them is a level, too.
      try await expectStored(bench, [nested("[", "]", 7), nested("{\"k\":", "}", 7)])
      try await expectRefused(
        bench,
        [
          nested("[", "]", 8), nested("{\"k\":", "}", 8), nested("[", "]", 200),
          String(repeating: "[", count: 512),
          String(repeating: "{\"a\":", count: 102),
        ])
    }

    Case(
      "NTF-4/duplicate-keys",
      "A duplicate key in the top object is refused, one of the four or not, escaped or not", needs: [.strict]
    ) { _, bench in
      let base = "\"app\":\"a\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1"
      try await expectRefused(
        bench,
        [
          "{\(base),\"app\":\"a\"}", "{\(base),\"timestamp\":2}", "{\(base),\"x\":1,\"x\":1}",
          "{\(base),\"\\u0061pp\":\"a\"}",
        ])
      // Deeper levels are not checked.
      try await expectStored(bench, ["{\(base),\"x\":{\"y\":1,\"y\":2}}"])
    }

    Case(
      "NTF-4/missing-or-mistyped", "Each of the four keys must be there with its type", needs: [.strict]
    ) { _, bench in
      let members = [("app", "\"a\""), ("title", "\"b\""), ("text", "\"c\""), ("timestamp", "1")]
      let object = { (members: [(String, String)]) in
        "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
      }
      var inputs: [String] = []
      for index in members.indices {
        var others = members
        others.remove(at: index)
        inputs.append(object(others))
        for value in ["null", "[]", "{}", "true", index == 3 ? "\"1\"" : "1"] {
          var changed = members
          changed[index].1 = value
          inputs.append(object(changed))
        }
        var renamed = members
        renamed[index].0 = renamed[index].0.uppercased()
        inputs.append(object(renamed))
      }
      try await expectRefused(bench, inputs)
    }

    Case(
      "NTF-4/in-parts", "A bad notification written in parts is refused at Execute", also: ["ATT-14"],
      needs: [.strict]
    ) { probe, _ in
      try await probe.openWide()
      let before = try await probe.readCount()
      let json = Array("{\"app\":\"no more than this\"}".utf8)
      try await probe.request(Wire.literal("16 0600 0000") + json.prefix(10))
      try await probe.request(Wire.literal("16 0600 0a00") + json.dropFirst(10))
      let reply = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer to Execute", reply, is: Wire.literal("01 18 0600 80"))
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }
  }

  /// Writes each text and notes a finding unless it was stored.
  private static func expectStored(
    _ bench: Bench, _ inputs: [String], withOptionalKeys: Bool = true
  ) async throws {
    let probe = bench.probe
    if withOptionalKeys { try await probe.openForExpiring() } else { try await probe.openWide() }
    try await probe.requireStoreRoom(inputs.count)
    let before = try await probe.readCount()
    for input in inputs {
      let value = Array(input.utf8)
      let reply = try await probe.writeData(withOptionalKeys ? probe.expiring(value) : value)
      probe.expect("the answer to \(input)", reply, is: [0x13])
    }
    let after = try await probe.readCount()
    probe.expect("Count after \(inputs.count) writes", after, is: before + inputs.count)
  }

  /// Writes each text and notes a finding unless it was refused with 0x80 and not stored.
  private static func expectRefused(_ bench: Bench, _ inputs: [String]) async throws {
    let probe = bench.probe
    try await probe.openWide()
    let before = try await probe.readCount()
    for input in inputs {
      let reply = try await probe.writeData(Array(input.utf8))
      probe.expect("the answer to \(input.prefix(80))", reply, is: Wire.literal("01 12 0600 80"))
    }
    let after = try await probe.readCount()
    probe.expect("Count after the refused ones", after, is: before)
  }
}

import NotibotProtocol

/// JSON by table: everything outside of strings. Source: RFC 8259.
extension Suite {
  static let jsonGrammar = chapter(.notifications) {
    Case(
      "NTF-4/numbers", "Every form of number in RFC 8259 is accepted under another key, and no other form",
      also: ["NTF-5"], needs: [.strict]
    ) { probe, _ in
      let good = [
        "0", "-0", "1", "-1", "9", "10", "19", "90", "1234567890", "-987654321", "0.0", "-0.0", "0.5", "1.5",
        "-1.05", "1.0123456789", "0e0", "0E0", "-0e0", "1e5", "1E5", "1e+5", "1e-5", "1E+5", "1E-5", "1e0",
        "1e00",
        "1e05", "9e9", "1e1234567890", "0.1e1", "1.0E-10", "-1.50e+09", "0.0e0", "1e400", "-1E-400",
        "100000000000000000000000000000000000000000",
      ]
      let bad = [
        "-", "+", "+0", "+1", "--1", "-+1", "+-1", "00", "01", "-00", "-01", "00.5", "01e1", ".", ".5", "-.5",
        "1.",
        "-1.", "0.", "1.e5", "1.E5", ".e1", "1..5", "1.5.", "1.2.3", "1.-5", "1.+5", "e", "e5", "-e5", "1e",
        "1E",
        "1e+", "1e-", "1E+", "1e.5", "1e5.", "1e5.5", "1ee5", "1eE5", "1e+-5", "1e++5", "1e5e5", "1e 5",
        "1 e5",
        "- 1", "1 .5", "1. 5", "1-", "1+", "1+1", "1 2", "0x10", "0b1", "1_0", "1f", "1.5f", "1L", "1n", "a",
        "-a",
        "NaN", "-NaN", "Infinity", "-Infinity", "inf", "1/", "1:", "-/", "-:", "0/", "0:", "1./", "1.:",
        "1.5/",
        "1.5:", "1e/", "1e:", "1e+/", "1e-:", "1e5/", "1e5:", "0/1", "１",
      ]
      var table = GrammarTable()
      // Each followed by a comma, a brace, a bracket and a space.
      table.accepted = GrammarTable.packed(
        good.map { Array("\($0),{\"k\":\($0)},[\($0)],\($0) ".utf8) }, separator: ","
      ) { GrammarTable.value("[".utf8 + $0 + "]".utf8) }
      for number in bad {
        table.refused += [GrammarTable.value(number), GrammarTable.value("[\(number)]")]
      }
      table.refused.append(GrammarTable.value(""))
      try await probe.expect(table)
    }

    Case(
      "NTF-4/words", "true, false and null are checked letter by letter", also: ["NTF-5"], needs: [.strict]
    ) { probe, _ in
      var table = GrammarTable()
      table.accepted = [
        GrammarTable.value("[true,false,null,{\"k\":true,\"l\":false,\"m\":null},[null],true , false ]")
      ]
      for word in ["true", "false", "null"] {
        let letters = Array(word.utf8)
        var bad = [
          word.uppercased(), word + word, "\(word)x", "\(word)0", "\(word) \(word)", "-\(word)", "'\(word)'",
        ]
        .map { Array($0.utf8) }
        for index in letters.indices {
          // Cut short, one letter changed, one missing, one capital, and a space inside.
          if index > 0 { bad.append(Array(letters[..<index])) }
          for change in [letters[index] + 1, letters[index] - 32, 0x20, 0x78] {
            var changed = letters
            changed[index] = change
            bad.append(changed)
          }
          var shorter = letters
          shorter.remove(at: index)
          if shorter != letters { bad.append(shorter) }
        }
        for value in bad {
          table.refused += [GrammarTable.value(value), GrammarTable.value([0x5B] + value + [0x5D])]
        }
      }
      try await probe.expect(table)
    }

    Case(
      "NTF-4/structure", "Nested arrays and objects are accepted with commas and colons in their places only",
      also: ["NTF-5"], needs: [.strict]
    ) { probe, _ in
      let good = [
        "[]", "{}", "[[]]", "[{}]", "{\"a\":[]}", "{\"a\":{}}", "[{\"a\":1},[1]]", "[[1],{\"a\":1}]",
        "[{},[]]",
        "[[],{}]",
        "[[1],2]", "[{\"a\":1},2]", "[1,[2],3]", "{\"a\":[1],\"b\":2}", "{\"a\":{\"b\":1},\"c\":[1]}",
        "{\"a\":[1],\"b\":{\"c\":2}}", "{\"a\":[{\"b\":[1]},[{\"c\":2}]],\"d\":[[]]}",
        "[[[1],{\"a\":1}],[{\"a\":1},[1]]]",
        "{\"a\":[[1,2],[3]],\"b\":[{\"c\":1},{\"d\":2}]}", "[\"a\",1,true,null,{\"a\":\"b\"}]",
        "{\"a\":1,\"a\":2}", "\"\"",
      ]
      let bad = [
        "[", "]", "{", "}", "[}", "{]", "[1}", "{\"a\":1]", "[1", "{\"a\":1", "[1]]", "{\"a\":1}}", "[[1}",
        "[{\"a\":1]",
        "{\"a\":[1}}", "{\"a\":{\"b\":1]}", "[{\"a\":1],1}", "[[1],2}", "{\"a\":[1],2]", "[1 2]", "[1,]",
        "[,1]", "[,]", "[1,,2]",
        "[1;2]", "[1:2]", "[\"a\":1]", "[[1][2]]", "[{}{}]", "[\"a\"\"b\"]", "{\"a\"}", "{\"a\":}", "{:1}",
        "{\"a\":1,}",
        "{,\"a\":1}", "{\"a\":1,", "{,\"a\":1", "[1,", "[,1", "{\"a\" 1}", "{\"a\",1}", "{\"a\"=1}",
        "{\"a\"::1}", "{\"a\":1 \"b\":2}",
        "{\"a\":1;\"b\":2}",
        "{\"a\":1,,\"b\":2}", "{\"a\":1:2}", "{\"a\":1,\"b\"}", "{\"a\":1,\"b\":}", "{\"a\":1,2}", "{1:2}",
        "{a:1}", "{'a':1}",
        "{null:1}", "{true:1}", "{[1]:2}", "{{}:1}", "{[]}", "{1}", "{\"a\":[1],\"b\"}",
        "[{\"a\":1},\"b\":2]",
        "{\"a\":{\"b\":1},2}", "'a'", "a", "undefined", "\"a", "a\"", "\"a\"\"b\"", "[\"a]", "\"a\" 1",
        "/**/1",
        "1/**/", "#", "<1>", "(1)",
        "\\\"a\\\"", "\\u0031", ",", ":", "1,", ",1", "1:2",
      ]
      var table = GrammarTable()
      table.accepted = GrammarTable.packed(good.map { Array($0.utf8) }, separator: ",") {
        GrammarTable.value("[".utf8 + $0 + "]".utf8)
      }
      // At the depth of the top object, too.
      table.accepted += GrammarTable.packed(
        good.enumerated().map { Array("\"k\($0)\":\($1)".utf8) }, separator: ","
      ) {
        GrammarTable.before($0)
      }
      for value in bad {
        table.refused += [
          GrammarTable.value(value), GrammarTable.value("[\(value)]"), GrammarTable.after("\"x\":\(value)"),
        ]
      }
      try await probe.expect(table)
    }

    Case(
      "NTF-4/mixed-depth",
      "8 levels of arrays and objects in any order are accepted, also in sequence, 9 are refused",
      needs: [.strict]
    ) { probe, _ in
      let nested = { (isObject: [Bool], inner: String) in
        isObject.reversed().reduce(inner) { $1 ? "{\"k\":\($0)}" : "[\($0)]" }
      }
      // The top object is the first level.
      let patterns = [0b1010101, 0b0101010, 0b1111000, 0b0001111, 0b1000000, 0b0000001, 0b1100110].map {
        bits in
        (0..<7).map { bits >> $0 & 1 == 1 }
      }
      var table = GrammarTable()
      for pattern in patterns {
        let deepest = nested(pattern, "1")
        table.accepted.append(GrammarTable.value("[\(nested(Array(pattern.dropFirst()), "1")),2]"))
        table.accepted.append(GrammarTable.before(Array("\"x\":\(deepest),\"y\":\(deepest)".utf8)))
        table.accepted.append(GrammarTable.value(nested(Array(pattern.dropLast()), pattern[6] ? "{}" : "[]")))
        for inner in ["[]", "{}", "[1]", "{\"k\":1}"] {
          table.refused.append(GrammarTable.value(nested(pattern, inner)))
        }
        table.refused.append(
          GrammarTable.before(Array("\"x\":\(deepest),\"y\":\(nested(pattern, "[]"))".utf8)))
      }
      table.refused.append(GrammarTable.value([UInt8](repeating: 0x5B, count: 400)))
      // 33 levels: if a level is a bit of a number, it would be the first one again.
      for levels in [15, 16, 17, 31, 32, 33, 63, 64, 65] {
        table.refused.append(GrammarTable.value(nested([Bool](repeating: false, count: levels), "1")))
        table.refused.append(GrammarTable.value(nested([Bool](repeating: true, count: min(levels, 60)), "1")))
      }
      try await probe.expect(table)
    }

    Case(
      "NTF-4/white-space",
      "Space, tab, line feed and carriage return are accepted between any two tokens, nothing else is",
      also: ["NTF-1"], needs: [.strict]
    ) { probe, _ in
      let tokens = [
        "{", "\"app\"", ":", "\"\"", ",", "\"title\"", ":", "\"\"", ",", "\"x\"", ":", "[", "1", ",", "{",
        "\"k\"", ":", "true",
        ",", "\"l\"", ":", "\"\"", "}", ",", "{", "}", ",", "[", "]", "]", ",", "\"text\"", ":", "\"\"", ",",
        "\"timestamp\"", ":",
        "0", "}",
      ]
      let spaced = { (space: [UInt8], places: Range<Int>) in
        tokens.enumerated().flatMap { index, token in
          (places.contains(index) ? space : []) + Array(token.utf8)
        }
          + (places.contains(tokens.count) ? space : [])
      }
      let everywhere = 0..<(tokens.count + 1)
      var table = GrammarTable()
      table.accepted = [[0x20], [0x09], [0x0A], [0x0D], [0x0D, 0x0A, 0x09, 0x20]].map {
        spaced($0, everywhere)
      }
      let others: [[UInt8]] = [
        [0x0B], [0x0C], [0x00], [0x08], [0x0E], [0x1F], [0x21], [0x7F], [0xA0], [0xC2, 0xA0], [0xC2, 0x85],
        [0xE2, 0x80, 0xA8], [0xEF, 0xBB, 0xBF],
      ]
      // Each once after white space, and one of them in each place.
      for other in others {
        table.refused += [
          spaced(other, everywhere), spaced([0x20] + other, 0..<1), other + spaced([], 0..<0),
        ]
        table.refused.append(spaced([0x20] + other, tokens.count..<(tokens.count + 1)))
      }
      for place in everywhere { table.refused.append(spaced([0x0C], place..<(place + 1))) }
      try await probe.expect(table)
    }

    Case(
      "NTF-4/cut-off", "A notification that is cut off anywhere, or has one additional byte, is refused",
      needs: [.strict]
    ) { probe, _ in
      let whole = Array(
        ("{\"x\":[-1.5e+3,true,{\"y\":null,\"z\":[]}],\"app\":\"\\u00e9\\n\",\"title\":\"\\ud83d\\ude00\",\"text\":\"€😀\","
          + "\"timestamp\":10}").utf8)
      var table = GrammarTable()
      table.accepted = [whole, whole + [0x20]]
      table.refused = whole.indices.map { Array(whole[..<$0]) }
      table.refused += whole.indices.dropFirst().map { Array(whole[$0...]) }
      table.refused += ["}", "{", "]", ",", "\"", "0", "{}", "\u{0}"].map { whole + Array($0.utf8) }
      table.refused += ["{", "[", ",", "\"", "0", "{}"].map { Array($0.utf8) + whole }
      // All required keys are there, and the part after them is cut off.
      let four = String(decoding: GrammarTable.fourKeys, as: UTF8.self)
      let longer = Array("{\(four),\"x\":[{\"a\":1},2],\"z\":\"a\"}".utf8)
      table.accepted.append(longer)
      table.refused += longer.indices.map { Array(longer[..<$0]) }
      // A string that is interrupted by its escape, followed by bytes that can follow a member.
      table.refused += ["x", "ev", "grp", "fl"].map { Array("{\(four),\"\($0)\":\"a\\x,\"y\":1}".utf8) }
      try await probe.expect(table)
    }

    Case(
      "NTF-5/similar-keys",
      "A key that only resembles one with a meaning is ignored, and an escaped one is the same key",
      also: ["NTF-4", "NTF-20"], needs: [.strict]
    ) { probe, _ in
      let keys = [
        "app", "title", "text", "timestamp", "id", "rev", "ev", "lvl", "cat", "grp", "act", "exp", "fl",
        "src",
      ]
      var members: [[UInt8]] = []
      for key in keys {
        let similar = [
          String(key.dropLast()), key + "x", key.prefix(1).uppercased() + key.dropFirst(), " " + key,
          key + " ",
          key + "\\u0001",
        ]
        members += similar.map { Array("\"\($0)\":[null]".utf8) }
      }
      // Nested, also twice, and as a string.
      for (index, key) in keys.enumerated() {
        members += [
          "\"x\(index)\":{\"\(key)\":[null]}", "\"y\(index)\":[{\"\(key)\":1,\"\(key)\":{\"\(key)\":2}}]",
          "\"z\(index)\":[\"\(key)\",\"\(key)\"]",
        ].map { Array($0.utf8) }
      }
      var table = GrammarTable()
      // In sequence, as each key is allowed once.
      table.accepted = GrammarTable.packed(members, separator: ",") { GrammarTable.before($0) }
      table.accepted.append(GrammarTable.before(Array(#""x":{"y":1},"y":[{"x":"x"}]"#.utf8)))
      for key in keys.prefix(4) {
        let escaped = "\\u00" + String(key.utf8.first ?? 0, radix: 16) + key.dropFirst()
        let others = String(decoding: GrammarTable.fourKeys, as: UTF8.self)
        table.accepted.append(Array("{\(others.replacing("\"\(key)\"", with: "\"\(escaped)\""))}".utf8))
        table.refused.append(Array("{\(others.replacing("\"\(key)\"", with: "\"\(key)x\""))}".utf8))
        table.refused.append(Array("{\(others.replacing("\"\(key)\"", with: "\"\(key.dropLast())\""))}".utf8))
      }
      try await probe.expect(table)
    }
  }
}

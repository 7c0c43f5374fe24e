import NotibotProtocol
import SuiteWire

/// JSON by table: strings. Sources: RFC 8259, RFC 3629.
extension Suite {
  static let jsonStrings =
    chapter(.notifications) {
      Case(
        "NTF-4/escapes",
        "Each escape is accepted with each digit, and no other byte after a backslash", also: ["NTF-6"],
        needs: [.strict]
      ) { probe, _ in
        let digits = Array("0123456789abcdefABCDEF")
        var good = ["\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"]
        for digit in digits {
          good += ["\\u\(digit)100", "\\u1\(digit)11", "\\u11\(digit)1", "\\u111\(digit)"]
        }
        good += (1...0x1F).map { escape($0) } + boundaries.map(escape)
        good += [
          "\\ud800\\udc00", "\\uDBFF\\uDFFF", "\\ud800\\uDFFF", "\\uDbFf\\uDc00", "\\ud7ff\\ue000", "\\uffff",
          "\\ufffe",
        ]
        var table = GrammarTable()
        table.accepted = GrammarTable.packed(good.map { Array($0.utf8) }) { GrammarTable.text($0) }
        for byte in 0x01...0x7F as ClosedRange<UInt8> where !"\"\\/bfnrtu".utf8.contains(byte) {
          table.refused.append(GrammarTable.text([0x5C, byte]))
        }
        table.refused += [[0x80], [0xC3, 0xA9], [0xFF], []].map { GrammarTable.text([0x5C] + $0) }
        for place in 0..<4 {
          for byte in "/:@G`g xX-+.\"\\,".utf8 {
            var unit = Array("\\u0041".utf8)
            unit[2 + place] = byte
            table.refused.append(GrammarTable.text(unit))
          }
          table.refused.append(GrammarTable.text("\\u0041".utf8.prefix(2 + place)))
        }
        let halves = [
          "\\ud800", "\\udbff", "\\udc00", "\\udfff", "\\ud800x", "\\ud800\\n", "\\ud800\\u0041",
          "\\ud800\\ud800",
          "\\udbff\\udbff", "\\ud800\\udbff", "\\ud800\\ue000", "\\udbff\\ue000", "\\udc00\\ud800",
          "\\udfff\\udbff", "\\ud800\\",
          "\\ud800\\u", "\\ud800\\udc0", "\\ud800\\udc0g", "\\ud800\\xdc00", "\\ud800udc00", "\\ud800/udc00",
          "\\ud800 \\udc00", "\\ud7ff\\udc00",
          "\\ue000\\udc00", "\\ud800\\u0000", "\\udc00\\udc00", "\\udfff\\udfff", "\\ud800\\tdc00",
          "\\ud800\\ndc00",
        ]
        table.refused += halves.map { GrammarTable.text($0.utf8) }
        try await probe.expect(table)
      }

      Case(
        "NTF-4/utf-8",
        "UTF-8 is accepted at every boundary of its table, and refused one beyond", needs: [.strict]
      ) { probe, _ in
        var good: [[UInt8]] = [[0x20], [0x21], [0x23], [0x5B], [0x5D], [0x7E], [0x7F]]
        var bad: [[UInt8]] = (0..<0x20 as Range<UInt8>).map { [$0] }
        for (lead, second, more) in forms {
          let rests: [[UInt8]] =
            more == 0 ? [[]] : more == 1 ? [[0x80], [0xBF]] : [[0x80, 0xBF], [0xBF, 0x80]]
          for first in [lead.lowerBound, lead.upperBound] {
            for next in [second.lowerBound, second.upperBound] { good += rests.map { [first, next] + $0 } }
            let sound = [first, second.lowerBound] + rests[0]
            for place in 1..<sound.count {
              let outside: [UInt8] =
                place == 1 ? [second.lowerBound - 1, second.upperBound + 1] : [0x7F, 0xC0]
              for byte in outside + [0x00, 0x41, 0xFF] {
                var changed = sound
                changed[place] = byte
                bad.append(changed)
              }
              bad.append(Array(sound[..<place]))
            }
            bad.append(sound + [0x80])
          }
        }
        for lead in Array(0x80...0xC1 as ClosedRange<UInt8>) + Array(0xF5...0xFF as ClosedRange<UInt8>) {
          for count in 0...3 { bad.append([lead] + [UInt8](repeating: 0x80, count: count)) }
        }
        bad += [
          [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xF0, 0x80, 0x80, 0xAF], [0xF8, 0x88, 0x80, 0x80, 0x80],
          [0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80],
        ]
        var table = GrammarTable()
        table.accepted = GrammarTable.packed(good) { GrammarTable.text($0) }
        table.accepted += GrammarTable.packed(good) { GrammarTable.before([0x22] + $0 + Array("\":0".utf8)) }
        table.refused = bad.map { GrammarTable.text($0) }
        // Also in values that are not used.
        for bytes in [[0xFF], [0xC3], [0x1F], [0xED, 0xA0, 0x80], [0xE2, 0x82]] as [[UInt8]] {
          let string = [0x22] + bytes + [0x22]
          table.refused += [GrammarTable.value(string), GrammarTable.before(string + Array(":1".utf8))]
          table.refused.append(GrammarTable.value(Array("[{".utf8) + string + Array(":[]}]".utf8)))
        }
        try await probe.expect(table)
      }

      Case(
        "NTF-4/equal-keys",
        "Two keys are the same if they are equal after unescaping, whatever their characters",
        needs: [.strict]
      ) { probe, _ in
        let short: [(String, UInt32)] = [
          ("\\\"", 0x22), ("\\\\", 0x5C), ("\\/", 0x2F), ("\\b", 8), ("\\f", 12), ("\\n", 10), ("\\r", 13),
          ("\\t", 9),
        ]
        let points =
          boundaries + [0x5A, 0xAA, 0x155, 0x2AA, 0x1555, 0x2AAA, 0x9ABC, 0xCDEF, 0x15555, 0x2AAAA, 0xFEDCB]
        var pairs: [([UInt8], [UInt8])] = []
        for point in points {
          let escaped = escape(point)
          if point != 0x01 { pairs.append((raw(point), Array(escaped.utf8))) }
          pairs.append((Array(escaped.utf8), Array(escaped.uppercased().replacing("\\U", with: "\\u").utf8)))
          pairs.append((Array("a\(escaped)b".utf8), Array("a\(escaped)b".utf8)))
        }
        for (letter, point) in short { pairs.append((Array(letter.utf8), Array(escape(point).utf8))) }
        pairs +=
          ["", "k", "key", "\\/"].map { (Array($0.utf8), Array($0.utf8)) } + [
            (Array("/".utf8), Array("\\/".utf8))
          ]
        let object = { (first: [UInt8], second: [UInt8]) in
          GrammarTable.before(
            [0x22] + first + Array("\":{\"y\":[1],\"\":0},\"\u{7F}other\":0,\"".utf8) + second
              + Array("\":0".utf8))
        }
        var table = GrammarTable()
        table.refused = pairs.map(object)
        table.refused += [("\\u0061pp"), ("t\\u0069tle"), ("tex\\u0074"), ("timestam\\u0070")].map {
          GrammarTable.before(Array("\"\($0)\":0".utf8))
        }
        // One bit apart, one longer, and one the beginning of the other: all of them once in an
        // object.
        var members: [[UInt8]] = []
        for point in points where point > 0x7F {
          for bit in [0, 6, 12] where point >> UInt32(bit) > 1 {
            let other = point ^ 1 << UInt32(bit)
            guard Unicode.Scalar(other) != nil, other > 0x7F else { continue }
            members.append([0x22] + raw(point) + Array("\":0,\"\(escape(other))\":0".utf8))
          }
        }
        table.accepted = members.map(GrammarTable.before)
        table.accepted.append(
          GrammarTable.before(Array("\"\":0,\"a\":0,\"aa\":0,\"ab\":0,\"b\":0,\"\\u0001\":0,\"A\":0".utf8)))
        table.accepted.append(
          GrammarTable.before(
            Array(
              "\"\\b\":0,\"b\":0,\"\\f\":0,\"f\":0,\"\\n\":0,\"n\":0,\"\\r\":0,\"r\":0,\"\\t\":0,\"t\":0,\"\\\\\":0,\"\\\"\":0,\"/\":0"
                .utf8)))
        try await probe.expect(table)
      }

      Case(
        "NTF-4/optional-key-twice",
        "An optional key twice is refused, escaped or not, whether or not the optional keys are in use",
        also: ["NTF-5", "NTF-20"], needs: [.strict]
      ) { probe, _ in
        let members = [
          ("id", "1"), ("src", "1"), ("rev", "0"), ("ev", "\"a\""), ("lvl", "1"), ("cat", "0"),
          ("grp", "\"g\""), ("act", "[\"a\"]"), ("exp", "4294967295"), ("fl", "0"),
        ]
        var table = GrammarTable()
        for (key, value) in members {
          // Without the second one it is a valid notification with an identity.
          let identity = ["id", "src"].filter { $0 != key }.map { "\"\($0)\":1," }.joined()
          let escaped = "\\u00" + String(key.utf8.first ?? 0, radix: 16) + key.dropFirst()
          table.refused += [key, escaped].map {
            GrammarTable.before(Array("\"\(key)\":\(value),\(identity)\"\($0)\":\(value)".utf8))
          }
        }
        // None of them is in use: they are ignored keys.
        try await probe.expect(table, features: 0b0001)
        // Each of them once; the table adds the identity.
        let once = members.dropFirst(3).map { "\"\($0)\":\($1)" }.joined(separator: ",")
        table.accepted = [GrammarTable.before(Array(once.utf8))]
        try await probe.expect(table)
      }

      Case(
        "NTF-3/lengths-by-character",
        "app and title are as long as the UTF-8 of their characters, escaped or not", needs: [.strict]
      ) { probe, _ in
        let notification = { (app: [UInt8], title: [UInt8]) in
          Array("{\"app\":\"".utf8) + app + Array("\",\"title\":\"".utf8) + title
            + Array("\",\"text\":\"\",\"timestamp\":0}".utf8)
        }
        var table = GrammarTable()
        for (bytes, length) in characters {
          let full = { (limit: Int) in bytes + bytes + [UInt8](repeating: 0x78, count: limit - 2 * length) }
          table.accepted.append(notification(full(64), full(128)))
          table.refused += [
            notification(full(65), []), notification([], full(129)), notification([0x78] + full(64), []),
          ]
        }
        try await probe.expect(table)
      }
    }
    + chapter(.delivery) {
      Case(
        "NTF-20/lengths-by-character",
        "grp and the labels of act are as long as the UTF-8 of their characters, escaped or not",
        also: ["NTF-4"], needs: [.strict]
      ) { probe, _ in
        try await probe.openDelivery(source: probe.makeSource())
        var table = GrammarTable()
        for (bytes, length) in characters {
          let full = { (limit: Int) in
            [0x22] + bytes + bytes + [UInt8](repeating: 0x78, count: limit - 2 * length) + [0x22]
          }
          let grp = { GrammarTable.before(Array("\"grp\":".utf8) + $0) }
          let act = { GrammarTable.before(Array("\"act\":[\"\",".utf8) + $0 + [0x5D]) }
          table.accepted += [grp(full(16)), act(full(24) + [0x2C] + full(24)), act(full(24))]
          table.refused += [grp(full(17)), act(full(25)), act(full(24) + [0x2C] + full(25))]
        }
        try await probe.expect(table)
      }
    }

  /// Code points at the boundaries of each length of UTF-8, and around the surrogates.
  private static let boundaries: [UInt32] = [
    0x01, 0x7F, 0x80, 0x7FF, 0x800, 0x20AC, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x1F600, 0x3FFFF, 0x40000,
    0x10FFFF,
  ]

  /// UTF-8 by RFC 3629's table: lead bytes, allowed second bytes, and the number of further bytes.
  private static let forms: [(lead: ClosedRange<UInt8>, second: ClosedRange<UInt8>, more: Int)] = [
    (0xC2...0xDF, 0x80...0xBF, 0), (0xE0...0xE0, 0xA0...0xBF, 1), (0xE1...0xEC, 0x80...0xBF, 1),
    (0xED...0xED, 0x80...0x9F, 1), (0xEE...0xEF, 0x80...0xBF, 1), (0xF0...0xF0, 0x90...0xBF, 2),
    (0xF1...0xF3, 0x80...0xBF, 2), (0xF4...0xF4, 0x80...0x8F, 2),
  ]

  /// The escape of a code point, as one or two units.
  private static func escape(_ point: UInt32) -> String {
    let unit = { (value: UInt32) in "\\u" + String(Wire.hexNumber(UInt64(value)).suffix(4)) }
    guard point > 0xFFFF else { return unit(point) }
    return unit(0xD800 + ((point - 0x10000) >> 10)) + unit(0xDC00 + ((point - 0x10000) & 0x3FF))
  }

  /// The code point in UTF-8.
  private static func raw(_ point: UInt32) -> [UInt8] {
    Unicode.Scalar(point).map { Array(String(Character($0)).utf8) } ?? []
  }

  /// A character, raw or escaped, and the number of bytes that it counts for.
  private static let characters: [(bytes: [UInt8], length: Int)] = {
    var characters: [(bytes: [UInt8], length: Int)] = []
    for point in boundaries {
      let length = raw(point).count
      if point != 0x01 { characters.append((raw(point), length)) }
      characters.append((Array(escape(point).utf8), length))
    }
    for letter in ["\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"] {
      characters.append((Array(letter.utf8), 1))
    }
    return characters
  }()
}

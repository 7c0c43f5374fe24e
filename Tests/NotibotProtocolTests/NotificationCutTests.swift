import NotibotProtocol
import Testing

/// Properties of the cut on random strings of characters that are easily torn.
struct NotificationCutTests {
  static let characters = [
    "a", "é", "e\u{301}", "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "🇩🇪", "سلام", "ی\u{200C}خ", "\r\n",
    "\"", "\\", "\n",
    "\u{1}", "👍🏽", "漢", "\u{1112}\u{1161}\u{11AB}", "1️⃣", " ", "🏴\u{E0067}\u{E0062}\u{E007F}",
  ]

  static func random(_ count: Int, using generator: inout SeededGenerator) -> String {
    (0..<count).map { _ in characters[Int.random(in: characters.indices, using: &generator)] }.joined()
  }

  @Test(arguments: [41, 42, 43, 44] as [UInt64])
  func `an encoded notification fits, is parsed back, and is cut at whole characters`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<1000 {
      let notification = DisplayNotification(
        app: Self.random(Int.random(in: 0...12, using: &generator), using: &generator),
        title: Self.random(Int.random(in: 0...30, using: &generator), using: &generator),
        text: Self.random(Int.random(in: 0...120, using: &generator), using: &generator),
        timestamp: UInt32.random(in: 0...UInt32.max, using: &generator))
      var json: [UInt8] = []
      let cut = notification.encode(into: &json)
      #expect(json.count <= 512, "seed \(seed) round \(round)")
      let read = try DisplayNotification(parsing: json)
      #expect((cut == .nothing) == (read == notification), "seed \(seed) round \(round)")
      #expect(read.timestamp == notification.timestamp)
      for (short, long) in [
        (read.app, notification.app), (read.title, notification.title), (read.text, notification.text),
      ] {
        #expect(Self.isWholeBeginning(short, of: long), "seed \(seed) round \(round): \(short) of \(long)")
      }
    }
  }

  /// Whether `short` is `long`, or "…" behind its first whole characters, as many as possible or
  /// not.
  static func isWholeBeginning(_ short: String, of long: String) -> Bool {
    if short.unicodeScalars.elementsEqual(long.unicodeScalars) { return true }
    guard short.hasSuffix("…") else { return false }
    let kept = Array(short.dropLast())
    return kept == Array(long.prefix(kept.count)) && kept.count < long.count
  }

  @Test func `a text is not cut more than necessary`() throws {
    let notification = DisplayNotification(
      app: "Messages", title: "Jane Doe", text: String(repeating: "x", count: 1000), timestamp: 1_234_567_890)
    #expect(notification.encoded().count == 512)
  }
}

struct TerminalTextTests {
  @Test(arguments: [
    ("plain", "plain"), ("a\tb\nc", "a\tb\nc"), ("a\r\nb", "a\nb"), ("100 %\rgone", #"100 %\x0Dgone"#),
    ("\u{1B}]52;c;AAAA\u{7}", #"\x1B]52;c;AAAA\x07"#), ("\u{7F}", #"\x7F"#), ("\u{9B}2J", #"\x9B2J"#),
    ("a\u{202E}b\u{2066}c", "a\u{FFFD}b\u{FFFD}c"), ("سلام 👨‍👩‍👧", "سلام 👨‍👩‍👧"), ("\0", #"\x00"#),
  ])
  func `terminal controls are escaped`(text: String, shown: String) {
    #expect(TerminalText.sanitised(text.utf8) == shown)
    #expect(TerminalText.exact(text.utf8).utf8.elementsEqual(text.utf8))
  }

  @Test(
    arguments: [
      ([0x80], #"\x80"#), ([0x61, 0xC3], #"a\xC3"#), ([0xC0, 0xAF], #"\xC0\xAF"#),
      ([0xED, 0xA0, 0x80], #"\xED\xA0\x80"#),
      ([0xFF, 0x62], #"\xFFb"#), ([0x0D], #"\x0D"#), ([0x0D, 0x0D, 0x0A], "\\x0D\n"),
    ] as [([UInt8], String)])
  func `invalid UTF-8 is escaped byte by byte`(bytes: [UInt8], shown: String) {
    #expect(TerminalText.sanitised(bytes) == shown)
  }

  @Test func `a character that is cut off is escaped, whatever comes before it`() {
    let bytes = Array("I (3) notibot: „سلام“ 👨‍👩‍👧\r\nGrüße\rx".utf8) + [0xE2, 0x82, 0x41, 0xF0, 0x9F]
    #expect(TerminalText.sanitised(bytes).hasSuffix(#"Grüße\x0Dx\xE2\x82A\xF0\x9F"#))
    #expect(TerminalText.exact(bytes).hasSuffix("\r\nGrüße\rx" + #"\xE2\x82A\xF0\x9F"#))
  }
}

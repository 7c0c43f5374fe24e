import Testing

@testable import NotibotProtocol

/// No output of a device controls a terminal, except colours if enabled.
struct VisibleTextTests {
  @Test(arguments: [
    ("\u{1B}[0;32mI (1) ok\u{1B}[0m", "I (1) ok", "\u{1B}[0;32mI (1) ok\u{1B}[0m\u{1B}[0m"),
    ("\u{1B}[2Jx", #"\x1B[2Jx"#, #"\x1B[2Jx"#),
    ("\u{1B}[31", #"\x1B[31"#, #"\x1B[31"#),
    ("\u{1B}[?25m", #"\x1B[?25m"#, #"\x1B[?25m"#),
    ("\u{1B}\u{1B}[1m[31mx", #"\x1B[31mx"#, "\\x1B\u{1B}[1m[31mx\u{1B}[0m"),
    (
      "\u{1B}[1111111111111111111111111m", #"\x1B[1111111111111111111111111m"#,
      #"\x1B[1111111111111111111111111m"#
    ),
    ("\u{1B}]52;c;eA==\u{7}", #"\x1B]52;c;eA==\x07"#, #"\x1B]52;c;eA==\x07"#),
    ("a\rb\u{8}\u{7F}", #"a\x0Db\x08\x7F"#, #"a\x0Db\x08\x7F"#),
    ("\u{9B}2J\u{85}", #"\x9B2J\x85"#, #"\x9B2J\x85"#),
    (
      "\u{202E}\u{2066}\u{200F}\u{FEFF}\u{2028}", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}",
      "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"
    ),
    ("tab\tä€😀", "tab\tä€😀", "tab\tä€😀"),
  ])
  func `controls are made visible, colours are removed or kept`(
    text: String, plain: String, colored: String
  ) {
    let visible = VisibleText(Array(text.utf8))
    #expect(visible.plain == plain)
    #expect(visible.colored == colored)
  }

  @Test func `for JSON only colours are removed`() {
    #expect(
      VisibleText(Array("\u{1B}[2J\u{1B}[31mx\u{1B}[0m\u{9B}\u{202E}\r\0".utf8)).exact
        == "\u{1B}[2Jx\u{9B}\u{202E}\r\0")
  }

  @Test func `invalid UTF-8 and newlines are made visible`() {
    #expect(VisibleText([0xFF, 0x41, 0xC3, 0x0A, 0x42]).plain == #"\xFFA\xC3\nB"#)
  }

  @Test func `no byte of 256, alone or in a sequence, controls a terminal`() {
    for byte in UInt8.min...UInt8.max {
      for sequence in [[byte], [0x1B, byte], [0x1B, 0x5B, byte], [0xC2, byte]] {
        let plain = VisibleText(sequence).plain
        #expect(!plain.unicodeScalars.contains { $0.value < 0x20 && $0 != "\t" || 0x7F...0x9F ~= $0.value })
      }
    }
  }
}

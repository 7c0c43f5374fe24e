import Testing

@testable import SerialLink

/// Text that the runner of a GitHub workflow would take for a command is escaped.
struct WorkflowTextTests {
  /// All characters that .NET's `Trim` removes or once removed, and invisible ones.
  static let skipped: [Unicode.Scalar] =
    [
      "\t", "\u{B}", "\u{C}", " ", "\u{85}", "\u{A0}", "\u{1680}", "\u{180E}", "\u{2028}", "\u{2029}",
      "\u{202F}", "\u{205F}", "\u{3000}", "\u{FEFF}", "\u{200B}", "\u{200D}", "\u{2060}", "\u{AD}", "\0",
    ] + (0x2000...0x200A).compactMap { Unicode.Scalar($0) }

  @Test(arguments: skipped)
  func `white space before it does not make a command`(scalar: Unicode.Scalar) {
    #expect(WorkflowText.line("\(scalar) \(scalar)::error::x") == "\(scalar) \(scalar):\\x3Aerror::x")
  }

  @Test(arguments: [
    ("::error::x", #":\x3Aerror::x"#), ("a\n::b", "a\n:\\x3Ab"), ("a\r::b", "a\r:\\x3Ab"),
    ("a ##[error]b", #"a ##\x5Berror]b"#), ("###[x", #"###\x5Bx"#),
    ("#\u{200B}#\u{200B}[x", "#\u{200B}#\u{200B}\\x5Bx"),
    (":\u{200B}:x", ":\u{200B}\\x3Ax"), ("::\u{301}x", ":\\x3A\u{301}x"), ("a::b", "a::b"), (": :", ": :"),
    ("#[x", "#[x"), ("## [x", "## [x"), ("", ""), (":", ":"), ("#", "#"),
  ])
  func `only commands are changed`(text: String, printed: String) {
    // Not characters, of which a combining mark would make others.
    #expect(Array(WorkflowText.line(text).unicodeScalars) == Array(printed.unicodeScalars))
  }

  @Test func `text in pieces is treated as one`() {
    for text in ["  ::error::x\n##[group]\n", "a\n\u{3000}::x"] {
      var filter = WorkflowText()
      let pieces = text.unicodeScalars.map { filter.filter(String($0)) }.joined()
      #expect(pieces == WorkflowText.line(text))
    }
  }

  @Test func `in JSON the text stays the same`() {
    var filter = WorkflowText(.json)
    #expect(filter.filter(###"{"text":"##[error]"}"###) == ###"{"text":"##\u005Berror]"}"###)
  }
}

/// Text that a device could send to leave its cell in a report or to command a terminal.
enum HostileText {
  static let corpus = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)",
    "</style><script>",
    "</title></head><body>", "<!-- ", "--><svg onload=alert(1)>", "]]>", "&lt;b&gt; &#60;b&#62; &amp;amp;",
    "javascript:alert(1)", "<a href=\"https://example.com\">x</a>", "| a | b |\n|---|---|",
    "[x](https://example.com)",
    "`code` **bold** # heading", "::error::x", "##[group]x", "\u{1B}[2J\u{1B}]0;x\u{7}\u{1B}]52;c;eA==\u{7}",
    "\u{9B}2J\u{90}q\u{9C}", "\u{202E}abc\u{202D}\u{2066}", "\r\nnew line\u{2028}",
    "\u{0}\u{8}\u{7F}\u{FEFF}",
    "|\u{301} <\u{301}b> [\u{20E3}x](y)", "{{7*7}} ${x} %s %n", "\u{FFFE}\u{FFFF}", "<\u{0}script>",
    "<scr\u{200E}ipt>",
    String(repeating: "<b>", count: 500),
  ]

  /// How often a mark stands in Markdown without a backslash before it.
  static func unescaped(_ mark: Unicode.Scalar, in markdown: some StringProtocol) -> Int {
    var (count, isEscaped) = (0, false)
    for scalar in markdown.unicodeScalars {
      if !isEscaped, scalar == mark { count += 1 }
      isEscaped = !isEscaped && scalar == "\\"
    }
    return count
  }

  /// All of it at once.
  static let whole = corpus.joined(separator: " ")
}

/// Text from outside, for a page in Markdown.
package enum MarkdownText {
  /// Text in which no character has a meaning in Markdown or HTML, on one line.
  package static func escaped(_ text: some StringProtocol) -> String {
    var result = String.UnicodeScalarView()
    // A combining mark hides the character before it from a loop over characters, not from a reader
    // of Markdown.
    for scalar in String(text).printable.unicodeScalars {
      let character = Character(scalar)
      if scalar.isASCII, character.isPunctuation || character.isSymbol { result.append("\\") }
      result.append(scalar)
    }
    return String(result)
  }
}

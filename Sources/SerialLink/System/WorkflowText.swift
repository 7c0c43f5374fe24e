/// Escapes text that the runner of a GitHub workflow would take for a command: `::` at the
/// beginning of a line, and `##[` anywhere.
///
/// The runner skips every kind of white space before `::`, and possibly ignores invisible
/// characters in comparisons. Text can be split into pieces: the beginning of a line in one piece
/// counts in the next. Source: github.com/actions/runner, ActionCommand.cs; .NET `String.Trim`,
/// `Char.IsWhiteSpace`.
package struct WorkflowText: Equatable, Sendable {
  /// The escape for a character that would make a command.
  package enum Escape: Equatable, Sendable {
    /// `\x3A`.
    case text
    /// `\u003a`, which stands for the character itself; where each `[` behind `##` is in a string.
    case json
  }

  private enum Line: Equatable {
    /// Only white space so far.
    case blank
    /// Then one colon.
    case colon
    case other
  }

  private let escape: Escape
  private var line = Line.blank
  /// `#` in a row, at most 2.
  private var hashes = 0

  package init(_ escape: Escape = .text) {
    self.escape = escape
  }

  /// The next piece, safe to print.
  package mutating func filter(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      let isCommand = scalar == ":" && line == .colon || scalar == "[" && hashes == 2
      update(with: scalar)
      if isCommand {
        let number = scalar == ":" ? "3A" : "5B"
        result.append(contentsOf: ((escape == .text ? #"\x"# : #"\u00"#) + number).unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }

  /// A whole line.
  package static func line(_ text: String) -> String {
    var filter = WorkflowText()
    return filter.filter(text)
  }

  private mutating func update(with scalar: Unicode.Scalar) {
    if scalar == "\n" || scalar == "\r" {
      (line, hashes) = (.blank, 0)
      return
    }
    if Self.isInvisible(scalar) { return }
    hashes = scalar == "#" ? min(2, hashes + 1) : 0
    switch line {
    case .blank: line = scalar == ":" ? .colon : scalar.properties.isWhitespace ? .blank : .other
    case .colon, .other: line = .other
    }
  }

  /// Characters that a comparison can ignore: they are invisible and have no width.
  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    guard !scalar.isASCII else { return scalar.value < 0x20 && scalar != "\t" || scalar.value == 0x7F }
    let properties = scalar.properties
    return properties.isDefaultIgnorableCodePoint || properties.generalCategory == .format
      || properties.generalCategory == .control && !properties.isWhitespace
  }
}

import Foundation
import Glibc

/// Wraps the text of a help page so that what follows an indent or a column of names stays behind
/// it; the parser's own wrapping loses both.
enum HelpLayout {
  /// More than any line has, so that the parser does not wrap.
  static let unwrapped = 100_000

  /// The width of standard output for help: COLUMNS, else that of the terminal, else 80.
  static func columns(environment: [String: String] = ProcessInfo.processInfo.environment) -> Int {
    givenColumns(environment: environment) ?? 80
  }

  /// COLUMNS, else the width of the terminal; nil for a pipe or a file.
  static func givenColumns(environment: [String: String] = ProcessInfo.processInfo.environment) -> Int? {
    if let given = environment["COLUMNS"].flatMap({ Int($0) }), given > 0 { return max(30, given) }
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return max(30, Int(size.ws_col))
  }

  /// For standard output; what is for programs, such as scripts for completion, stays as it is.
  static func wrapped(_ text: String) -> String {
    let isForPeople = ["OVERVIEW: ", "Error: "].contains { text.hasPrefix($0) }
    return isForPeople ? wrapped(text, columns: columns()) : text
  }

  static func wrapped(_ text: String, columns: Int) -> String {
    ordered(text).split(separator: "\n", omittingEmptySubsequences: false)
      .map { wrapped(line: $0, columns) }.joined(separator: "\n")
  }

  /// The parser's page with the examples of its command before the usage, and exit codes last: they
  /// are looked up, and the rest is read.
  private static func ordered(_ text: String) -> String {
    let blocks = text.trimmingCharacters(in: .newlines).components(separatedBy: "\n\n")
    let codes = blocks.filter { $0.hasPrefix("EXIT CODES") }
    var others = blocks.filter { !$0.hasPrefix("EXIT CODES") }
    let usage = "USAGE: notibot "
    if let index = others.firstIndex(where: { $0.hasPrefix(usage) }),
      let examples = Examples.of(
        others[index].dropFirst(usage.count).split { $0 == " " || $0 == "\n" }.prefix {
          $0.first?.isLetter == true
        })
    {
      others.insert(examples, at: index)
    }
    return (others + codes).joined(separator: "\n\n") + (text.hasSuffix("\n") ? "\n" : "")
  }

  private static func wrapped(line: Substring, _ columns: Int) -> String {
    guard line.count > columns else { return String(line) }
    let indent = hangingIndent(of: line, columns)
    var lines: [String] = []
    var current = ""
    for word in words(of: line) {
      if current.isEmpty || current.count + 1 + word.count <= columns {
        current += current.isEmpty ? word : " " + word
      } else {
        lines.append(current)
        current = String(repeating: " ", count: indent) + word
      }
    }
    return (lines + [current]).joined(separator: "\n")
  }

  /// The column behind a name and at least two blanks, else that of the first character.
  private static func hangingIndent(of line: Substring, _ columns: Int) -> Int {
    let usage = "USAGE: "
    if line.lowercased().hasPrefix(usage.lowercased()) { return usage.count }
    let start = line.prefix { $0 == " " }.count
    guard let gap = line.dropFirst(start).firstRange(of: "  ") else { return start }
    let rest = line[gap.upperBound...].drop { $0 == " " }
    let column = line.count - rest.count
    return column <= columns / 2 ? column : start
  }

  /// The words, the first one with all blanks before it and up to its text; an option in brackets
  /// is one word.
  private static func words(of line: Substring) -> [String] {
    var words: [String] = []
    var word = ""
    var depth = 0
    var hasText = false
    for (index, character) in zip(line.indices, line) {
      if character == "[" { depth += 1 }
      if character == "]" { depth -= 1 }
      let next = line.index(after: index)
      let isColumn =
        next < line.endIndex && line[next] == " "
        || index > line.startIndex && line[line.index(before: index)] == " "
      if character == " ", depth <= 0, hasText, !isColumn {
        words.append(word)
        word = ""
      } else {
        word.append(character)
        hasText = hasText || character != " "
      }
    }
    return words + [word]
  }
}

import NotibotProtocol
package import SerialLink

/// The level and the tag of a line of ESP-IDF's log: `I (312) wifi: connected`.
///
/// `idf.py monitor` decides on the same form: a colour, a letter of EWIDV, optionally a time in
/// parentheses, and a tag before the first colon, which a blank must follow.
/// Source: esp-idf-monitor 1.10, `--print_filter`.
package struct LogLine: Equatable, Sendable {
  /// By importance; the letters of ESP-IDF. Source: its logging library, "Formatting log messages".
  package enum Level: UInt8, Comparable, Sendable {
    /// Only in a filter: nothing.
    case none, error, warning, info, debug, verbose

    /// - Parameter letter: one of NEWIDV, upper case.
    init?(letter: UInt8) {
      guard let index = Array("NEWIDV".utf8).firstIndex(of: letter) else { return nil }
      self.init(rawValue: UInt8(index))
    }

    package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  package let level: Level
  package let tag: String
  /// The index of the text behind the tag.
  let messageStart: Int

  /// - Parameter line: as received, without its end; `nil` for a line that is none of the log.
  package init?(_ line: [UInt8]) {
    let start = Self.colorEnd(line)
    guard line.count > start + 4, let level = Level(letter: line[start]), level != .none,
      line[start + 1] == UInt8(ascii: " ")
    else { return nil }
    let rest = start + 2
    guard
      let tag = Self.timeEnd(line, from: rest).flatMap({ Self.tag(line, from: $0) })
        ?? Self.tag(line, from: rest)
    else { return nil }
    self.level = level
    self.tag = String(decoding: line[tag], as: UTF8.self)
    messageStart = tag.upperBound + 2
  }

  /// The end of `ESC[0;32m`, where only ESC, `[`, 0 or 1, and a digit are required; 0 without it.
  private static func colorEnd(_ line: [UInt8]) -> Int {
    guard line.starts(with: [0x1B, UInt8(ascii: "[")]), line.count > 3, line[2] & 0xFE == UInt8(ascii: "0")
    else {
      return 0
    }
    var end = line[3] == UInt8(ascii: ";") ? 4 : 3
    let digits = line[end...].prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }.count
    guard digits > 0 else { return 0 }
    end += digits
    return end < line.count && line[end] == UInt8(ascii: "m") ? end + 1 : end
  }

  /// The end of `(312) `.
  private static func timeEnd(_ line: [UInt8], from start: Int) -> Int? {
    guard line[start] == UInt8(ascii: "("),
      let close = line[(start + 1)...].firstIndex(of: UInt8(ascii: ")")), close > start + 1,
      close + 1 < line.count, line[close + 1] == UInt8(ascii: " ")
    else { return nil }
    return close + 2
  }

  private static func tag(_ line: [UInt8], from start: Int) -> Range<Int>? {
    guard let colon = line[start...].firstIndex(of: UInt8(ascii: ":")), colon > start, colon + 1 < line.count,
      line[colon + 1] == UInt8(ascii: " ")
    else { return nil }
    return start..<colon
  }

  /// The SGR sequence that ESP-IDF itself prints for a line with a time, without a colour of its
  /// own; `nil`: it has no colour.
  package static func color(of line: [UInt8]) -> String? {
    guard line.count > 4, line[1] == UInt8(ascii: " "), line[2] == UInt8(ascii: "("),
      let close = line[3...].firstIndex(of: UInt8(ascii: ")")), close > 3,
      line[3..<close].allSatisfy({ "0123456789:. -".utf8.contains($0) })
    else { return nil }
    return switch Level(letter: line[0]) {
    case .error: "\u{1B}[0;31m"
    case .warning: "\u{1B}[0;33m"
    case .info: "\u{1B}[0;32m"
    case nil, .some(.none), .debug, .verbose: nil
    }
  }
}

/// Which lines are shown: words such as `*:W wifi:D`, as `idf.py monitor` takes them.
package struct LogFilter: Equatable, Sendable {
  private var levels: [String: LogLine.Level] = [:]
  /// Of all other tags. Only without any rule everything is shown.
  private var others = LogLine.Level.none

  /// Warnings and errors.
  package static let warnings: LogFilter = {
    var filter = LogFilter()
    filter.others = .warning
    return filter
  }()

  private init() {}

  /// - Parameter text: words `TAG:LEVEL` between blanks; TAG `*` means all others, which are hidden
  ///   without such a word; LEVEL is one of NEWIDV, `*` or empty, which show the tag whole.
  package init(_ text: String) throws(Failure) {
    let words = text.split(whereSeparator: \.isWhitespace)
    if words.isEmpty { others = .verbose }
    for word in words {
      let parts = word.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      let letters = parts.count > 1 && parts[1] != "*" ? parts[1].uppercased() : ""
      guard let name = parts.first, !name.isEmpty, parts.count <= 2, letters.utf8.count <= 1,
        let level = LogLine.Level(letter: letters.utf8.first ?? UInt8(ascii: "V"))
      else {
        throw Failure(
          .usage, "'\(word.prefix(80).description.printable)' is not TAG:LEVEL",
          remedy: "write for example '*:W wifi:I'; levels are N, E, W, I, D and V")
      }
      if name == "*" { others = level } else { levels[String(name)] = level }
    }
  }

  /// Whether a line, as received, is shown. One that is none of the log is shown unless all other
  /// tags are hidden.
  package func shows(_ line: [UInt8]) -> Bool {
    guard let log = LogLine(line) else { return others > .none }
    return log.level <= levels[log.tag] ?? others
  }
}

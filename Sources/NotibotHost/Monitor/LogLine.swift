import NotibotProtocol

/// The level and the tag of a line of ESP-IDF's log: `I (312) wifi: connected`.
package struct LogLine: Equatable, Sendable {
  /// By importance; the letters of ESP-IDF. Source: its logging library, "Formatting log messages".
  package enum Level: UInt8, Comparable, Sendable {
    /// Only in a filter: nothing.
    case none, error, warning, info, debug, verbose

    /// - Parameter letter: one of NEWIDV, upper case.
    init?(letter: Character) {
      guard let index = Array("NEWIDV").firstIndex(of: letter) else { return nil }
      self.init(rawValue: UInt8(index))
    }

    /// The SGR sequence that ESP-IDF itself prints for this level; `nil`: it has no colour.
    package var color: String? {
      switch self {
      case .error: "\u{1B}[0;31m"
      case .warning: "\u{1B}[0;33m"
      case .info: "\u{1B}[0;32m"
      case .none, .debug, .verbose: nil
      }
    }

    package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  package let level: Level
  package let tag: Substring

  /// - Parameter text: a line without colours; `nil` for a line that is none of the log.
  package init?(_ text: String) {
    guard let letter = text.first, let level = Level(letter: letter), level != .none,
      text.dropFirst().hasPrefix(" ("), let close = text.prefix(Self.timeLimit).firstIndex(of: ")")
    else { return nil }
    let time = text[text.index(text.startIndex, offsetBy: 3)..<close]
    let rest = text[close...].dropFirst()
    guard !time.isEmpty, time.allSatisfy({ $0.isASCII && ($0.isNumber || " -:.".contains($0)) }),
      rest.first == " ", let colon = rest.firstIndex(of: ":")
    else { return nil }
    self.level = level
    tag = rest[rest.index(after: rest.startIndex)..<colon]
  }

  /// More than the longest date and time, in characters.
  private static let timeLimit = 40
}

/// Which lines of the log are shown: words such as `*:W wifi:D`, as `idf.py monitor` takes them.
package struct LogFilter: Equatable, Sendable {
  /// Why a filter is refused, for a message.
  package struct Failure: Error, Equatable {
    package let word: String
  }

  private var levels: [Substring: LogLine.Level] = [:]
  private var others = LogLine.Level.verbose

  /// Warnings and errors.
  package static let warnings: LogFilter = {
    var filter = LogFilter()
    filter.others = .warning
    return filter
  }()

  private init() {}

  /// - Parameter text: words `TAG:LEVEL` between spaces; TAG `*` means all others, LEVEL is one of
  ///   NEWIDV; a tag without a level is shown whole.
  package init(_ text: String) throws(Failure) {
    for word in text.split(whereSeparator: \.isWhitespace) {
      let colon = word.lastIndex(of: ":")
      let name = colon.map { word[..<$0] } ?? word
      let letters = colon.map { word[$0...].dropFirst().uppercased() } ?? "V"
      guard !name.isEmpty, letters.count == 1, let level = LogLine.Level(letter: Character(letters)) else {
        throw Failure(word: String(word))
      }
      if name == "*" { others = level } else { levels[name] = level }
    }
  }

  /// Whether a line without colours is shown; one that is none of the log always is.
  package func shows(_ text: String) -> Bool {
    guard let line = LogLine(text) else { return true }
    return line.level <= levels[line.tag] ?? others
  }
}

package import SerialLink

/// A regular expression that is matched without backtracking.
///
/// All alternatives are followed in parallel, so the time is at most the length of the text times
/// the size of the expression: neither a user's pattern nor a device's text can block a command
/// (docs/DECISIONS.md). Unicode scalars are matched, not characters. The match is Perl's: the
/// leftmost, and of those the one that a backtracking engine would try first; but a repetition
/// never ends with an empty iteration while a non-empty one is possible. Back-references and
/// look-around cannot be matched this way and are refused.
package struct Pattern: Equatable, Sendable {
  /// The longest expression, in Unicode scalars.
  package static let lengthLimit = 1000
  /// The deepest nesting of groups.
  static let nestingLimit = 50

  let program: PatternProgram

  /// - Parameter position: in Unicode scalars from 1.
  static func failure(_ reason: String, at position: Int) -> Failure {
    Failure(.usage, "\(reason) (at character \(position))")
  }

  /// - Parameters:
  ///   - text: the expression.
  ///   - ignoresCase: as if it began with `(?i)`.
  package init(_ text: String, ignoresCase: Bool = false) throws(Failure) {
    var parser = try PatternParser(text, ignoresCase: ignoresCase)
    program = try PatternProgram(try parser.parse())
  }

  /// Whether the expression matches anywhere in `text`.
  package func matches(_ text: String) -> Bool { firstMatch(in: text) != nil }

  /// The first match in `text`; `nil` when there is none.
  /// - Parameter isWhole: whether no more text follows. Otherwise its end is neither an end (`$`)
  ///   nor
  ///   a word boundary, nor the absence of one.
  package func firstMatch(in text: String, isWhole: Bool = true) -> String? {
    let scalars = Array(text.unicodeScalars)
    guard let range = program.firstMatch(in: scalars, isWhole: isWhole) else { return nil }
    var match = String.UnicodeScalarView()
    match.append(contentsOf: scalars[range])
    return String(match)
  }
}

/// A node of an expression.
indirect enum PatternNode: Equatable, Sendable {
  case empty
  case set(ScalarSet)
  case assertion(PatternAssertion)
  case sequence([PatternNode])
  /// The first alternative is preferred.
  case alternatives([PatternNode])
  /// `limit` is `nil` for any number.
  case repeated(PatternNode, least: Int, limit: Int?, isLazy: Bool)
}

/// A condition at a position, which consumes nothing.
enum PatternAssertion: Equatable, Sendable {
  case start
  case end
  case wordBoundary
  case noWordBoundary

  /// Whether it holds in front of `index`.
  func holds(at index: Int, in text: [Unicode.Scalar], isWhole: Bool) -> Bool {
    switch self {
    case .start: return index == 0
    case .end: return index == text.count && isWhole
    case .wordBoundary, .noWordBoundary:
      guard isWhole || index < text.count else { return false }
      let before = index > 0 && ScalarSet.Class.word.contains(text[index - 1])
      let after = index < text.count && ScalarSet.Class.word.contains(text[index])
      return (before != after) == (self == .wordBoundary)
    }
  }
}

/// A set of Unicode scalars.
struct ScalarSet: Equatable, Sendable {
  enum Class: Equatable, Sendable {
    case digit
    case space
    case word

    func contains(_ scalar: Unicode.Scalar) -> Bool {
      switch self {
      case .digit: return "0"..."9" ~= scalar
      case .space:
        return scalar.isASCII ? "\t"..."\r" ~= scalar || scalar == " " : scalar.properties.isWhitespace
      case .word:
        if scalar.isASCII {
          return "a"..."z" ~= scalar || "A"..."Z" ~= scalar || "0"..."9" ~= scalar || scalar == "_"
        }
        return scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal
      }
    }
  }

  var ranges: [ClosedRange<Unicode.Scalar>] = []
  var classes: [Class] = []
  /// Such as `\D` in brackets.
  var missingClasses: [Class] = []
  var isInverted = false
  var ignoresCase = false

  /// What a dot matches.
  static let anything = ScalarSet(ranges: ["\n"..."\n"], isInverted: true)

  func contains(_ scalar: Unicode.Scalar) -> Bool {
    var isIn = holds(scalar)
    if !isIn, ignoresCase {
      isIn = ScalarSet.otherCases(of: scalar).contains { holds($0) }
    }
    return isIn != isInverted
  }

  private func holds(_ scalar: Unicode.Scalar) -> Bool {
    ranges.contains { $0 ~= scalar } || classes.contains { $0.contains(scalar) }
      || missingClasses.contains { !$0.contains(scalar) }
  }

  private static func otherCases(of scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    [scalar.properties.lowercaseMapping, scalar.properties.uppercaseMapping].compactMap { mapped in
      mapped.unicodeScalars.count == 1 ? mapped.unicodeScalars.first : nil
    }
  }
}

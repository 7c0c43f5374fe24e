import SerialLink

/// Parses a regular expression. docs/CLI.md describes the supported syntax.
struct PatternParser {
  /// The largest number in a counted repetition.
  static let repetitionsLimit = 1000

  private let text: [Unicode.Scalar]
  private var index = 0
  private var depth = 0
  private var ignoresCase: Bool

  init(_ text: String, ignoresCase: Bool) throws(Failure) {
    self.text = Array(text.unicodeScalars)
    self.ignoresCase = ignoresCase
    guard self.text.count <= Pattern.lengthLimit else {
      throw Pattern.failure(
        "it is longer than \(Pattern.lengthLimit) characters", at: Pattern.lengthLimit + 1)
    }
  }

  mutating func parse() throws(Failure) -> PatternNode {
    let node = try alternatives()
    guard index == text.count else { throw failure("'(' is missing before ')'") }
    return node
  }

  // MARK: Structure

  private mutating func alternatives() throws(Failure) -> PatternNode {
    var nodes = [try sequence()]
    while skip("|") { nodes.append(try sequence()) }
    return nodes.count == 1 ? nodes[0] : .alternatives(nodes)
  }

  private mutating func sequence() throws(Failure) -> PatternNode {
    var nodes: [PatternNode] = []
    while let next = peek, next != "|", next != ")" {
      let atom = try atom()
      nodes.append(try repeated(atom))
    }
    return nodes.count == 1 ? nodes[0] : .sequence(nodes)
  }

  private mutating func repeated(_ atom: PatternNode) throws(Failure) -> PatternNode {
    guard let (least, limit) = try repetition() else { return atom }
    if case .assertion = atom { throw failure("nothing to repeat") }
    let isLazy = skip("?")
    if peek == "+" { throw failure("a possessive repetition is not supported") }
    if peek == "*" || peek == "?" { throw failure("nothing to repeat") }
    return .repeated(atom, least: least, limit: limit, isLazy: isLazy)
  }

  /// Takes `*`, `+`, `?`, `{N}`, `{N,}` or `{N,M}`, if one follows. Any other brace stands for
  /// itself.
  private mutating func repetition() throws(Failure) -> (least: Int, limit: Int?)? {
    if skip("*") { return (0, nil) }
    if skip("+") { return (1, nil) }
    if skip("?") { return (0, 1) }
    let start = index
    guard skip("{"), let least = number() else {
      index = start
      return nil
    }
    var limit: Int? = least
    if skip(",") { limit = number() }
    guard skip("}") else {
      index = start
      return nil
    }
    guard max(least, limit ?? 0) <= Self.repetitionsLimit else {
      throw failure("at most \(Self.repetitionsLimit) repetitions are counted")
    }
    if let limit, limit < least { throw failure("the numbers of a repetition are the wrong way round") }
    return (least, limit)
  }

  private mutating func atom() throws(Failure) -> PatternNode {
    guard let next = advance() else { return .empty }
    switch next {
    case "(": return try group()
    case "[": return .set(try brackets())
    case ".": return .set(.anything)
    case "^": return .assertion(.start)
    case "$": return .assertion(.end)
    case "*", "+", "?": throw failure("nothing to repeat", before: 1)
    case "\\": return try escape()
    case _: return .set(ScalarSet(ranges: [next...next], ignoresCase: ignoresCase))
    }
  }

  private mutating func group() throws(Failure) -> PatternNode {
    let before = ignoresCase
    depth += 1
    defer { depth -= 1 }
    guard depth <= Pattern.nestingLimit else { throw failure("groups are nested too deep") }
    if skip("?") {
      if skip("i") {
        ignoresCase = true
        // Up to the end of the group around it.
        if skip(")") { return .empty }
        guard skip(":") else { throw failure("of the options only (?i) is supported") }
      } else if !skip(":") {
        _ = skip("P")
        guard skip("<"), let first = peek, first != "=", first != "!" else {
          throw failure("look-around, options but (?i), and other groups are not supported")
        }
        while let next = advance(), next != ">" {}
      }
    }
    let node = try alternatives()
    guard skip(")") else { throw failure("')' is missing") }
    ignoresCase = before
    return node
  }

  // MARK: Sets

  private mutating func brackets() throws(Failure) -> ScalarSet {
    var set = ScalarSet(ignoresCase: ignoresCase)
    set.isInverted = skip("^")
    var isFirst = true
    while let next = advance() {
      if next == "]", !isFirst { return set }
      isFirst = false
      if next == "[", peek == ":" || peek == "=" || peek == "." {
        throw failure("named classes such as [:digit:] are not supported; write \\d, \\s or \\w")
      }
      guard let low = try member(next, of: &set) else { continue }
      guard peek == "-", index + 1 < text.count, text[index + 1] != "]" else {
        set.ranges.append(low...low)
        continue
      }
      _ = advance()
      guard let last = advance(), let high = try member(last, of: &set), low <= high else {
        throw failure("a range needs its lower end first")
      }
      set.ranges.append(low...high)
    }
    throw failure("']' is missing")
  }

  /// The scalar that begins with `next`; `nil` if it was a class, which was added to `set`.
  private mutating func member(
    _ next: Unicode.Scalar, of set: inout ScalarSet
  ) throws(Failure) -> Unicode.Scalar? {
    guard next == "\\" else { return next }
    guard let letter = advance() else { throw failure("nothing follows '\\'") }
    if letter == "b" { return "\u{8}" }
    guard let (kind, isMissing) = Self.kind(letter) else { return try scalar(escapedBy: letter) }
    if isMissing { set.missingClasses.append(kind) } else { set.classes.append(kind) }
    return nil
  }

  private static func kind(_ letter: Unicode.Scalar) -> (ScalarSet.Class, isMissing: Bool)? {
    switch letter {
    case "d": (.digit, false)
    case "D": (.digit, true)
    case "s": (.space, false)
    case "S": (.space, true)
    case "w": (.word, false)
    case "W": (.word, true)
    case _: nil
    }
  }

  private mutating func escape() throws(Failure) -> PatternNode {
    guard let letter = advance() else { throw failure("nothing follows '\\'") }
    switch letter {
    case "b": return .assertion(.wordBoundary)
    case "B": return .assertion(.noWordBoundary)
    case "A": return .assertion(.start)
    case "z", "Z": return .assertion(.end)
    case "1"..."9", "k": throw failure("back-references are not supported", before: 1)
    case _: break
    }
    if let (kind, isMissing) = Self.kind(letter) {
      return .set(ScalarSet(classes: [kind], isInverted: isMissing))
    }
    let scalar = try scalar(escapedBy: letter)
    return .set(ScalarSet(ranges: [scalar...scalar], ignoresCase: ignoresCase))
  }

  private mutating func scalar(escapedBy letter: Unicode.Scalar) throws(Failure) -> Unicode.Scalar {
    switch letter {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "f": return "\u{C}"
    case "v": return "\u{B}"
    case "e": return "\u{1B}"
    case "0": return "\0"
    case "x": return try hexadecimal(digits: 2)
    case "u": return try hexadecimal(digits: 4)
    case "a"..."z", "A"..."Z", "1"..."9":
      throw failure("'\\\(letter)' has no meaning here", before: 1)
    case _: return letter
    }
  }

  /// `HH` or `{H…}`.
  private mutating func hexadecimal(digits: Int) throws(Failure) -> Unicode.Scalar {
    var value: UInt32 = 0
    let isBraced = skip("{")
    var count = 0
    while count < (isBraced ? 6 : digits), let digit = peek.flatMap(Self.hexadecimalDigit) {
      value = value * 16 + digit
      count += 1
      index += 1
    }
    let isWhole = isBraced ? count > 0 && skip("}") : count == digits
    guard isWhole, let scalar = Unicode.Scalar(value) else {
      throw failure("it is not the number of a character")
    }
    return scalar
  }

  private static func hexadecimalDigit(_ scalar: Unicode.Scalar) -> UInt32? {
    switch scalar {
    case "0"..."9": scalar.value - 0x30
    case "a"..."f": scalar.value - 0x57
    case "A"..."F": scalar.value - 0x37
    case _: nil
    }
  }

  // MARK: The text

  private var peek: Unicode.Scalar? { index < text.count ? text[index] : nil }

  private mutating func advance() -> Unicode.Scalar? {
    guard index < text.count else { return nil }
    defer { index += 1 }
    return text[index]
  }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard peek == scalar else { return false }
    index += 1
    return true
  }

  /// A decimal number; one beyond the limit is returned as a value that is too large.
  private mutating func number() -> Int? {
    var value: Int?
    while let next = peek, "0"..."9" ~= next {
      value = min(Self.repetitionsLimit + 1, (value ?? 0) * 10 + Int(next.value - 0x30))
      index += 1
    }
    return value
  }

  private func failure(_ reason: String, before: Int = 0) -> Failure {
    Pattern.failure(reason, at: max(1, index + 1 - before))
  }
}

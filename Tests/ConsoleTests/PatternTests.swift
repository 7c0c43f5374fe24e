import SerialLink
import Testing

@testable import Console

/// Regular expressions without backtracking. The expected matches are written by hand, and compared
/// with Swift's engine.
struct PatternTests {
  private func match(_ pattern: String, _ text: String) throws -> String? {
    try Pattern(pattern).firstMatch(in: text)
  }

  @Test(
    arguments: [
      ("ok$", nil), ("ok\\b", nil), ("o\\B", "o"), ("k\\B", nil), ("ok", "ok"), ("^tests ", "tests "),
      ("ok|tests$", "ok"),
    ] as [(String, String?)])
  func `the end of text that goes on is no end`(pattern: String, match: String?) throws {
    #expect(try Pattern(pattern).firstMatch(in: "tests 1/10 ok", isWhole: false) == match)
  }

  @Test(
    arguments: [
      ("abc", "xabcx", "abc"), ("", "abc", ""), ("a|b", "xb", "b"), ("ab|a", "ab", "ab"), ("a|ab", "ab", "a"),
      ("a*", "aaa", "aaa"), ("a*?", "aaa", ""), ("a+?b", "aab", "aab"), ("a??b", "ab", "ab"),
      ("(a|b)*c", "abac", "abac"), ("x{2}", "xxx", "xx"), ("x{2,}", "xxx", "xxx"), ("x{0,2}", "xxx", "xx"),
      ("x{2,3}?", "xxx", "xx"), ("x{,2}", "x{,2}", "x{,2}"), ("a{", "a{", "a{"), ("^a", "ab", "a"),
      ("a$", "ba", "a"), (#"\bb\b"#, "a b", "b"), (#"\Bb"#, "ab", "b"), (#"\d+\.\d\d"#, "v12.34", "12.34"),
      (#"\D\s\w"#, "a b", "a b"), (#"\S+"#, " ab ", "ab"), (#"\W"#, "ab-", "-"), ("[a-c]+", "xabcd", "abc"),
      ("[^a-c]+", "abxyc", "xy"), ("[]a]+", "x]a", "]a"), ("[a-]+", "x-a", "-a"),
      (#"[\]\-\d]+"#, "a]-7", "]-7"),
      (#"[\D]+"#, "1ab", "ab"), ("(?i)READY", "is ready", "ready"), ("a(?i:B)C", "abC", "abC"),
      ("(?:ab)+", "ababa", "abab"), ("(?<name>a)b", "ab", "ab"), ("(?P<name>a)b", "ab", "ab"),
      (#"\x41\u0042\x{43}\u{44}"#, "ABCD", "ABCD"), (#"\t\e\0"#, "\t\u{1B}\0", "\t\u{1B}\0"),
      (#"\.\*\[\\"#, #".*[\"#, #".*[\"#), ("ä.", "xäö", "äö"), ("[à-ÿ]", "aé", "é"), ("(?i)Ä", "ä", "ä"),
      ("(a*)*", "aa", "aa"), ("(a*)+b", "aab", "aab"), ("(|a)+b", "aab", "aab"), ("(?i)x|Y", "y", "y"),
      (#"\Aab\z"#, "ab", "ab"), ("(a|(b|c)){2}", "cb", "cb"), ("a.c", "a\u{301}bc", nil), ("^$", "", ""),
      ("a.b", "a\nb", nil), ("^b", "ab", nil), ("[^ab]", "ab", nil), ("x{3}", "xx", nil), (#"\d"#, "٣", nil),
    ] as [(String, String, String?)])
  func `an expression finds what Perl's rule says`(pattern: String, text: String, found: String?) throws {
    #expect(try match(pattern, text) == found)
  }

  @Test(
    arguments: [
      ("(", "')' is missing", 2), ("a)", "'(' is missing before ')'", 2), ("[a", "']' is missing", 3),
      ("*a", "nothing to repeat", 1), ("a**", "nothing to repeat", 3), ("^*", "nothing to repeat", 3),
      ("a++", "a possessive repetition is not supported", 3),
      (#"(a)\1"#, "back-references are not supported", 5),
      ("(?=a)", "look-around, options but (?i), and other groups are not supported", 3),
      ("(?<=a)", "look-around, options but (?i), and other groups are not supported", 4),
      ("a{2,1}", "the numbers of a repetition are the wrong way round", 7),
      ("a{99999}", "at most 1000 repetitions are counted", 9),
      ("[b-a]", "a range needs its lower end first", 5),
      (#"\q"#, #"'\q' has no meaning here"#, 2), ("\\", #"nothing follows '\'"#, 2),
      ("[[:digit:]]", #"named classes such as [:digit:] are not supported; write \d, \s or \w"#, 3),
      (#"\xZZ"#, "it is not the number of a character", 3),
      (#"\u{110000}"#, "it is not the number of a character", 11),
    ] as [(String, String, Int)])
  func `an invalid expression has an error with its position`(pattern: String, reason: String, position: Int)
  {
    #expect(throws: Failure(.usage, "\(reason) (at character \(position))")) { try Pattern(pattern) }
  }

  @Test func `an expression has a length, a depth and a size`() {
    #expect(throws: Failure.self) { try Pattern(String(repeating: "a", count: 1001)) }
    #expect(throws: Failure.self) {
      try Pattern(String(repeating: "(", count: 51) + String(repeating: ")", count: 51))
    }
    #expect(throws: Failure.self) { try Pattern("((a{1000}){1000}){1000}") }
    #expect(throws: Never.self) { try Pattern("(((){1000}){1000}){1000}") }
  }

  /// With a backtracking engine each of these outlasts the test run.
  @Test(arguments: ["(a+)+$", "a.*a.*a.*b$", "(a|a)*b", "(a*)*b", "(a?){30}a{30}b", "(.*)(.*)(.*)(.*)b"])
  func `the time of an expression is at most its size times the text`(pattern: String) throws {
    let text = String(repeating: "a", count: 4000) + "!"
    #expect(try match(pattern, text) == nil)
  }

  @Test func `random expressions agree with Swift's engine`() throws {
    var generator = SystemRandomNumberGenerator()
    var random = Draw(state: UInt64.random(in: .min ... .max, using: &generator))
    let seed = random.state
    for _ in 0..<1500 {
      let pattern = random.expression(depth: 3)
      let text = String((0..<random.next(9)).map { _ in "abc \n"[random.next(4)] })
      let expected = try Regex(pattern).matchingSemantics(.unicodeScalar).wordBoundaryKind(.simple)
      let found = text.firstMatch(of: expected)?.range
      let own = try Pattern(pattern).program.firstMatch(in: Array(text.unicodeScalars))
      let (from, to) = (
        found.map { text.unicodeScalars.distance(from: text.startIndex, to: $0.lowerBound) },
        found.map { text.unicodeScalars.distance(from: text.startIndex, to: $0.upperBound) }
      )
      #expect(own?.lowerBound == from, "seed \(seed): '\(pattern)' in '\(text)'")
      // Engines differ in how often they repeat nothing.
      guard pattern.count(where: { "*+?{".contains($0) }) - pattern.count(where: { $0 == ":" }) <= 1 else {
        continue
      }
      #expect(own?.upperBound == to, "seed \(seed): '\(pattern)' in '\(text)'")
    }
  }

  /// Expressions over `abc`, drawn.
  private struct Draw {
    var state: UInt64

    mutating func next(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }

    mutating func expression(depth: Int) -> String {
      guard depth > 0 else { return ["a", "b", "c", ".", "[ab]", "[^a]", #"\w"#, #"\s"#][next(8)] }
      let inner = expression(depth: depth - 1)
      switch next(7) {
      case 0: return inner + expression(depth: depth - 1)
      case 1: return "(\(inner)|\(expression(depth: depth - 1)))"
      case 2: return "(?:\(inner))\(["*", "+", "?", "*?", "+?", "{1,2}", "{2}"][next(7)])"
      case 3: return inner + "$"
      case 4: return #"\b"# + inner
      case _: return inner
      }
    }
  }
}

extension String {
  fileprivate subscript(_ index: Int) -> Character { self[self.index(startIndex, offsetBy: index)] }
}

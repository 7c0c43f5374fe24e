import Console
import SerialLink

/// The selected cases of the suite.
package enum Selection {
  /// The cases of `suite` whose id, title, chapter or rules match: `filter` is a regular
  /// expression; plain words are one, too. Upper and lower case are the same.
  ///
  /// - Throws: `RigTrouble` if it is not a regular expression.
  package static func cases(
    matching filter: String?, in suite: [Case] = Suite.cases
  ) throws(RigTrouble) -> [Case] {
    guard let filter else { return suite }
    return try cases(suite, matching: filter, isKept: true)
  }

  /// The cases without those that match `filter`.
  package static func cases(_ cases: [Case], excluding filter: String) throws(RigTrouble) -> [Case] {
    try Self.cases(cases, matching: filter, isKept: false)
  }

  private static func cases(
    _ cases: [Case], matching filter: String, isKept: Bool
  ) throws(RigTrouble) -> [Case] {
    let expression: Pattern
    do throws(Failure) {
      expression = try Pattern(filter, ignoresCase: true)
    } catch {
      throw RigTrouble(
        "'\(filter.prefix(80))' is not a regular expression that can be used: \(error)",
        remedy: "escape special characters with \\, or use plain words")
    }
    return cases.filter { testCase in
      let lines = [testCase.id, testCase.title, testCase.chapter.rawValue] + testCase.rules
      return lines.contains { expression.matches($0) } == isKept
    }
  }
}

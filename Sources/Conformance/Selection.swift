/// Which cases of the suite are meant.
package enum Selection {
  /// The cases whose id, title, chapter or rules match: `filter` is a regular expression, and plain words are one, too.
  /// Upper and lower case are the same.
  ///
  /// - Throws: `RigTrouble` when it is not a regular expression.
  package static func cases(matching filter: String?) throws(RigTrouble) -> [Case] {
    guard let filter else { return Suite.cases }
    let expression: Regex<AnyRegexOutput>
    do {
      expression = try Regex(filter).ignoresCase()
    } catch {
      throw RigTrouble(
        "'\(filter.prefix(80))' is not a regular expression",
        remedy: "quote its signs with \\, or use plain words")
    }
    return Suite.cases.filter { testCase in
      let lines = [testCase.id, testCase.title, testCase.chapter.rawValue] + testCase.rules
      return lines.contains { $0.contains(expression) }
    }
  }
}

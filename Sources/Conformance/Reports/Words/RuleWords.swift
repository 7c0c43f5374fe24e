/// The rules of PROTOCOL.md in their own words, for the reader of a failure. The texts are written
/// by `scripts/rule-words`.
package enum RuleWords {
  /// The first paragraph of a rule, without Markdown's marks; nil for an unknown rule.
  package static func words(of rule: String) -> String? {
    parts.lazy.compactMap { $0[rule] }.first.map(plain)
  }

  static func plain(_ markdown: String) -> String {
    let text = markdown.replacing("\n", with: " ").replacing("`", with: "").replacing("**", with: "")
    // *Emphasis*, not a product.
    return text.replacing(/\*(\w[^*]*)\*/) { $0.1 }
  }
}

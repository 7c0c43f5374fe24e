/// The rules of PROTOCOL.md in their own words, for the reader of a failure.
package enum RuleWords {
  /// docs/PROTOCOL.md, which the build embeds.
  private static let page = String(decoding: PackageResources.PROTOCOL_md, as: UTF8.self)

  /// The first paragraph of a rule, without Markdown's marks; nil for an unknown rule.
  package static func words(of rule: String) -> String? {
    guard let mark = page.firstRange(of: "\n**\(rule)** ") else { return nil }
    let rest = page[mark.upperBound...]
    return plain(rest[..<(rest.firstRange(of: "\n\n")?.lowerBound ?? rest.endIndex)])
  }

  private static func plain(_ markdown: Substring) -> String {
    let text = String(markdown).replacing("\n", with: " ").replacing("`", with: "").replacing("**", with: "")
    // *Emphasis*, not a product.
    return text.replacing(/\*(\w[^*]*)\*/) { $0.1 }
  }
}

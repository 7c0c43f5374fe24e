/// Tags that ntfy's clients show as emoji. Source: docs.ntfy.sh/emojis.
enum EmojiTags {
  private static let emoji: [Substring: Substring] = {
    let pairs = table.split(whereSeparator: \.isWhitespace).map { $0.split(separator: "=", maxSplits: 1) }
    return Dictionary(pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { first, _ in first }
  }()

  /// The emoji of a tag; nil: the tag is shown as a word.
  static func emoji(of tag: String) -> String? { emoji[Substring(tag)].map(String.init) }
}

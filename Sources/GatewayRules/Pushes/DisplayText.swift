import NotibotProtocol

/// Text of a sender, made safe for a display: no controls, nothing that changes its direction, no
/// white space around it.
enum DisplayText {
  /// Controls and overrides of the direction, which can make a text look like another one, become
  /// U+FFFD. Invisible marks are left out, for example those that a phone's system puts around
  /// names in a text of either direction.
  static func clean(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n":
        if result.last == "\r" { result.removeLast() }
        result.append(scalar)
      case "\r": result.append(scalar)
      case "\t", "\u{2028}", "\u{2029}": result.append(" ")
      case "\u{AD}", "\u{61C}", "\u{180E}", "\u{200B}", "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202C}",
        "\u{2060}"..."\u{206F}", "\u{FEFF}":
        break
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{202D}", "\u{202E}": result.append("\u{FFFD}")
      case _: result.append(scalar)
      }
    }
    let trimmed = result.drop { $0.properties.isWhitespace }.reversed().drop { $0.properties.isWhitespace }
    var shown = String.UnicodeScalarView()
    for scalar in trimmed.reversed() { shown.append(scalar == "\r" ? " " : scalar) }
    return String(shown)
  }

  /// Whether nothing of it can be seen.
  static func isBlank(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy {
      $0.properties.isWhitespace || $0.properties.isDefaultIgnorableCodePoint
    }
  }

  /// Labels of actions as the display gets them.
  static func shownLabels(_ labels: [String]) -> [String] {
    var notification = DisplayNotification(app: "", title: "", text: "", timestamp: 0)
    notification.details.actions = labels
    let json = WrittenNotification(notification: notification).encoded()
    let value = try? JSONValue(parsing: json, limitBytes: json.count)
    return value?["act"]?.array?.compactMap(\.string) ?? []
  }

  /// At most `limit` characters; cut ones are replaced by an ellipsis, which counts.
  static func cut(_ text: String, to limit: Int?) -> String {
    guard let limit, text.count > limit else { return text }
    return text.prefix(max(0, limit - 1)) + "…"
  }
}

extension DisplayNotification {
  /// Whether the wire cuts what is to be read: not a label, which stays a button.
  var isCut: Bool { !cutTexts.isEmpty }

  /// What the wire cuts of it, with the longest identity and with the keys that quiet hours add.
  var cutMembers: [String] {
    var longest = self
    (longest.details.level, longest.details.flags) = (.passive, max(1, details.flags))
    let identity = NotificationIdentity(id: .max, revision: .max, change: .added, source: .max)
    return WrittenNotification(notification: longest, identity: identity).cutMembers
  }

  /// Those of `app`, `title` and `text` that the wire cuts.
  var cutTexts: [String] { cutMembers.filter { ["app", "title", "text"].contains($0) } }

  /// Whether the wire cuts a label.
  var hasCutLabel: Bool {
    WrittenNotification(notification: self).cutMembers.contains("act")
  }
}

import NotibotProtocol

/// Text of a sender, made safe for a display: no controls and nothing that changes its direction.
enum DisplayText {
  static func clean(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result.append(scalar)
      case "\t", "\r", "\u{2028}", "\u{2029}": result.append(" ")
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{200E}", "\u{200F}", "\u{061C}",
        "\u{202A}"..."\u{202E}",
        "\u{2066}"..."\u{2069}", "\u{FEFF}":
        result.append("\u{FFFD}")
      case _: result.append(scalar)
      }
    }
    return String(result)
  }

  /// At most `limit` characters; cut ones are replaced by an ellipsis, which counts.
  static func cut(_ text: String, to limit: Int?) -> String {
    guard let limit, text.count > limit else { return text }
    return text.prefix(max(0, limit - 1)) + "…"
  }
}

extension DisplayNotification {
  /// Whether the wire cuts it, with the longest identity and with the keys that quiet hours add.
  var isCut: Bool {
    var longest = self
    (longest.details.level, longest.details.flags) = (.passive, max(1, details.flags))
    let identity = NotificationIdentity(id: .max, revision: .max, change: .added, source: .max)
    var json: [UInt8] = []
    return WrittenNotification(notification: longest, identity: identity).encode(into: &json) == .fields
  }
}

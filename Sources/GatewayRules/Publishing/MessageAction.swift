/// An action of a message as ntfy's clients send it: a button, whose press is a decision. Its
/// address, headers and body have no effect: a message never chooses what the gateway connects to.
/// Source: docs.ntfy.sh/publish, Action buttons.
package struct MessageAction: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case view, broadcast, http
  }

  package var kind: Kind
  package var label: String

  /// Actions of a message, at most.
  package static let limit = 3

  /// Bytes of a header, or of the array in a body, at most.
  package static let limitBytes = 4096

  /// `view` opens an address on a phone; a display has nothing to open it with.
  package var isButton: Bool {
    switch kind {
    case .view: false
    case .broadcast, .http: true
    }
  }

  /// Reads a header: `http, Label, URL; …`, with values in quotes if they have a comma or a
  /// semicolon, or an array in JSON. nil: it is neither.
  package static func parse(_ header: String) -> [MessageAction]? {
    guard header.utf8.count <= limitBytes else { return nil }
    if header.drop(while: { $0 == " " }).hasPrefix("[") {
      guard let value = try? JSONValue(parsing: Array(header.utf8), limitBytes: limitBytes) else {
        return nil
      }
      return parse(value)
    }
    var actions: [MessageAction] = []
    guard let rows = values(of: header) else { return nil }
    for row in rows {
      guard let action = MessageAction(row) else { return nil }
      actions.append(action)
    }
    return actions.count <= limit ? actions : nil
  }

  /// Reads an array of objects.
  package static func parse(_ value: JSONValue) -> [MessageAction]? {
    guard let rows = value.array, rows.count <= limit else { return nil }
    var actions: [MessageAction] = []
    for row in rows {
      guard let kind = row["action"]?.string.flatMap(Kind.init), let label = row["label"]?.string,
        isLabel(label)
      else { return nil }
      actions.append(MessageAction(kind: kind, label: label))
    }
    return actions
  }

  private static func isLabel(_ label: String) -> Bool { !label.allSatisfy { $0 == " " } }

  private init(kind: Kind, label: String) {
    self.kind = kind
    self.label = label
  }

  /// Values with and without names; without a name the first one is the action, the second one the
  /// label.
  private init?(_ row: [(name: String?, value: String)]) {
    var (kind, label): (String?, String?) = (nil, nil)
    for (index, (name, value)) in row.enumerated() {
      switch (name, index) {
      case ("action", _), (nil, 0): kind = value
      case ("label", _), (nil, 1): label = value
      // The address, and what it is asked with.
      case (.some, _), (nil, _): break
      }
    }
    guard let kind = kind.flatMap({ Kind(rawValue: $0.lowercased()) }), let label, Self.isLabel(label) else {
      return nil
    }
    self.init(kind: kind, label: label)
  }

  /// The values of each action; nil: a quote is not closed.
  private static func values(of header: String) -> [[(name: String?, value: String)]]? {
    var rows: [[(name: String?, value: String)]] = []
    var row: [(name: String?, value: String)] = []
    var name: String?
    var value = ""
    var quote: Character?
    var wasQuoted = false
    func trimmed(_ text: String) -> String {
      String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
    func endValue() {
      row.append((name, wasQuoted ? value : trimmed(value)))
      (name, value, wasQuoted) = (nil, "", false)
    }
    func endRow() {
      endValue()
      // Nothing after the last semicolon.
      if row.contains(where: { $0.name != nil || !$0.value.isEmpty }) { rows.append(row) }
      row = []
    }
    for character in header {
      switch (character, quote) {
      case (_, .some(let open)) where character == open: quote = nil
      case (_, .some): value.append(character)
      case ("\"", nil), ("'", nil):
        // Elsewhere it is part of a word, such as an apostrophe.
        if trimmed(value).isEmpty, !wasQuoted {
          (value, quote, wasQuoted) = ("", character, true)
        } else {
          value.append(character)
        }
      case (",", nil): endValue()
      case (";", nil): endRow()
      case ("=", nil) where name == nil && isName(trimmed(value)): (name, value) = (trimmed(value), "")
      case (_, nil): if !wasQuoted || !character.isWhitespace { value.append(character) }
      }
    }
    guard quote == nil else { return nil }
    endRow()
    return rows
  }

  /// Names of values; `headers.NAME` and `extras.NAME` have one of their own.
  private static func isName(_ text: String) -> Bool {
    let known = ["action", "label", "url", "clear", "method", "body", "intent", "value"]
    return known.contains(text) || text.hasPrefix("headers.") || text.hasPrefix("extras.")
  }
}

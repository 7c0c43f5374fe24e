import NotibotProtocol

/// An action of a message as ntfy's clients send it: a button, whose press is a decision. Its
/// address, headers and body have no effect: a message never chooses what the gateway connects to.
/// Source: docs.ntfy.sh/publish, Action buttons.
package struct MessageAction: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case view, broadcast, http, copy
  }

  package var kind: Kind
  package var label: String
  /// All members as the sender gave them, for the answer. They are neither kept nor used.
  package private(set) var members: [String: JSONValue] = [:]

  /// Actions of a message, at most.
  package static let limit = 3

  /// Bytes of a label in a decision; the display shows less.
  private static let labelLimitBytes = 256

  /// `view` opens an address on a phone, `copy` fills its clipboard; a display has neither.
  package var isButton: Bool {
    switch kind {
    case .view, .copy: false
    case .broadcast, .http: true
    }
  }

  /// Reads ntfy's short form, `http, Label, URL; …`, or an array in JSON.
  static func parse(_ text: String) throws(PublishProblem) -> [MessageAction] {
    do throws(InputProblem) {
      let rows = text.hasPrefix("[") ? try objects(text) : try ActionParser.rows(of: text)
      guard rows.count <= limit else { throw InputProblem("at most \(limit) are allowed") }
      return try rows.map { row throws(InputProblem) in try MessageAction(row) }
    } catch {
      throw PublishProblem(.actions, "the actions are not valid: \(error)")
    }
  }

  /// A button that was kept.
  init(button label: String) {
    (kind, self.label) = (.broadcast, label)
  }

  private static func objects(_ text: String) throws(InputProblem) -> [[String: JSONValue]] {
    let bytes = Array(text.utf8)
    let value = try JSONValue(parsing: bytes, limitBytes: bytes.count, isLenient: true)
    return try (value.array ?? []).map { row throws(InputProblem) in
      guard let members = row.object else { throw InputProblem("one of them is not an object") }
      return Dictionary(members.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
        .filter { $0.value != .null }
    }
  }

  /// Checks members with their names in lower case; those of `headers` and `extras` are objects.
  private init(_ members: [String: JSONValue]) throws(InputProblem) {
    for name in ["action", "label", "url", "method", "body", "intent", "value"] {
      guard members[name].map({ $0.string != nil }) ?? true else {
        throw InputProblem("'\(name)' is not a text")
      }
    }
    for name in ["headers", "extras"] {
      let isValid = members[name].map { $0.object?.values.allSatisfy { $0.string != nil } ?? false }
      guard isValid ?? true else { throw InputProblem("'\(name)' is not an object of texts") }
    }
    func text(_ name: String) -> String { members[name]?.string ?? "" }
    guard let kind = Kind(rawValue: text("action").lowercased()) else {
      throw InputProblem("an action is not one of view, broadcast, http and copy")
    }
    let label = text("label").trimmed
    guard !label.isEmpty else { throw InputProblem("an action has no label") }
    switch kind {
    case .view, .http: if text("url").isEmpty { throw InputProblem("'\(kind.rawValue)' has no url") }
    case .copy: if text("value").isEmpty { throw InputProblem("'copy' has no value") }
    case .broadcast: break
    }
    let method = text("method").uppercased()
    guard kind != .http || !["GET", "HEAD"].contains(method) || text("body").isEmpty else {
      throw InputProblem("a body is not possible with \(method)")
    }
    guard members["clear"].map({ $0.bool != nil }) ?? true else {
      throw InputProblem("'clear' is not true or false")
    }
    (self.kind, self.members) = (kind, members)
    self.label = DisplayNotification.cut(label, toBytes: Self.labelLimitBytes) { _ in 1 }
    self.members["action"] = .string(kind.rawValue)
    self.members["clear"] = members["clear"] ?? .bool(false)
    if !method.isEmpty { self.members["method"] = .string(method) }
  }
}

/// A reader of ntfy's short form of actions: rows that end with `;`, of values that end with `,`,
/// with or without a key. A value can be in quotes, in which `\` precedes a quote.
private struct ActionParser {
  private var rest: Substring

  static func rows(of text: String) throws(InputProblem) -> [[String: JSONValue]] {
    var parser = ActionParser(rest: Substring(text))
    var rows: [[String: JSONValue]] = []
    while !parser.rest.isEmpty { rows.append(try parser.row()) }
    return rows
  }

  private mutating func row() throws(InputProblem) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    for index in 0... {
      skipSpaces()
      let key = popKey()
      let value = rest.first == "\"" || rest.first == "'" ? try popQuoted() : popBare()
      try Self.set(key ?? Self.key(at: index, of: members), to: value, in: &members)
      skipSpaces()
      guard let end = rest.popFirst(), end != ";" else { break }
      guard end == "," else { throw InputProblem("there is text after a closing quote") }
    }
    return members
  }

  /// The key of a value without one.
  private static func key(at index: Int, of members: [String: JSONValue]) -> String {
    switch (index, members["action"]?.string?.lowercased()) {
    case (0, _): "action"
    case (1, _): "label"
    case (2, "copy"): "value"
    case (2, "broadcast"), (3..., _): ""
    case _: "url"
    }
  }

  private static func set(
    _ key: String, to value: String, in members: inout [String: JSONValue]
  ) throws(InputProblem) {
    for name in ["headers", "extras"] where key.hasPrefix("\(name).") {
      var object = members[name]?.object ?? [:]
      object[String(key.dropFirst(name.count + 1))] = .string(value)
      members[name] = .object(object)
      return
    }
    switch (key.lowercased(), value.lowercased()) {
    case ("action", _), ("label", _), ("url", _), ("method", _), ("body", _), ("intent", _), ("value", _):
      members[key.lowercased()] = .string(value)
    case ("clear", "true"), ("clear", "yes"), ("clear", "1"): members["clear"] = .bool(true)
    case ("clear", "false"), ("clear", "no"), ("clear", "0"): members["clear"] = .bool(false)
    case ("clear", _): throw InputProblem("'clear' is not true or false")
    case ("", _): throw InputProblem("a value has no key; write KEY=VALUE")
    case _: throw InputProblem("an unknown key")
    }
  }

  private mutating func skipSpaces() { rest = rest.drop(while: \.isWhitespace) }

  /// `KEY =`; nil: there is none.
  private mutating func popKey() -> String? {
    let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
    let end = rest.dropFirst(name.count).drop(while: \.isWhitespace)
    guard !name.isEmpty, end.first == "=" else { return nil }
    rest = end.dropFirst().drop(while: \.isWhitespace)
    return String(name)
  }

  private mutating func popBare() -> String {
    let value = rest.prefix { $0 != "," && $0 != ";" }
    rest = rest.dropFirst(value.count)
    return String(value).trimmed
  }

  private mutating func popQuoted() throws(InputProblem) -> String {
    let quote = rest.popFirst()
    var value = ""
    while let character = rest.popFirst() {
      if character == quote { return value }
      if character == "\\", rest.first == quote, let quote {
        rest = rest.dropFirst()
        value.append(quote)
      } else {
        value.append(character)
      }
    }
    throw InputProblem("a quote is not closed")
  }
}

/// A parameter of a message, in all of ntfy's forms: headers, parameters of the address, keys of a
/// JSON object. Source: docs.ntfy.sh/publish, List of all parameters.
package enum PublishParameter: String, Hashable, Sendable, CaseIterable {
  case message, title, priority, tags, actions, delay, timezone, template
  case click, icon, attach, filename, markdown, email, call, cache, firebase
  case sequence = "sequence_id"
  case unifiedPush = "unifiedpush"
  case pollID = "poll-id"
  /// Not ntfy's: a repetition of the request is shown once.
  case messageID = "message-id"

  /// Its names as headers and in an address; the first one with a value counts.
  package var names: [String] {
    switch self {
    case .message: ["x-message", "message", "m"]
    case .title: ["x-title", "title", "ti", "t"]
    case .priority: ["x-priority", "priority", "prio", "p"]
    case .tags: ["x-tags", "tags", "tag", "ta"]
    case .actions: ["x-actions", "actions", "action"]
    case .delay: ["x-delay", "delay", "x-at", "at", "x-in", "in"]
    case .timezone: ["x-timezone", "timezone"]
    case .template: ["x-template", "template", "tpl"]
    case .click: ["x-click", "click"]
    case .icon: ["x-icon", "icon"]
    case .attach: ["x-attach", "attach", "a"]
    case .filename: ["x-filename", "filename", "file", "f"]
    case .markdown: ["x-markdown", "markdown", "md"]
    case .email: ["x-email", "x-e-mail", "email", "e-mail", "mail", "e"]
    case .call: ["x-call", "call"]
    case .cache: ["x-cache", "cache"]
    case .firebase: ["x-firebase", "firebase"]
    case .sequence: ["x-sequence-id", "sequence-id", "sid"]
    case .unifiedPush: ["x-unifiedpush", "unifiedpush", "up"]
    case .pollID: ["x-poll-id", "poll-id"]
    case .messageID: ["x-message-id", "message-id", "x-idempotency-key", "idempotency-key"]
    }
  }

  /// Its keys in a message in JSON: none, or as ntfy's documentation names it.
  fileprivate var jsonKeys: [String] {
    switch self {
    case .template, .unifiedPush, .pollID: []
    case .messageID: names + names.map { $0.replacing("-", with: "_") }
    case .message, .title, .priority, .tags, .actions, .delay, .timezone, .click, .icon, .attach, .filename,
      .markdown, .email, .call, .cache, .firebase, .sequence:
      [rawValue]
    }
  }
}

/// The parameters of a request. A key of a JSON object counts before a header, and a header before
/// a parameter of the address; empty ones are absent.
package struct PublishParameters: Hashable, Sendable {
  private struct Field: Hashable {
    var name: String
    var value: String
  }

  private var fields: [Field]
  private var query: [Field] = []

  /// `fields`: headers with their names in lower case. `query`: the part of the address after `?`.
  package init(fields: [(name: String, value: String)], query: some StringProtocol) {
    self.fields = fields.map { Field(name: $0.name, value: $0.value) }
    let space = UInt8(ascii: "+")
    for pair in query.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let (name, value) = (parts[0], parts.count == 2 ? parts[1] : "")
      self.query.append(
        Field(
          name: PercentCoding.lenientText(name, space: space),
          value: PercentCoding.lenientText(value, space: space)))
    }
  }

  /// Its text, without white space at the ends.
  package subscript(parameter: PublishParameter) -> String? { text(parameter.names) }

  /// The first value that is not empty of a header or of a parameter of the address with one of
  /// these names.
  func text(_ names: [String]) -> String? {
    for name in names {
      guard let field = fields.first(where: { $0.name == name }) else { continue }
      let text = EncodedWords.decode(field.value).trimmed
      if !text.isEmpty, !(name == "priority" && Self.isOfHTTP(text)) { return text }
    }
    for name in names {
      guard let text = query.first(where: { $0.name == name })?.value.trimmed else { continue }
      if !text.isEmpty { return text }
    }
    return nil
  }

  /// Parameters with more than one value: only the first one counts.
  var repeated: [PublishParameter] {
    PublishParameter.allCases.filter { parameter in
      let all = (fields + query).filter { parameter.names.contains($0.name) && !$0.value.trimmed.isEmpty }
      return Set(all.map(\.value)).count > 1
        && !(parameter == .priority && all.contains { Self.isOfHTTP($0.value) })
    }
  }

  /// ntfy's rule: other words than these are false.
  func isTrue(_ names: [String]) -> Bool? {
    text(names).map { ["1", "yes", "true"].contains($0.lowercased()) }
  }

  func isTrue(_ parameter: PublishParameter) -> Bool? { isTrue(parameter.names) }

  /// `u=3, i`, which proxies add: the priority of the response. Source: RFC 9218.
  private static func isOfHTTP(_ text: String) -> Bool {
    text == "i" || text.hasPrefix("u=") && text.dropFirst(2).first?.isNumber == true
  }

  /// Adds the keys of a message in JSON. Returns its topic and its text, if it has them. As in
  /// ntfy, keys are in any case, and `null`, 0, false and empty values are absent.
  mutating func add(json body: [UInt8]) throws(PublishProblem) -> (topic: String?, message: String?) {
    var members: [String: JSONValue] = [:]
    for (key, value) in try Self.json(body, or: .json).object?.sorted(by: { $0.key < $1.key }) ?? [] {
      members[key.lowercased()] = value
    }
    var found: [PublishParameter: String] = [:]
    for parameter in PublishParameter.allCases {
      guard let value = parameter.jsonKeys.lazy.compactMap({ members[$0] }).first else { continue }
      guard let text = Self.text(value, of: parameter) else {
        throw PublishProblem(.json, "'\(parameter.rawValue)' has the wrong type")
      }
      if !text.isEmpty { found[parameter] = text }
    }
    let message = found.removeValue(forKey: .message)
    fields.insert(contentsOf: found.map { Field(name: $0.key.names[0], value: $0.value) }, at: 0)
    return (members["topic"]?.string, message)
  }

  /// Parses an object; `code` is that of other bodies.
  static func json(_ body: [UInt8], or code: PublishProblem.Code) throws(PublishProblem) -> JSONValue {
    guard body.count <= PublishRequest.jsonLimitBytes else {
      throw PublishProblem(.jsonTooLarge, "more than \(PublishRequest.jsonLimitBytes) bytes of JSON")
    }
    do {
      let value = try JSONValue(parsing: body, limitBytes: body.count, isLenient: true)
      guard value.object != nil else { throw PublishProblem(code, "the body is not a JSON object") }
      return value
    } catch let problem as PublishProblem {
      throw problem
    } catch {
      throw PublishProblem(code, "the body is not JSON: \(error)")
    }
  }

  /// As the header has it; empty: absent; nil: of another type.
  private static func text(_ value: JSONValue, of parameter: PublishParameter) -> String? {
    switch (value, parameter) {
    case (.null, _), (.bool(false), _), (.number(0), _): ""
    case (.array(let values), .tags):
      values.allSatisfy { $0.text != nil } ? values.compactMap(\.text).joined(separator: ",") : nil
    case (.array(let values), .actions): values.isEmpty ? "" : value.line
    case (.array, _), (.object, _): nil
    case (.string, _), (.number, _), (.longNumber, _), (.bool, _): value.text
    }
  }
}

extension String {
  /// Without white space at both ends.
  var trimmed: String {
    let start = drop(while: \.isWhitespace)
    guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(start[...last])
  }

  /// With line ends for `\n`, written as two characters.
  var withLineEnds: String { replacing("\\n", with: "\n") }
}

/// The templates that ntfy's server has for webhooks in JSON, with the same title and message.
/// Source: docs.ntfy.sh/publish, Pre-defined templates.
enum MessageTemplate: String, CaseIterable {
  case github, grafana, alertmanager

  /// Characters of a text that the body has.
  private static let textLimit = 2000

  /// The template of a request; nil: none.
  init?(named name: String?) throws(PublishProblem) {
    switch name?.lowercased() {
    case nil, "0", "no", "false": return nil
    case "1", "yes", "true":
      throw PublishProblem(
        .templateInline,
        "templates in the request are not supported; use template=github, grafana or alertmanager")
    case .some(let word):
      guard let template = MessageTemplate(rawValue: word) else {
        throw PublishProblem(.templateUnknown, "the templates are github, grafana and alertmanager")
      }
      self = template
    }
  }

  func render(_ body: [UInt8]) throws(PublishProblem) -> (title: String, text: String) {
    let root = Node(value: try PublishParameters.json(body, or: .templateNotJSON))
    do throws(InputProblem) {
      let (title, text) =
        switch self {
        case .github: try Self.github(root)
        case .grafana: try Self.grafana(root)
        case .alertmanager: try Self.alertmanager(root)
        }
      return (title.withLineEnds.trimmed, text.withLineEnds.trimmed)
    } catch {
      throw PublishProblem(.templateFailed, "the template \(rawValue) does not fit the body: \(error)")
    }
  }

  /// A place in the body.
  private struct Node {
    /// nil: nothing is there.
    var value: JSONValue?

    /// A member, if it is there; of a text or a number there is none.
    func at(_ name: String) throws(InputProblem) -> Node {
      guard let value else { return self }
      guard let members = value.object else { throw InputProblem("what has '\(name)' is not an object") }
      return Node(value: members[name].flatMap { $0 == .null ? nil : $0 })
    }

    subscript(names: String...) -> Node {
      get throws(InputProblem) {
        var node = self
        for name in names { node = try node.at(name) }
        return node
      }
    }

    /// As Go's templates print it.
    var text: String { value.map { $0.text ?? $0.line } ?? "<no value>" }

    /// What Go's templates take for true.
    var isTrue: Bool {
      switch value {
      case nil, .null, .bool(false), .number(0), .string(""): false
      case .array(let values): !values.isEmpty
      case .object(let members): !members.isEmpty
      case .bool, .number, .longNumber, .string: true
      }
    }

    /// The text, at most `textLimit` characters.
    func cut() throws(InputProblem) -> String {
      guard let text = value?.string else { throw InputProblem("a text is missing") }
      return String(text.prefix(textLimit))
    }

    /// With capitals at the beginnings of words.
    func titled() throws(InputProblem) -> String {
      guard let text = value?.string else { throw InputProblem("a text is missing") }
      return text.split(separator: " ", omittingEmptySubsequences: false)
        .map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: " ")
    }
  }

  private static func grafana(_ root: Node) throws(InputProblem) -> (String, String) {
    let title = try root["title"]
    let words = { (mark: String, instead: String) in "\(mark) \(title.isTrue ? title.text : instead)" }
    let text = try root["message"].cut()
    switch try root["status"].text {
    case "firing": return (words("🚨", "Alert firing"), text)
    case "resolved": return (words("✅", "Alert resolved"), text)
    case _: return (words("⚠️ Unknown alert:", "Alert"), text)
    }
  }

  private static func alertmanager(_ root: Node) throws(InputProblem) -> (String, String) {
    let status = try root["status"]
    guard let word = ["firing": "🚨 Alert", "resolved": "✅ Resolved"][status.text] else {
      throw InputProblem("the status is not firing or resolved")
    }
    let alerts = try root["alerts"].value?.array ?? []
    let title = "\(word): \(try Node(value: alerts.first)["labels", "alertname"].text)"
    var text = "Status: \(try status.titled())\nReceiver: \(try root["receiver"].text)"
    for alert in alerts.map({ Node(value: $0) }) {
      let (labels, notes) = (try alert["labels"], try alert["annotations"])
      let end = try alert["endsAt"]
      text += """

        Alert: \(try labels["alertname"].text)
        Instance: \(try labels["instance"].text)
        Severity: \(try labels["severity"].text)
        Starts at: \(try alert["startsAt"].text)

        """
      if end.isTrue, end.text != "0001-01-01T00:00:00Z" { text += "Ends at: \(end.text)" }
      for name in ["summary", "description"] where try notes[name].isTrue {
        text += "\n\(name.prefix(1).uppercased() + name.dropFirst()): \(try notes[name].text)"
      }
      text += "\nSource: \(try alert["generatorURL"].text)\n\n"
    }
    return (title, text)
  }

  private static func github(_ root: Node) throws(InputProblem) -> (String, String) {
    let (action, repository) = (try root["action"], try root["repository"])
    func url(_ names: String...) throws(InputProblem) -> String {
      var node = root
      for name in names + ["html_url"] { node = try node.at(name) }
      return node.text
    }
    func who() throws(InputProblem) -> String { try root["sender", "login"].text }
    func body(_ word: String, _ node: Node) throws(InputProblem) -> String {
      try node["body"].isTrue ? "\n\n\(word):\n\(try node["body"].cut())" : ""
    }
    func numbered(_ node: Node) throws(InputProblem) -> String { "#\(try node["number"].text)" }
    if try root["starred_at"].isTrue, action.text == "created" {
      return (
        "⭐ \(try who()) starred \(try repository["name"].text)",
        "Stargazer: \(try url("sender"))\nRepository: \(try url("repository"))"
      )
    }
    if repository.isTrue, action.text == "started" {
      return (
        "👀 \(try who()) started watching \(try repository["name"].text)",
        "Watcher: \(try url("sender"))\nRepository: \(try url("repository"))"
      )
    }
    if try root["comment"].isTrue, action.text == "created" {
      let (issue, comment) = (try root["issue"], try root["comment"])
      return (
        "💬 New comment on \(try numbered(issue)): \(try issue["title"].text)",
        "Commenter: \(try url("comment", "user"))\nRepository: \(try url("repository"))\n"
          + "Comment link: \(try url("comment"))\(try body("Comment", comment))"
      )
    }
    let pull = try root["pull_request"]
    if pull.isTrue {
      return (
        "🔀 Pull request \(action.text): \(try numbered(pull)) \(try pull["title"].text)",
        "Branch: \(try pull["head", "ref"].text) → \(try pull["base", "ref"].text)\n"
          + "\(try action.titled()) by: \(try url("pull_request", "user"))\nRepository: \(try url("repository"))\n"
          + "Pull request: \(try url("pull_request"))\(try body("Description", pull))"
      )
    }
    let issue = try root["issue"]
    guard issue.isTrue else { throw InputProblem("the event is not a star, comment, pull request or issue") }
    return (
      "🐛 Issue \(action.text): \(try numbered(issue)) \(try issue["title"].text)",
      "\(try action.titled()) by: \(try url("issue", "user"))\nRepository: \(try url("repository"))\n"
        + "Issue link: \(try url("issue"))\(try body("Description", issue))"
    )
  }
}

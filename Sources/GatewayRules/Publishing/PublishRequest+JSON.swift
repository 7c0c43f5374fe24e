// A message as one object: {"topic":"t","message":"m",…}. Source: docs.ntfy.sh/publish, Publish as
// JSON. As there, keys without a meaning here are ignored.
extension PublishRequest {
  init(method: String, json body: [UInt8]) throws(Refusal) {
    guard method == "POST" || method == "PUT" else {
      throw Refusal(status: 405, text: "use POST or PUT for a message in JSON")
    }
    guard body.count <= Self.bodyLimitBytes else { throw Refusal(status: 413, text: "more than 4096 bytes") }
    let root: JSONValue
    do {
      root = try JSONValue(parsing: body, limitBytes: Self.bodyLimitBytes)
    } catch {
      throw Refusal(status: 400, text: "the path is /, and the body is not JSON: \(error)")
    }
    guard let topic = root["topic"]?.string, Self.isName(topic, Self.topicLimitBytes) else {
      throw Refusal(status: 400, text: "'topic' is not 1 to 64 letters, digits, - and _")
    }
    self.topic = topic
    isRemoval = false
    sequence = try Self.text("sequence_id", in: root)
    if let sequence, !Self.isName(sequence, Self.sequenceLimitBytes) {
      throw Refusal(status: 400, text: "'sequence_id' is not 1 to 64 letters, digits, - and _")
    }
    title = try Self.text("title", in: root) ?? ""
    let message = try Self.text("message", in: root) ?? ""
    text = message.isEmpty ? "triggered" : message
    guard let priority = Self.priority(root["priority"]?.text) else {
      throw Refusal(status: 400, text: "'priority' is not 1 to 5")
    }
    self.priority = priority
    guard let values = (root["tags"] ?? .array([])).array, values.allSatisfy({ $0.string != nil }) else {
      throw Refusal(status: 400, text: "'tags' is not an array of strings")
    }
    tags = values.prefix(Self.tagsLimit).compactMap(\.string)
    guard let actions = MessageAction.parse(root["actions"] ?? .array([])) else { throw Self.wrongActions }
    self.actions = actions
    messageID = nil
  }

  private static func text(_ key: String, in root: JSONValue) throws(Refusal) -> String? {
    guard let value = root[key] else { return nil }
    guard let text = value.string else { throw Refusal(status: 400, text: "'\(key)' is not a string") }
    return text
  }
}

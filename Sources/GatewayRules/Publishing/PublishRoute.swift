/// The meaning of a request by its method and path. Source: docs.ntfy.sh/publish,
/// docs.ntfy.sh/subscribe/api.
package enum PublishRoute: Hashable, Sendable {
  /// A message; `topic` is nil if the body is JSON that has it.
  case message(topic: String?, sequence: String?)
  case removal(PublishRequest.Event, topic: String, sequence: String)
  /// Messages of topics, as they are on the display.
  case poll(topics: [String])
  case document(PublishDocument)

  /// Words that are not topics in ntfy.
  private static let reserved: Set<String> = [
    "docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1",
  ]

  /// Paths of other services, whose JSON ntfy would show as a text. `onlyJSON`: the path is also a
  /// likely topic, so texts are accepted.
  private static let foreign: [(path: String, service: String, onlyJSON: Bool)] = [
    ("message", "Gotify", false), ("_matrix/push/v1/notify", "Matrix", false),
    ("1/messages.json", "Pushover", false), ("v2/pushes", "Pushbullet", false),
    ("v2/send", "signal-cli-rest-api", false), ("v2/alerts", "Opsgenie", false),
    ("v2/enqueue", "PagerDuty", false), ("publicapi/add", "Prowl", false),
    ("api", "Discord, Alertmanager and Home Assistant", true), ("hooks", "Mattermost and Rocket.Chat", true),
    ("services", "Slack", true), ("notify", "Apprise's server", true), ("push", "Bark", true),
  ]

  /// - Parameters:
  ///   - path: without the part after `?`.
  ///   - isJSON: whether its content type says that the body is JSON.
  package init(
    method: String, path: String, parameters: PublishParameters, isJSON: Bool
  ) throws(PublishProblem) {
    let words = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
      .map { PercentCoding.text($0) ?? "%" }
    if let document = PublishDocument(method: method, words: words) {
      self = .document(document)
      return
    }
    let isWriting = method == "POST" || method == "PUT"
    if isWriting, words == [""] {
      self = .message(topic: nil, sequence: nil)
      return
    }
    if isWriting, let service = Self.service(of: words, isJSON: isJSON) {
      throw PublishProblem(
        .notFound, "this path belongs to \(service); publish with POST /TOPIC, as with ntfy")
    }
    guard let topic = words.first, let route = try Self.route(method, topic, words.dropFirst(), parameters)
    else {
      throw PublishProblem(
        .notFound, "nothing is at this method and path; publish with POST /TOPIC or GET /TOPIC/publish")
    }
    self = route
  }

  /// nil: ntfy has no such route.
  private static func route(
    _ method: String, _ topic: String, _ rest: ArraySlice<String>, _ parameters: PublishParameters
  ) throws(PublishProblem) -> PublishRoute? {
    let second = rest.first ?? ""
    let topics = topic.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard topics.allSatisfy(isName) else {
      guard method != "GET", rest.isEmpty, topics.count == 1 else { return nil }
      throw PublishProblem(.notFound, "the topic is not 1 to 64 letters, digits, - and _")
    }
    if topic == "v1", method == "GET" || method == "HEAD" { return nil }
    if let word = topics.first(where: reserved.contains) {
      throw PublishProblem(.topicReserved, "'\(word)' is not a topic, as in ntfy")
    }
    switch (method, rest.count, rest.last ?? "") {
    case ("GET", 0, _):
      throw PublishProblem(
        .notFound, "there is no page for a topic; publish with POST, read with GET /TOPIC/json?poll=1")
    case ("GET", 1, "json"):
      guard parameters.isTrue(["x-poll", "poll", "po"]) == true else { throw noSubscriptions }
      return .poll(topics: topics)
    case ("GET", 1, "sse"), ("GET", 1, "raw"), ("GET", 1, "ws"): throw noSubscriptions
    case ("GET", 1, "auth"): return .document(.success)
    case _ where topics.count > 1: return nil
    case ("GET", 1, "publish"), ("GET", 1, "send"), ("GET", 1, "trigger"), ("POST", 0, _), ("PUT", 0, _):
      return .message(topic: topic, sequence: nil)
    case ("POST", 1, _), ("PUT", 1, _): return .message(topic: topic, sequence: try sequence(second))
    case ("DELETE", 1, _), ("GET", 2, "delete"):
      return .removal(.delete, topic: topic, sequence: try sequence(second))
    case ("PUT", 2, "clear"), ("PUT", 2, "read"), ("POST", 2, "clear"), ("POST", 2, "read"),
      ("GET", 2, "clear"),
      ("GET", 2, "read"):
      return .removal(.clear, topic: topic, sequence: try sequence(second))
    case _: return nil
    }
  }

  private static let noSubscriptions = PublishProblem(
    .notFound, "subscribing is not supported: the display is the subscriber; read with GET /TOPIC/json?poll=1"
  )

  private static func service(of words: [String], isJSON: Bool) -> String? {
    foreign.first { row in
      let path = row.path.split(separator: "/").map(String.init)
      return words.starts(with: path) && (isJSON || !row.onlyJSON)
    }?.service
  }

  private static func sequence(_ text: String) throws(PublishProblem) -> String {
    guard isName(text) else {
      throw PublishProblem(.sequence, "the sequence is not 1 to 64 letters, digits, - and _")
    }
    return text
  }

  /// Whether it is a name of a topic or of a sequence.
  package static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        case _: false
        }
      }
  }
}

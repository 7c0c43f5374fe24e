/// What `gateway.json` says. Every key is optional.
package struct GatewayConfiguration: Hashable, Sendable {
  /// The board's port, as in every other command.
  package var port = "auto"
  /// Where senders connect with TLS and HTTP/2.
  package var apns = SocketPlace(host: "127.0.0.1", port: 2197)
  /// Where scripts connect with HTTP/1.1; nil: nowhere.
  package var http: SocketPlace? = SocketPlace(host: "127.0.0.1", port: 2586)
  /// Whether addresses other than loopback are allowed for `apns`.
  package var listensOnNetwork = false
  package var quietHours: QuietHours?
  package var intake = IntakeMachine.Options()
  package var decisions = DecisionMachine.Options()
  /// Notifications in the outbox, at most.
  package var entriesLimit = 10_000
  package var connectionsLimit = 32
  package var failures: [FailureRule] = []
  /// Where answers go, by the names that profiles use.
  package var callbacks: [String: Callback] = [:]

  /// Callbacks for presses of actions in messages of scripts, by topic.
  package var messageCallbacks: [String: String] = [:]

  /// Bytes of the file, at most.
  package static let fileLimitBytes = 65_536

  package init() {}

  /// Reads the file. Throws with the key that is wrong.
  package init(parsing bytes: [UInt8]) throws(InputProblem) {
    let root: JSONValue
    do {
      root = try JSONValue(parsing: bytes, limitBytes: Self.fileLimitBytes)
    } catch {
      throw InputProblem(error.description)
    }
    var reader = try MemberReader(root, "the configuration")
    port = try reader.string("port") ?? port
    listensOnNetwork = try reader.bool("listensOnNetwork") ?? false
    if let text = try reader.string("apns") { apns = try SocketPlace(text, "apns") }
    switch reader.value("http") {
    case nil: break
    case .null: http = nil
    case .some(let value): http = try SocketPlace(value.string ?? "", "http")
    }
    guard apns.isLoopback || listensOnNetwork else {
      throw InputProblem(
        "'apns' is neither 127.0.0.1 nor [::1]; 'listensOnNetwork' allows an address of the network")
    }
    // It has neither TLS nor a password.
    guard http?.isLoopback ?? true else { throw InputProblem("'http' must be 127.0.0.1 or [::1]") }
    if let text = try reader.string("quietHours") { quietHours = try QuietHours(parsing: text) }
    if let seconds = try reader.whole("dedupeSeconds", 0...3600) { intake.contentKeepMs = seconds * 1000 }
    if let seconds = try reader.whole("confirmSeconds", 2...300) { decisions.confirmMs = seconds * 1000 }
    if let count = try reader.whole("pushesPerMinute", 0...1_000_000) { intake.pushesPerMinute = count }
    if let count = try reader.whole("burst", 1...1_000_000) { intake.burst = count }
    if let count = try reader.whole("entriesLimit", 1...1_000_000) {
      (entriesLimit, intake.itemsLimit) = (Int(count), Int(count))
    }
    if let count = try reader.whole("connectionsLimit", 1...1000) { connectionsLimit = Int(count) }
    for value in try reader.array("failures") { failures.append(try FailureRule(value)) }
    for (name, value) in try reader.object("callbacks") {
      callbacks[name] = try Callback(value, "the callback '\(name)'")
    }
    for (topic, value) in try reader.object("messageCallbacks") {
      guard let name = value.string, callbacks[name] != nil else {
        throw reader.problem("messageCallbacks", "an object of topics and names of 'callbacks'")
      }
      messageCallbacks[topic] = name
    }
    try reader.end()
  }
}

/// An address and a TCP port. 0: any free port.
package struct SocketPlace: Hashable, Sendable {
  package var host: String
  package var port: Int

  package init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  init(_ text: String, _ key: String) throws(InputProblem) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port), colon != text.startIndex
    else { throw InputProblem("'\(key)' is not ADDRESS:PORT, such as 127.0.0.1:2197") }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    self.init(host: String(host), port: port)
  }

  package var isLoopback: Bool { host == "127.0.0.1" || host == "::1" }
}

extension QuietHours {
  /// Reads `22:00-07:00`.
  init(parsing text: String) throws(InputProblem) {
    let minutes = text.split(separator: "-", omittingEmptySubsequences: false).map(Self.minute)
    guard minutes.count == 2, let start = minutes[0], let end = minutes[1] else {
      throw InputProblem("'quietHours' is not START-END, such as 22:00-07:00")
    }
    self.init(startMinute: start, endMinute: end)
  }

  private static func minute(_ text: Substring) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 }), let hours = Int(parts[0]),
      let minutes = Int(parts[1]), (0..<24).contains(hours), (0..<60).contains(minutes)
    else { return nil }
    return hours * 60 + minutes
  }
}

/// An answer that is not true, for tests of a sender: counted, so the same each time.
package struct FailureRule: Hashable, Sendable {
  /// nil: any.
  package var topic: String?
  /// The name of a device token; nil: any.
  package var token: String?
  package var status: Int
  /// Each of these pushes fails: 1 all, 3 the third, sixth …
  package var every: Int64
  private var count: Int64 = 0

  init(_ value: JSONValue) throws(InputProblem) {
    var reader = try MemberReader(value, "a rule of 'failures'")
    topic = try reader.string("topic")
    token = try reader.string("token")
    if let topic, let (words, remedy) = Topic.problem(topic) {
      throw InputProblem("a topic of 'failures' can never match: \(words); \(remedy)")
    }
    guard let status = try reader.whole("status", 410...503), [410, 429, 503].contains(status) else {
      throw reader.problem("status", "410, 429 or 503")
    }
    self.status = Int(status)
    every = try reader.whole("every", 1...1_000_000) ?? 1
    try reader.end()
  }

  /// The reason if this push fails.
  package mutating func reason(topic: String, token: String) -> PushReason? {
    guard self.topic ?? topic == topic, self.token ?? token == token else { return nil }
    count += 1
    guard count % every == 0 else { return nil }
    switch status {
    case 410: return .unregistered
    case 429: return .tooManyRequests
    case _: return .serviceUnavailable
    }
  }
}

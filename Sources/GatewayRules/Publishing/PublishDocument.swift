/// A document that ntfy's clients read before they publish: that of a server without accounts.
package enum PublishDocument: Hashable, Sendable {
  case empty, success, health, account, statistics, configuration, script

  /// nil: the path has none.
  init?(method: String, words: [String]) {
    // The headers of HEAD are those of GET.
    switch (method == "HEAD" && words != [""] ? "GET" : method, words) {
    case ("HEAD", [""]), ("OPTIONS", _): self = .empty
    case ("GET", ["v1", "health"]): self = .health
    case ("GET", ["v1", "account"]): self = .account
    case ("GET", ["v1", "stats"]): self = .statistics
    case ("GET", ["v1", "config"]): self = .configuration
    case ("GET", ["config.js"]): self = .script
    case _: return nil
    }
  }

  package var type: String {
    switch self {
    case .script: "text/javascript"
    case .empty, .success, .health, .account, .statistics, .configuration: "application/json"
    }
  }

  /// The body. `count`: messages since the start of the gateway.
  package func body(isHealthy: Bool, count: Int) -> String {
    let value: JSONValue
    switch self {
    case .empty: return ""
    case .success: value = .object(["success": .bool(true)])
    case .health: value = .object(["healthy": .bool(isHealthy)])
    case .statistics: value = .object(["messages": .whole(count), "messages_rate": .number(0)])
    case .account: value = Self.account(count)
    case .configuration: value = Self.settings
    case .script: return "var config = \(Self.settings.line);\n"
    }
    return value.line + "\n"
  }

  /// The day of a server without accounts: ntfy allows a message every 5 s.
  private static let messagesPerDay = 17_280

  private static func account(_ count: Int) -> JSONValue {
    var limits: [String: JSONValue] = [
      "basis": .string("ip"), "messages": .whole(messagesPerDay),
      "messages_expiry_duration": .whole(PublishRequest.keepSeconds),
    ]
    var stats: [String: JSONValue] = [
      "messages": .whole(count), "messages_remaining": .whole(max(0, messagesPerDay - count)),
    ]
    for name in ["emails", "calls", "reservations", "attachment_total_size"] {
      limits[name] = .number(0)
      stats[name] = .number(0)
      stats["\(name)_remaining"] = .number(0)
    }
    for name in ["attachment_file_size", "attachment_expiry_duration", "attachment_bandwidth"] {
      limits[name] = .number(0)
    }
    return .object([
      "username": .string("*"), "role": .string("anonymous"), "limits": .object(limits),
      "stats": .object(stats),
    ])
  }

  private static let settings: JSONValue = {
    var members: [String: JSONValue] = [
      "app_root": .string("/"), "disallowed_topics": .array([]),
    ]
    for name in ["base_url", "billing_contact", "web_push_public_key", "config_hash"] {
      members[name] = .string("")
    }
    let features = [
      "login", "signup", "payments", "calls", "emails", "email_verify", "reservations", "web_push",
    ]
    for name in features.map({ "enable_\($0)" }) + ["require_login"] { members[name] = .bool(false) }
    return .object(members)
  }()
}

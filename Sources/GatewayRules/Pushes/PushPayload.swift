package import NotibotProtocol

/// The body of a push.
package struct PushPayload: Hashable, Sendable {
  /// `aps.alert`, as text.
  package struct Alert: Hashable, Sendable {
    package var title: String?
    package var subtitle: String?
    package var body: String?
  }

  /// A Live Activity's change: `aps.event`.
  package struct Activity: Hashable, Sendable {
    package var timestamp: Int64
    package var isEnd: Bool
    package var staleDate: Int64?
    package var state: JSONValue
  }

  package var root: JSONValue
  package var alert: Alert?
  package var badge: Int?
  package var hasSound: Bool
  package var category: String?
  package var threadID: String?
  package var interruptionLevel: NotificationDetails.Level?
  package var activity: Activity?

  /// Reads a body; nil when it is not an object with an object `aps`, or a known key has the wrong
  /// type.
  package init?(parsing bytes: [UInt8], limitBytes: Int) {
    guard let root = try? JSONValue(parsing: bytes, limitBytes: limitBytes), let aps = root["aps"],
      aps.object != nil
    else { return nil }
    self.root = root
    switch aps["alert"] {
    case nil, .null: alert = nil
    case .string(let text): alert = Alert(body: text)
    case .object(let object): alert = Self.alert(object)
    case .bool, .number, .array: return nil
    }
    switch aps["badge"] {
    case nil, .null: badge = nil
    case .some(let value):
      guard let count = value.whole, (0...999_999).contains(count) else { return nil }
      badge = Int(count)
    }
    hasSound = aps["sound"].map { $0 != .null } ?? false
    category = aps["category"]?.string
    threadID = aps["thread-id"]?.string
    // An unknown name is the default level.
    interruptionLevel = aps["interruption-level"].map {
      $0.string.flatMap(NotificationDetails.Level.init(name:)) ?? .active
    }
    if let event = aps["event"]?.string {
      guard event == "update" || event == "end" || event == "start" else { return nil }
      activity = Activity(
        timestamp: aps["timestamp"]?.whole ?? 0, isEnd: event == "end",
        staleDate: aps["stale-date"]?.whole, state: aps["content-state"] ?? .object([:]))
    }
  }

  private static func alert(_ object: [String: JSONValue]) -> Alert {
    func text(_ key: String, localised: String) -> String? {
      if let text = object[key]?.string { return text }
      guard let name = object["\(localised)-key"]?.string else { return nil }
      // There is no table of translations here: the key and its arguments.
      let arguments = object["\(localised)-args"]?.array?.compactMap(\.text) ?? []
      return ([name] + arguments).joined(separator: " ")
    }
    return Alert(
      title: text("title", localised: "title-loc"), subtitle: text("subtitle", localised: "subtitle-loc"),
      body: text("body", localised: "loc"))
  }
}

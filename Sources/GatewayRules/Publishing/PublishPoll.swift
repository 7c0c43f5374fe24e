/// A request for the messages of topics. Source: docs.ntfy.sh/subscribe/api.
package struct PublishPoll: Hashable, Sendable {
  /// Where to begin.
  private enum Start: Hashable {
    case all
    case latest
    case none
    case time(Int64)
    /// After the message with this name.
    case message(String)
  }

  package var topics: [String]
  /// Whether messages that wait for their time are asked for.
  package var hasDelayed: Bool
  private var start: Start
  /// Texts that members must have.
  private var filters: [String: [String]] = [:]

  package init(topics: [String], _ parameters: PublishParameters, now: WallTime) throws(PublishProblem) {
    self.topics = topics
    hasDelayed = parameters.isTrue(["x-scheduled", "scheduled", "sched"]) ?? false
    switch parameters.text(["x-since", "since", "si"]) {
    case nil, "all": start = .all
    case "latest": start = .latest
    case "none": start = .none
    case .some(let text):
      if text.count == 12, PublishRoute.isName(text) {
        start = .message(text)
      } else if let seconds = Int64(text) {
        start = .time(seconds)
      } else if let before = PublishDelay.duration(text) {
        start = .time(now.seconds - before / 1000)
      } else {
        throw PublishProblem(
          .since, "'since' is not all, latest, none, a message id, a Unix time or a duration")
      }
    }
    for name in ["id", "message", "title"] {
      filters[name] = parameters.text(["x-\(name)", name]).map { [$0] }
    }
    if let text = parameters.text(["x-priority", "priority", "prio", "p"]) {
      filters["priority"] = try text.split(separator: ",").map { word throws(PublishProblem) in
        guard let priority = PublishRequest.priority(String(word).trimmed), priority > 0 else {
          throw PublishProblem(
            .priority, "the priority is not 1 to 5, min, low, default, high, max or urgent")
        }
        return String(priority)
      }
    }
    guard parameters.text(["x-tags", "tags", "tag", "ta"]) == nil else {
      throw PublishProblem(.unsupported, "messages cannot be found by their tags, which are not kept")
    }
  }

  /// The rows that are asked for, of all in the order of their times.
  package func select(_ rows: [JSONValue]) -> [JSONValue] {
    let found = rows.filter { row in
      filters.allSatisfy { name, texts in
        texts.contains(row[name]?.text ?? (name == "priority" ? "3" : ""))
      }
    }
    switch start {
    case .all: return found
    case .none: return []
    case .latest: return found.suffix(1)
    case .time(let seconds): return found.filter { $0["time"]?.whole ?? 0 >= seconds }
    case .message(let id):
      guard let index = found.firstIndex(where: { $0["id"]?.string == id }) else { return found }
      return Array(found[(index + 1)...])
    }
  }
}

package import NotibotProtocol

/// The record of a message on the display, so that scripts can read it again. Its texts are in the
/// outbox only.
package struct PublishedMessage: Hashable, Sendable {
  package var id: String
  /// nil: the same as `id`.
  package var sequence: String?
  package var priority: Int?

  init(id: String, sequence: String?, priority: Int?) {
    (self.id, self.sequence, self.priority) = (id, sequence, priority)
  }

  /// One line of JSON, for the gateway's file.
  package var line: String { JSONValue.object(members).line }

  /// Reads what `line` wrote; nil for anything else.
  package init?(line: String) {
    guard let root = try? JSONValue(parsing: Array(line.utf8), limitBytes: PublishRequest.jsonLimitBytes),
      let id = root["id"]?.string
    else { return nil }
    self.init(
      id: id, sequence: root["sequence_id"]?.string, priority: root["priority"]?.whole.map { Int($0) })
  }

  fileprivate var members: [String: JSONValue] {
    var members: [String: JSONValue] = ["id": .string(id)]
    members["sequence_id"] = sequence.map { .string($0) }
    members["priority"] = priority.map { .whole($0) }
    return members
  }

  /// ntfy's message: as it is on the display.
  package func content(topic: String, _ shown: DisplayNotification) -> JSONValue {
    var members = self.members
    members["time"] = .whole(shown.timestamp)
    members["expires"] = .whole(Int64(shown.timestamp) + PublishRequest.keepSeconds)
    members["event"] = .string(PublishRequest.Event.message.rawValue)
    members["topic"] = .string(topic)
    if !shown.title.isEmpty { members["title"] = .string(shown.title) }
    members["message"] = .string(shown.text)
    return .object(members)
  }
}

extension PublishRequest {
  /// ntfy's answer, with `notes` about everything that was changed or ignored.
  package func answer(id: String, now: WallTime, _ outcome: IntakeOutcome?) -> JSONValue {
    let time = (due ?? now).seconds
    var members = echo.merging(PublishedMessage(id: id, sequence: sequence, priority: priority).members) {
      $1
    }
    members["time"] = .whole(time)
    members["event"] = .string(event.rawValue)
    members["topic"] = .string(topic)
    if isKept { members["expires"] = .whole(time + Self.keepSeconds) }
    var notes = notes
    if event == .message {
      members["message"] = .string(text)
      if !title.isEmpty { members["title"] = .string(title) }
      if !tags.isEmpty { members["tags"] = .array(tags.map { .string($0) }) }
      if !actions.isEmpty {
        members["actions"] = .array(
          actions.enumerated().map { index, action in
            .object(action.members.merging(["id": .string("\(id.prefix(9))\(index)")]) { $1 })
          })
      }
      notes += displayNotes
    }
    switch outcome {
    case .muted: notes.append("not shown: the topic is muted")
    case .duplicate: notes.append("not shown again: a repetition of this request was taken before")
    case nil, .shown, .replaced, .removed, .nothing, .oncePerDay, .outdated, .superseded, .clearedBefore,
      .expired,
      .notStored, .delayed, .unavailable, .tooMany, .tooManyDelayed:
      break
    }
    if !notes.isEmpty { members["notes"] = .array(notes.map { .string($0) }) }
    return .object(members)
  }

  // MARK: Delayed messages

  /// The message as one line of JSON, for the gateway's file; without the addresses of its actions.
  func line(_ id: String, _ callback: String?) -> String {
    var members = PublishedMessage(id: id, sequence: sequence, priority: priority).members
    members["topic"] = .string(topic)
    members["title"] = .string(title)
    members["message"] = .string(text)
    members["tags"] = .array(tags.map { .string($0) })
    members["buttons"] = .array(actions.filter(\.isButton).map { .string($0.label) })
    members["due"] = due.map { .whole($0.milliseconds) }
    members["callback"] = callback.map { .string($0) }
    members["message-id"] = messageID.map { .string($0) }
    return JSONValue.object(members).line
  }

  /// The push of a line; nil for anything else than what `line` wrote.
  package static func delayedPush(line: String) -> IntakePush? {
    guard let root = try? JSONValue(parsing: Array(line.utf8), limitBytes: jsonLimitBytes),
      let known = PublishedMessage(line: line), let topic = root["topic"]?.string,
      let due = root["due"]?.whole.map({ WallTime(milliseconds: $0) })
    else { return nil }
    func texts(_ key: String) -> [String] { (root[key]?.array ?? []).compactMap(\.string) }
    var request = PublishRequest(
      topic: topic, sequence: known.sequence, title: root["title"]?.string ?? "",
      text: root["message"]?.string ?? "")
    (request.due, request.priority, request.tags) = (due, known.priority, texts("tags"))
    request.actions = texts("buttons").map { MessageAction(button: $0) }
    request.messageID = root["message-id"]?.string
    return request.push(id: known.id, now: due, callback: root["callback"]?.string)
  }
}

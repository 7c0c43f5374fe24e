package import NotibotProtocol

/// What an action on the display means to the sender.
package struct Answer: Hashable, Sendable {
  /// The sender's name of the action, such as `APPROVE_ACTION`.
  package var name: String
  /// The label on the display.
  package var label: String
  /// nil: the action neither approves nor refuses.
  package var approved: Bool?
  /// The text of the item once the callback has been accepted.
  package var done: String
  /// The text of the item as long as the callback cannot be delivered.
  package var queued: String
  /// Whether the action is offered only if the display shows the text uncut.
  package var needsWholeText: Bool
  /// The title of the item while it asks for a second press; nil: one press decides.
  package var prompt: String?

  package init(
    name: String, label: String, approved: Bool? = nil, done: String, queued: String,
    needsWholeText: Bool = true, prompt: String? = nil
  ) {
    self.name = name
    self.label = label
    self.approved = approved
    self.done = done
    self.queued = queued
    self.needsWholeText = needsWholeText
    self.prompt = prompt
  }

  /// What a dismissal is called in Apple's notification center.
  package static let dismissActionName = "com.apple.UNNotificationDismissActionIdentifier"

  /// The answer that a dismissal is: its item has left the display, so nothing is shown.
  package init(dismissal name: String) {
    self.init(name: name, label: "Dismiss", done: "", queued: "")
  }
}

/// The question that an item asks: what a press on it means. It has the text of the push only if
/// an answer needs a second press.
package struct Question: Hashable, Sendable {
  /// What the item gets back when the second press does not come.
  package struct Shown: Hashable, Sendable {
    package var text: String
    package var timestamp: UInt32
    package var level: NotificationDetails.Level
    package var flags: UInt8
    package var expires: UInt32?
  }

  package var topic: String
  /// `apns-id` of the push whose text is on the display.
  package var pushID: String
  package var category: String
  /// A callback of the configuration. nil: the answer is for the long poll.
  package var callback: String?
  /// Fields of the payload that the answer repeats, by their names.
  package var fields: [String: String]
  /// In the order of the item's actions.
  package var answers: [Answer]
  /// nil: a dismissal is no answer.
  package var dismissal: Answer?
  /// What the item keeps when its text becomes the decision.
  package var app: String
  package var title: String
  package var group: String
  /// nil: one press decides, whichever it is.
  package var shown: Shown?

  package init(
    topic: String, pushID: String = "", category: String = "", callback: String? = nil,
    fields: [String: String] = [:], answers: [Answer], dismissal: Answer? = nil, app: String = "",
    title: String = "", group: String = ""
  ) {
    self.topic = topic
    self.pushID = pushID
    self.category = category
    self.callback = callback
    self.fields = fields
    self.answers = answers
    self.dismissal = dismissal
    self.app = app
    self.title = title
    self.group = group
  }

  /// What a decision keeps of it.
  var withoutText: Question {
    var question = self
    question.shown = nil
    return question
  }

  package var needsConfirmation: Bool { answers.contains { $0.prompt != nil } }

  /// The same with what is needed to show its item again.
  package func keeping(_ notification: DisplayNotification) -> Question {
    guard needsConfirmation else { return self }
    var question = self
    let details = notification.details
    question.shown = Shown(
      text: notification.text, timestamp: notification.timestamp, level: details.level,
      flags: details.flags, expires: details.expires)
    return question
  }

  /// The item as the push has it, or with another title; silent, because it was announced before.
  func item(title: String? = nil) -> DisplayNotification? {
    guard let shown else { return nil }
    var details = NotificationDetails()
    (details.level, details.flags, details.expires) = (shown.level, shown.flags | 1, shown.expires)
    (details.group, details.actions) = (group, answers.map { DisplayText.clean($0.label) })
    return DisplayNotification(
      app: app, title: title.map(DisplayText.clean) ?? self.title, text: shown.text,
      timestamp: shown.timestamp, details: details)
  }
}

extension Question {
  /// The question as one line of JSON, for the gateway's file.
  package var line: String {
    var members: [String: JSONValue] = [
      "topic": .string(topic), "push": .string(pushID), "category": .string(category),
      "fields": .object(fields.mapValues { .string($0) }), "app": .string(app), "title": .string(title),
      "group": .string(group),
      "answers": .array(
        answers.map { answer in
          var row: [String: JSONValue] = [
            "name": .string(answer.name), "label": .string(answer.label), "done": .string(answer.done),
            "queued": .string(answer.queued), "whole": .bool(answer.needsWholeText),
          ]
          row["approved"] = answer.approved.map { .bool($0) }
          row["prompt"] = answer.prompt.map { .string($0) }
          return .object(row)
        }),
    ]
    members["callback"] = callback.map { .string($0) }
    members["dismissal"] = dismissal.map { .string($0.name) }
    members["shown"] = shown.map(\.value)
    return JSONValue.object(members).line
  }

  /// Bytes of such a line, at most.
  package static let limitBytes = 65_536

  /// Reads what `line` wrote; nil for anything else.
  package init?(line: String) {
    guard let root = try? JSONValue(parsing: Array(line.utf8), limitBytes: Self.limitBytes),
      let topic = root["topic"]?.string, let rows = root["answers"]?.array
    else { return nil }
    var answers: [Answer] = []
    for row in rows {
      guard let name = row["name"]?.string, let label = row["label"]?.string,
        let done = row["done"]?.string, let queued = row["queued"]?.string
      else { return nil }
      answers.append(
        Answer(
          name: name, label: label, approved: row["approved"]?.bool, done: done, queued: queued,
          needsWholeText: row["whole"]?.bool ?? true, prompt: row["prompt"]?.string))
    }
    func text(_ key: String) -> String { root[key]?.string ?? "" }
    self.init(
      topic: topic, pushID: text("push"), category: text("category"), callback: root["callback"]?.string,
      fields: (root["fields"]?.object ?? [:]).compactMapValues(\.string), answers: answers,
      dismissal: root["dismissal"]?.string.map(Answer.init(dismissal:)), app: text("app"),
      title: text("title"), group: text("group"))
    if let value = root["shown"] {
      guard let read = Shown(value) else { return nil }
      shown = read
    }
  }
}

extension Question.Shown {
  fileprivate var value: JSONValue {
    var members: [String: JSONValue] = [
      "text": .string(text), "at": .whole(timestamp), "level": .whole(level.rawValue), "flags": .whole(flags),
    ]
    members["expires"] = expires.map { .whole($0) }
    return .object(members)
  }

  fileprivate init?(_ value: JSONValue) {
    guard let text = value["text"]?.string, let timestamp = value["at"]?.whole.flatMap(UInt32.init(exactly:)),
      let number = value["level"]?.whole.flatMap(UInt8.init(exactly:)),
      let level = NotificationDetails.Level(rawValue: number),
      let flags = value["flags"]?.whole.flatMap(UInt8.init(exactly:))
    else { return nil }
    self.init(
      text: text, timestamp: timestamp, level: level, flags: flags,
      expires: value["expires"]?.whole.flatMap(UInt32.init(exactly:)))
  }
}

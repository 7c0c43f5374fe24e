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

  package init(
    name: String, label: String, approved: Bool? = nil, done: String, queued: String,
    needsWholeText: Bool = true
  ) {
    self.name = name
    self.label = label
    self.approved = approved
    self.done = done
    self.queued = queued
    self.needsWholeText = needsWholeText
  }
}

/// The question that an item asks: what a press on it means, without the text of the push.
package struct Question: Hashable, Sendable {
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
  /// What the item keeps when its text becomes the decision.
  package var app: String
  package var title: String
  package var group: String

  package init(
    topic: String, pushID: String = "", category: String = "", callback: String? = nil,
    fields: [String: String] = [:], answers: [Answer], app: String = "", title: String = "",
    group: String = ""
  ) {
    self.topic = topic
    self.pushID = pushID
    self.category = category
    self.callback = callback
    self.fields = fields
    self.answers = answers
    self.app = app
    self.title = title
    self.group = group
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
          return .object(row)
        }),
    ]
    members["callback"] = callback.map { .string($0) }
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
          needsWholeText: row["whole"]?.bool ?? true))
    }
    func text(_ key: String) -> String { root[key]?.string ?? "" }
    self.init(
      topic: topic, pushID: text("push"), category: text("category"), callback: root["callback"]?.string,
      fields: (root["fields"]?.object ?? [:]).compactMapValues(\.string), answers: answers,
      app: text("app"), title: text("title"), group: text("group"))
  }
}

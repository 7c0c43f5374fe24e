import Digests
import NotibotProtocol

/// A message for a topic over plain HTTP, as ntfy's clients send it: `curl -d text HOST/TOPIC`, or
/// as JSON: `curl -d '{"topic":…,"message":…}' HOST/`.
/// Source: docs.ntfy.sh/publish.
package struct PublishRequest: Hashable, Sendable {
  /// Why a request is refused.
  package struct Refusal: Error, Hashable, Sendable {
    package var status: Int
    package var text: String
  }

  package static let bodyLimitBytes = 4096
  package static let topicLimitBytes = 64
  package static let sequenceLimitBytes = 64

  package var topic: String
  /// The name of the item that it replaces or removes.
  package var sequence: String?
  package var isRemoval: Bool
  package var title: String
  package var text: String
  /// 1...5.
  package var priority: Int
  package var tags: [String]
  package var actions: [MessageAction]
  /// The sender's name of this request.
  package var messageID: String?

  /// Reads a request; header names in lower case.
  package init(
    method: String, path: String, fields: [(name: String, value: String)], body: [UInt8]
  ) throws(Refusal) {
    if path == "/" {
      try self.init(method: method, json: body)
      messageID = Self.messageID(fields)
    } else {
      try self.init(method: method, place: path, fields: fields, body: body)
    }
  }

  private init(
    method: String, place path: String, fields: [(name: String, value: String)], body: [UInt8]
  ) throws(Refusal) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    guard (1...2).contains(parts.count), Self.isName(parts[0], Self.topicLimitBytes) else {
      throw Refusal(status: 404, text: "the path is not /TOPIC or /TOPIC/SEQUENCE")
    }
    topic = parts[0]
    func field(_ names: String...) -> String? {
      for name in names {
        if let value = fields.first(where: { $0.name == name })?.value { return value }
      }
      return nil
    }
    sequence = parts.count == 2 ? parts[1] : field("x-sequence-id", "sequence-id", "sid")
    if let sequence, !Self.isName(sequence, Self.sequenceLimitBytes) {
      throw Refusal(status: 400, text: "the sequence is not 1 to 64 letters, digits, - and _")
    }
    switch method {
    case "POST", "PUT": isRemoval = false
    case "DELETE": isRemoval = true
    case _: throw Refusal(status: 405, text: "use POST, PUT or DELETE")
    }
    guard !isRemoval || sequence != nil else {
      throw Refusal(status: 400, text: "DELETE needs /TOPIC/SEQUENCE")
    }
    guard body.count <= Self.bodyLimitBytes else { throw Refusal(status: 413, text: "more than 4096 bytes") }
    guard let message = String(validating: body, as: UTF8.self) else {
      throw Refusal(status: 400, text: "the message is not UTF-8")
    }
    title = field("x-title", "title", "ti", "t") ?? ""
    // As ntfy does it: a notification is never without a text.
    let header = field("x-message", "message", "m")
    text = message.isEmpty ? header ?? "triggered" : message
    guard let priority = Self.priority(field("x-priority", "priority", "prio", "p")) else {
      throw Refusal(status: 400, text: "the priority is not 1 to 5, min, low, default, high, max or urgent")
    }
    self.priority = priority
    tags = (field("x-tags", "tags", "tag", "ta") ?? "").split(separator: ",").prefix(Self.tagsLimit)
      .map { String($0.drop { $0 == " " }) }
    guard let actions = MessageAction.parse(field("x-actions", "actions", "action") ?? "") else {
      throw Self.wrongActions
    }
    self.actions = actions
    messageID = Self.messageID(fields)
  }

  static let tagsLimit = 8

  static let wrongActions = Refusal(
    status: 400,
    text: "the actions are not at most 3 of view, broadcast and http, each with a label, as ntfy has them")

  private static func messageID(_ fields: [(name: String, value: String)]) -> String? {
    ["x-message-id", "idempotency-key"].lazy.compactMap { name in fields.first { $0.name == name }?.value }
      .first
  }

  static func priority(_ name: String?) -> Int? {
    switch name {
    case nil, "", "3", "default": 3
    case "1", "min": 1
    case "2", "low": 2
    case "4", "high": 4
    case "5", "max", "urgent": 5
    case _: nil
    }
  }

  static func isName(_ text: String, _ limit: Int) -> Bool {
    (1...limit).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        case _: false
        }
      }
  }

  /// The push that it stands for. `id` is its name in the answer, `callback` that of the
  /// configuration for presses of its actions.
  package func push(id: String, now: WallTime, callback: String? = nil) -> IntakePush {
    let key = messageID.map { SHA256.digest(of: "n", topic, hexText(SHA256.digest(Array($0.utf8)))) }
    let hasOwnKey = key != nil
    return IntakePush(
      // Without a name of its own, two equal messages are two messages, as in ntfy.
      key: IntakePush.Source.localKey(key ?? SHA256.digest(of: "n-id", id)), hasOwnKey: hasOwnKey, apnsID: id,
      topic: topic,
      token: SHA256.digest(of: "ntfy", topic),
      meaning: isRemoval ? .clear([sequence ?? ""], timestamp: nil) : .show(item(now, id, callback)))
  }

  private func item(_ now: WallTime, _ id: String, _ callback: String?) -> DisplayItem {
    var details = NotificationDetails()
    details.level = priority <= 2 ? .passive : priority == 3 ? .active : .timeSensitive
    if priority <= 2 { details.flags = 1 }
    if priority == 5 { details.flags = 2 }
    details.group = SHA256.groupName(topic: "ntfy", thread: topic)
    let tagged = ([title] + tags.map { "#\($0)" }).filter { !$0.isEmpty }.joined(separator: " ")
    var notification = DisplayNotification(
      app: topic, title: DisplayText.clean(tagged), text: DisplayText.clean(text),
      timestamp: UInt32(clamping: now.seconds), details: details)
    let question = question(&notification, id, callback)
    return DisplayItem(notification: notification, identifier: sequence, thread: "", question: question)
  }

  /// What its buttons mean. A message that the display has to cut has none.
  private func question(
    _ notification: inout DisplayNotification, _ id: String, _ callback: String?
  ) -> Question? {
    let buttons = actions.filter(\.isButton)
    guard !buttons.isEmpty else { return nil }
    var asking = notification
    asking.details.actions = buttons.map { DisplayText.clean($0.label) }
    guard !asking.isCut else { return nil }
    notification = asking
    var fields = ["message": id]
    fields["sequence"] = sequence
    return Question(
      topic: topic, category: "message", callback: callback, fields: fields,
      answers: buttons.map { button in
        Answer(
          name: button.label, label: button.label, done: "\(button.label): done",
          queued: "\(button.label): queued")
      }, app: notification.app, title: notification.title, group: notification.details.group)
  }
}

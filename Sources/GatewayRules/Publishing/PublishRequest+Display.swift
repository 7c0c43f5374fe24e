import Digests
import NotibotProtocol

// The item on the display that a message is.
extension PublishRequest {
  /// The name of the message: 12 letters and digits, as ntfy's. The same for a repetition of the
  /// request; otherwise made of `random` bytes, at least 12.
  package func id(random: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    let bytes = messageID.map { SHA256.digest(of: "n-id", topic, $0) } ?? random
    return String(bytes.prefix(12).map { alphabet[Int($0) % alphabet.count] })
  }

  /// The push that it stands for. `id` is its name in the answer, `callback` that of the
  /// configuration for presses of its actions.
  package func push(id: String, now: WallTime, callback: String? = nil) -> IntakePush {
    let key = messageID.map { SHA256.digest(of: "n", topic, $0) }
    var push = IntakePush(
      // Without a name of its own, two equal messages are two messages, as in ntfy. A delayed one
      // is delivered once, despite a crash.
      key: IntakePush.Source.localKey(key ?? SHA256.digest(of: "n-id", id)),
      hasOwnKey: key != nil || due != nil,
      apnsID: id, topic: topic, token: SHA256.digest(of: "ntfy", topic),
      meaning: event == .message ? .show(item(now, id, callback)) : .clear([sequence ?? id], timestamp: nil))
    push.message = PublishedMessage(id: id, sequence: sequence, priority: priority)
    push.delay = due.map { IntakePush.Delay(due: $0, line: line(id, callback)) }
    return push
  }

  private func item(_ now: WallTime, _ id: String, _ callback: String?) -> DisplayItem {
    var notification = shown
    notification.timestamp = UInt32(clamping: (due ?? now).seconds)
    let question = question(&notification, id, callback)
    return DisplayItem(notification: notification, identifier: sequence ?? id, thread: "", question: question)
  }

  /// Without buttons, at no time.
  private var shown: DisplayNotification {
    let priority = priority ?? 3
    var details = NotificationDetails()
    details.level = priority <= 2 ? .passive : priority == 3 ? .active : .timeSensitive
    if priority <= 2 { details.flags = 1 }
    if priority == 5 { details.flags = 2 }
    details.group = SHA256.groupName(topic: "ntfy", thread: topic)
    // As ntfy's clients do it: emoji before the title, if there is one.
    let emoji = tags.compactMap(EmojiTags.emoji)
    let words = tags.filter { EmojiTags.emoji(of: $0) == nil }.map { "#\($0)" }
    let titled = (title.isEmpty ? [] : emoji + [title]) + words
    let body = title.isEmpty ? emoji + [text] : [text]
    return DisplayNotification(
      app: topic, title: DisplayText.clean(titled.joined(separator: " ")),
      text: DisplayText.clean(body.joined(separator: " ")), timestamp: 0, details: details)
  }

  /// The notification with its buttons; without them if the display would then cut it.
  private var asking: DisplayNotification {
    var notification = shown
    notification.details.actions = actions.filter(\.isButton).map {
      WrittenNotification.label(DisplayText.clean($0.label))
    }
    return notification.isCut || hasEqualButtons ? shown : notification
  }

  /// Whether two buttons cannot be distinguished on the display.
  private var hasEqualButtons: Bool {
    let labels = DisplayText.shownLabels(
      actions.filter(\.isButton).map { WrittenNotification.label(DisplayText.clean($0.label)) })
    return Set(labels).count < labels.count
  }

  /// The meaning of its buttons.
  private func question(
    _ notification: inout DisplayNotification, _ id: String, _ callback: String?
  ) -> Question? {
    notification.details.actions = asking.details.actions
    guard !notification.details.actions.isEmpty else { return nil }
    var fields = ["message": id]
    fields["sequence"] = sequence
    return Question(
      topic: topic, category: "message", callback: callback, fields: fields,
      answers: actions.filter(\.isButton).map { button in
        Answer(
          name: button.label, label: WrittenNotification.label(button.label), done: "\(button.label): done",
          queued: "\(button.label): queued")
      }, app: notification.app, title: notification.title, group: notification.details.group)
  }

  /// Notes about parts of the message that the display does not show as they are.
  var displayNotes: [String] {
    let asking = asking
    var notes: [String] = []
    let cut = asking.cutMembers
    if !cut.isEmpty { notes.append("cut on the display: \(cut.joined(separator: ", "))") }
    let buttons = actions.filter(\.isButton)
    let texts = [
      ("title", title), ("message", text), ("tags", tags.joined()),
      ("actions", buttons.map(\.label).joined()),
    ]
    let replaced = texts.filter { DisplayText.clean($0.1).contains("\u{FFFD}") }.map(\.0)
    if !replaced.isEmpty {
      notes.append("shown as U+FFFD: controls, and what is not UTF-8, in \(replaced.joined(separator: ", "))")
    }
    if hasEqualButtons {
      notes.append("no buttons: two labels are the same on the display")
    } else if asking.details.actions.isEmpty, !buttons.isEmpty {
      notes.append("no buttons: the display has no room for the whole text with them")
    } else if zip(buttons, asking.details.actions).contains(where: { DisplayText.clean($0.label) != $1 }) {
      notes.append("cut on the display: labels of buttons")
    }
    return notes
  }
}

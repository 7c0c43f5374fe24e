import Digests
package import NotibotProtocol

/// What a push asks of a display.
package enum PushMeaning: Hashable, Sendable {
  /// An item, and whether it replaces the one with the same identifier.
  case show(DisplayItem)
  /// A state of a Live Activity: one item, replaced at most once in a second.
  case activity(DisplayItem, timestamp: Int64)
  /// Removes the items with these identifiers; one that is not there yet is not shown later.
  case clear([String], timestamp: Int64?)
  /// Removes all items of the topic.
  case clearTopic
  /// Changes nothing on the display.
  case nothing
}

/// An item with its place in the sender's world.
package struct DisplayItem: Hashable, Sendable {
  package var notification: DisplayNotification
  /// nil: the item replaces nothing and is replaced by nothing.
  package var identifier: String?
  /// The sender's name of the group; empty: none.
  package var thread: String
  /// Only within 10 s, or not at all: `apns-expiration: 0`.
  package var isTransient = false
  /// What a press on it means; topic and push are those of the push.
  package var question: Question?
  /// nil: it has no part in a summary.
  package var member: GroupMember?

  package init(
    notification: DisplayNotification, identifier: String?, thread: String, isTransient: Bool = false,
    question: Question? = nil, member: GroupMember? = nil
  ) {
    self.question = question
    self.member = member
    self.notification = notification
    self.identifier = identifier
    self.thread = thread
    self.isTransient = isTransient
  }
}

extension TopicProfile {
  /// The meaning of a push with this profile.
  package func meaning(of payload: PushPayload, _ head: PushHead, now: WallTime) -> PushMeaning {
    if let activity = payload.activity { return meaning(of: activity, payload, head, now: now) }
    let cleared = clears.compactMap { $0.value(in: payload.root) }
    let isCommand = head.pushType == .background || payload.alert == nil
    if isCommand {
      if !cleared.isEmpty { return .clear(cleared, timestamp: nil) }
      return payload.badge == 0 ? .clearTopic : .nothing
    }
    let category = category(of: payload)
    let rules = category.flatMap { categories[$0] } ?? Category()
    let identifier = head.collapseID ?? rules.identifier?.value(in: payload.root)
    let thread =
      payload.threadID ?? groupFields.lazy.compactMap { payload.root.value(at: $0)?.text }.first ?? ""
    let (title, text) = texts(of: payload.alert, rules)
    var notification = DisplayNotification(
      app: app, title: title, text: text, timestamp: UInt32(clamping: now.seconds),
      details: details(payload, head, rules, thread: thread))
    notification.details.expires = expiry(head, now: now)
    let question = question(
      category ?? "", rules, payload, &notification,
      isShortened: text != DisplayText.clean(payload.alert?.body ?? rules.defaultText ?? ""))
    return .show(
      DisplayItem(
        notification: notification, identifier: identifier, thread: thread,
        isTransient: head.expiration == 0, question: question,
        member: member(category ?? "", rules, payload, head, thread: thread)))
  }

  private func member(
    _ category: String, _ rules: Category, _ payload: PushPayload, _ head: PushHead, thread: String
  ) -> GroupMember? {
    guard let text = rules.summary, !thread.isEmpty else { return nil }
    let name = groupNames.lazy.compactMap { payload.root.value(at: $0)?.text }.first ?? thread
    // The name of the group cannot have a place of its own.
    let shown = DisplayText.cut(DisplayText.clean(name), to: GroupMember.nameLimit)
      .split(separator: GroupMember.countPlace, omittingEmptySubsequences: false).joined(separator: "…")
    return GroupMember(
      group: SHA256.digest(of: "t", head.profileTopic, thread, category), app: app,
      displayGroup: SHA256.groupName(topic: head.profileTopic, thread: thread),
      text: DisplayText.clean(text)
        .split(separator: GroupMember.groupPlace, omittingEmptySubsequences: false).joined(separator: shown))
  }

  /// What the item asks, and its actions. An action that needs the whole text is not offered if the
  /// display cannot show it: nobody approves what they cannot read.
  private func question(
    _ name: String, _ rules: Category, _ payload: PushPayload, _ notification: inout DisplayNotification,
    isShortened: Bool
  ) -> Question? {
    guard !rules.answers.isEmpty else { return nil }
    notification.details.actions = rules.answers.map { DisplayText.clean($0.label) }
    let isCut = isShortened || notification.isCut
    let answers = rules.answers.filter { answer in
      guard answer.needsWholeText, let prompt = answer.prompt else { return !isCut || !answer.needsWholeText }
      // The text also has to be readable when the second press is asked for.
      var asking = notification
      asking.title = DisplayText.clean(prompt)
      return !isCut && !asking.isCut
    }
    notification.details.actions = answers.map { DisplayText.clean($0.label) }
    guard !answers.isEmpty else { return nil }
    var fields: [String: String] = [:]
    for path in rules.fields { fields[path] = payload.root.value(at: path)?.text }
    return Question(
      topic: "", category: name, callback: rules.callback, fields: fields, answers: answers,
      app: notification.app, title: notification.title, group: notification.details.group)
  }

  private func category(of payload: PushPayload) -> String? {
    let type = payload.root["type"]?.string.flatMap { types[$0] }
    // A failed task arrives with the category of a finished one.
    return type ?? payload.category
  }

  private func texts(of alert: PushPayload.Alert?, _ rules: Category) -> (title: String, text: String) {
    var title = alert?.title ?? rules.defaultTitle ?? ""
    if let subtitle = alert?.subtitle, !subtitle.isEmpty {
      title = title.isEmpty ? subtitle : "\(title): \(subtitle)"
    }
    let text = alert?.body ?? rules.defaultText ?? ""
    return (DisplayText.clean(title), DisplayText.cut(DisplayText.clean(text), to: rules.textLimit))
  }

  private func details(
    _ payload: PushPayload, _ head: PushHead, _ rules: Category, thread: String
  ) -> NotificationDetails {
    var details = NotificationDetails()
    let byPriority: NotificationDetails.Level = head.priority < 10 ? .passive : .active
    details.level = payload.interruptionLevel ?? rules.level ?? byPriority
    if details.level == .critical, !allowsCritical { details.level = .timeSensitive }
    details.actions = rules.actions.map(DisplayText.clean)
    if rules.isSilent { details.flags = 1 }
    if !thread.isEmpty { details.group = SHA256.groupName(topic: head.profileTopic, thread: thread) }
    return details
  }

  private func expiry(_ head: PushHead, now: WallTime) -> UInt32? {
    var ends: [Int64] = []
    if let lifetimeSeconds { ends.append(now.seconds + lifetimeSeconds) }
    // Delivered at once or not at all; the display then keeps it for the profile's time.
    if let expiration = head.expiration, expiration > 0 { ends.append(expiration) }
    return ends.min().map { UInt32(clamping: $0) }
  }

  private func meaning(
    of activity: PushPayload.Activity, _ payload: PushPayload, _ head: PushHead, now: WallTime
  ) -> PushMeaning {
    let identifier = "activity-" + (head.collapseID ?? payload.root["activityId"]?.text ?? "")
    if activity.isEnd { return .clear([identifier], timestamp: activity.timestamp) }
    func part(_ path: String) -> String? { activity.state.value(at: path)?.text }
    let title = part(self.activity.title).map { $0.prefix(1).uppercased() + $0.dropFirst() } ?? app
    var texts: [String] = []
    if let completed = part(self.activity.completed), let total = part(self.activity.total) {
      texts.append(
        ["\(completed)/\(total)", part(self.activity.task)].compactMap(\.self).joined(separator: " "))
    }
    if let operation = part(self.activity.operation) { texts.append(operation) }
    var details = NotificationDetails()
    (details.level, details.flags) = (.passive, 1)
    details.expires = activity.staleDate.flatMap { $0 > 0 ? UInt32(clamping: $0) : nil }
    let notification = DisplayNotification(
      app: app, title: DisplayText.clean(title), text: DisplayText.clean(texts.joined(separator: " · ")),
      timestamp: UInt32(clamping: now.seconds), details: details)
    return .activity(
      DisplayItem(notification: notification, identifier: identifier, thread: ""),
      timestamp: activity.timestamp)
  }
}

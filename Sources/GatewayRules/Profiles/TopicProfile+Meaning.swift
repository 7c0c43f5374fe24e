import Digests
import NotibotProtocol

extension TopicProfile {
  /// Reads the body of a push. Throws if what it asks cannot be shown.
  package func reading(
    of body: [UInt8], _ head: PushHead, now: WallTime
  ) throws(PushRefusal) -> PushReading {
    let payload = try PushPayload(parsing: body, limitBytes: head.bodyLimitBytes)
    var remarks = payload.remarks
    let meaning = try meaning(of: payload, head, now: now, &remarks)
    return PushReading(meaning: meaning, badge: payload.badge, remarks: remarks)
  }

  private func meaning(
    of payload: PushPayload, _ head: PushHead, now: WallTime, _ remarks: inout [PushRemark]
  ) throws(PushRefusal) -> PushMeaning {
    if let activity = payload.activity {
      return try meaning(of: activity, payload, head, now: now, &remarks)
    }
    let category = category(of: payload)
    let rules = category.flatMap { categories[$0] } ?? Category()
    let (title, text, isShortened) = texts(of: payload.alert, rules)
    guard payload.alert != nil, !DisplayText.isBlank(title + text) else {
      return try command(payload, head, &remarks)
    }
    guard head.pushType != .background else {
      throw PushRefusal(
        .invalidPushType,
        because: "is background, and aps.alert has a text, which is not shown with this type",
        remedy: "send alert")
    }
    if let category, !categories.isEmpty, categories[category] == nil {
      remarks.append(
        PushRemark(
          PayloadField.category.place,
          "the profile '\(name)' has no such category: no actions, no level of its own",
          remedy: "add it to the profile, or send one of \(categories.keys.sorted().joined(separator: ", "))")
      )
    }
    let identifier = head.collapseID ?? rules.identifier?.value(in: payload.root)
    let thread =
      payload.threadID ?? groupFields.lazy.compactMap { payload.root.value(at: $0)?.text }.first ?? ""
    var notification = DisplayNotification(
      app: app, title: title, text: text, timestamp: UInt32(clamping: now.seconds),
      details: details(payload, head, rules, thread: thread, &remarks))
    notification.details.expires = expiry(head, now: now)
    let question = question(category ?? "", rules, payload, &notification, isShortened: isShortened, &remarks)
    remarkTexts(notification, rules, isShortened: isShortened, &remarks)
    return .show(
      DisplayItem(
        notification: notification, identifier: identifier, thread: thread,
        isTransient: head.expiration == 0, question: question,
        member: member(category ?? "", rules, payload, head, thread: thread)))
  }

  /// A push without a text.
  private func command(
    _ payload: PushPayload, _ head: PushHead, _ remarks: inout [PushRemark]
  ) throws(PushRefusal) -> PushMeaning {
    let cleared = clears.compactMap { $0.value(in: payload.root) }
    if !cleared.isEmpty { return .clear(cleared, timestamp: nil) }
    // What was to be shown has the wrong type.
    let asked = remarks.filter { remark in
      remark.place.hasPrefix(PayloadField.alert.place) || remark.place == PayloadField.event.place
    }
    guard asked.isEmpty else { throw PushRefusal(.payloadEmpty, asked) }
    if payload.badge == 0 { return .clearTopic }
    let isSilent = payload.badge != nil || payload.isContentAvailable || head.pushType == .background
    guard payload.alert == nil || isSilent else {
      throw PushRefusal(
        .payloadEmpty,
        [PushRemark(PayloadField.alert.place, "has no visible text", remedy: "send a title or a body")])
    }
    let isSuffixed = head.pushType.map { !$0.topicSuffix.isEmpty || $0 == .mdm } ?? false
    guard payload.badge == nil, !payload.isContentAvailable, head.pushType != .background, !isSuffixed else {
      return .nothing()
    }
    remarks.append(
      PushRemark(
        payload.root["aps"] == nil ? "aps" : PayloadField.alert.place, "is missing: nothing is shown",
        remedy: "send {\"aps\":{\"alert\":\"...\"}} to show something"))
    return .nothing()
  }

  /// What is shown otherwise than it was sent.
  private func remarkTexts(
    _ notification: DisplayNotification, _ rules: Category, isShortened: Bool, _ remarks: inout [PushRemark]
  ) {
    let places = ["app": "'app' of the profile", "title": "title", "text": "body"]
    for member in notification.cutTexts {
      remarks.append(
        PushRemark(
          member == "app" ? places[member] ?? "" : "\(PayloadField.alert.place).\(places[member] ?? "")",
          "is too long for the display: its end is cut",
          remedy: "title and body together have room for about \(NotificationLimits.jsonBytes / 2) bytes"))
    }
    if (notification.title + notification.text).contains("\u{FFFD}") {
      remarks.append(
        PushRemark(
          PayloadField.alert.place,
          "has controls, overrides of the direction or halves of characters: shown as U+FFFD"
        ))
    }
    if isShortened {
      remarks.append(
        PushRemark(
          PayloadField.body.place, "is cut to \(rules.textLimit ?? 0) characters, 'textLimit' of the category"
        ))
    }
    if notification.hasCutLabel {
      remarks.append(
        PushRemark(
          "'categories' of the profile",
          "a label has more than \(NotificationLimits.actionBytes) bytes: its end is cut"
        ))
    }
  }

  private func member(
    _ category: String, _ rules: Category, _ payload: PushPayload, _ head: PushHead, thread: String
  ) -> GroupMember? {
    guard rules.summary != nil || isReadTogether, !thread.isEmpty else { return nil }
    let name = groupNames.lazy.compactMap { payload.root.value(at: $0)?.text }.first ?? thread
    // The name of the group cannot have a place of its own.
    let shown = DisplayText.cut(DisplayText.clean(name), to: GroupMember.nameLimit)
      .split(separator: GroupMember.countPlace, omittingEmptySubsequences: false).joined(separator: "…")
    return GroupMember(
      group: SHA256.digest(of: "t", head.profileTopic, thread, category), app: app,
      displayGroup: SHA256.groupName(topic: head.profileTopic, thread: thread),
      text: DisplayText.clean(rules.summary ?? "")
        .split(separator: GroupMember.groupPlace, omittingEmptySubsequences: false).joined(separator: shown),
      isReadTogether: isReadTogether)
  }

  /// What the item asks, and its actions. None is offered without what its callback needs, and one
  /// that needs the whole text only if the display can show it: nobody approves what they cannot
  /// read.
  private func question(
    _ name: String, _ rules: Category, _ payload: PushPayload, _ notification: inout DisplayNotification,
    isShortened: Bool, _ remarks: inout [PushRemark]
  ) -> Question? {
    guard !rules.answers.isEmpty || rules.dismissal != nil else { return nil }
    var fields: [String: String] = [:]
    for field in rules.fields {
      let text = payload.root.value(at: field.path)?.text
      guard !field.isOptional, text.map({ DisplayText.isBlank($0) }) ?? true else {
        fields[field.path] = text
        continue
      }
      remarks.append(
        PushRemark(
          field.path, "is not a text or a number: no actions, because their callback needs it",
          remedy: "send it, or mark it as optional: \"\(field.path)?\" in 'fields' of \(name)"))
      return nil
    }
    notification.details.actions = rules.answers.map { DisplayText.clean($0.label) }
    let isCut = isShortened || notification.isCut
    let answers = rules.answers.filter { answer in
      guard answer.needsWholeText, let prompt = answer.prompt else { return !isCut || !answer.needsWholeText }
      // The text also has to be readable when the second press is asked for.
      var asking = notification
      asking.title = DisplayText.clean(prompt)
      return !isCut && !asking.isCut
    }
    if answers.count < rules.answers.count {
      let left = rules.answers.filter { !answers.contains($0) }.map(\.name).joined(separator: ", ")
      remarks.append(
        PushRemark(
          PayloadField.category.place, "without \(left): the display cannot show the whole text",
          remedy: "send a shorter text"))
    }
    notification.details.actions = answers.map { DisplayText.clean($0.label) }
    guard !answers.isEmpty || rules.dismissal != nil else { return nil }
    return Question(
      topic: "", category: name, callback: rules.callback, fields: fields, answers: answers,
      dismissal: rules.dismissal, app: notification.app, title: notification.title,
      group: notification.details.group)
  }

  private func category(of payload: PushPayload) -> String? {
    let type = payload.root["type"]?.string.flatMap { types[$0] }
    // A failed task arrives with the category of a finished one.
    return type ?? payload.category
  }

  private func texts(
    of alert: PushPayload.Alert?, _ rules: Category
  ) -> (title: String, text: String, isShortened: Bool) {
    func text(_ text: String?) -> String? {
      text.map(DisplayText.clean).flatMap { DisplayText.isBlank($0) ? nil : $0 }
    }
    let titles = [text(alert?.title) ?? rules.defaultTitle.map(DisplayText.clean), text(alert?.subtitle)]
    let body = text(alert?.body) ?? DisplayText.clean(rules.defaultText ?? "")
    let cut = DisplayText.cut(body, to: rules.textLimit)
    return (titles.compactMap(\.self).joined(separator: ": "), cut, cut != body)
  }

  private func details(
    _ payload: PushPayload, _ head: PushHead, _ rules: Category, thread: String,
    _ remarks: inout [PushRemark]
  ) -> NotificationDetails {
    var details = NotificationDetails()
    let byPriority: NotificationDetails.Level = head.priority < 10 ? .passive : .active
    details.level = payload.interruptionLevel ?? rules.level ?? byPriority
    if details.level == .critical, !allowsCritical {
      details.level = .timeSensitive
      remarks.append(
        PushRemark(
          PayloadField.interruptionLevel.place, "is critical, shown as time-sensitive",
          remedy: "set 'allowsCritical' in the profile"))
    }
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
}

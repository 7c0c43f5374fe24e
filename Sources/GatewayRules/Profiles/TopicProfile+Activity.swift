import NotibotProtocol

// Live Activities: one silent item for each.
extension TopicProfile {
  /// Throws if nothing of the state can be shown.
  func meaning(
    of activity: PushPayload.Activity, _ payload: PushPayload, _ head: PushHead, now: WallTime,
    _ remarks: inout [PushRemark]
  ) throws(PushRefusal) -> PushMeaning {
    let identifier = "activity-" + (head.collapseID ?? payload.root["activityId"]?.text ?? "")
    if activity.timestampMs == 0 {
      remarks.append(PayloadField.timestamp.remark("is missing: the state counts as the newest"))
    }
    guard activity.event != .end else { return .clear([identifier], timestamp: activity.timestampMs) }
    var (title, text) = try texts(of: activity)
    if payload.alert != nil {
      remarks.append(PushRemark(PayloadField.alert.place, "is not shown: the state of the activity is"))
    }
    var details = NotificationDetails()
    (details.level, details.flags) = (.passive, 1)
    if let staleDate = activity.staleDate, staleDate > 0 {
      if staleDate > now.seconds {
        // Nobody could mark it then: the board can be alone.
        details.expires = UInt32(clamping: staleDate)
      } else {
        let isStart = activity.event == .start
        remarks.append(
          PushRemark(
            PayloadField.staleDate.place,
            isStart ? "has passed: a start is not shown" : "has passed: the state is shown as stale",
            remedy: "send a time of the future"))
        guard !isStart else { return .nothing(.outdated) }
        title += " (stale)"
      }
    }
    let notification = DisplayNotification(
      app: app, title: title, text: text, timestamp: UInt32(clamping: now.seconds), details: details)
    for member in notification.cutTexts where member != "app" {
      remarks.append(
        PushRemark(PayloadField.contentState.place, "is too long for the display: its end is cut"))
    }
    return .activity(
      DisplayItem(notification: notification, identifier: identifier, thread: ""),
      timestamp: activity.timestampMs, isStart: activity.event == .start)
  }

  private func texts(of activity: PushPayload.Activity) throws(PushRefusal) -> (title: String, text: String) {
    let place = PayloadField.contentState.place
    guard let state = activity.state else {
      throw PushRefusal(.payloadEmpty, [PushRemark(place, "is missing", remedy: "send an object")])
    }
    func part(_ path: String) -> String? {
      state.value(at: path)?.text.map(DisplayText.clean).flatMap { DisplayText.isBlank($0) ? nil : $0 }
    }
    let fields = self.activity
    let title = part(fields.title).map { $0.prefix(1).uppercased() + $0.dropFirst() }
    var texts: [String] = []
    if let completed = part(fields.completed), let total = part(fields.total) {
      texts.append(
        ["\(completed)/\(total)", part(fields.task)].compactMap(\.self).joined(separator: " "))
    }
    if let operation = part(fields.operation) { texts.append(operation) }
    guard title != nil || !texts.isEmpty else {
      throw PushRefusal(
        .payloadEmpty,
        [
          PushRemark(
            place,
            "has none of the keys that are shown: \(fields.title), \(fields.completed), \(fields.operation)",
            remedy: "name its keys in 'activity' of the profile '\(name)'")
        ])
    }
    return (title ?? app, texts.joined(separator: " · "))
  }
}

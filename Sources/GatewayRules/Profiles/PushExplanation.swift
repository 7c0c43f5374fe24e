import NotibotProtocol

/// What a push would come to, for those who write its sender.
package struct PushExplanation: Hashable, Sendable {
  /// nil: it would be taken.
  package var reason: PushReason?
  package var value: JSONValue
}

extension TopicProfile {
  /// Judges a body as the gateway does, except for what depends on its state: mutes, repetitions,
  /// limits.
  package func explanation(of body: [UInt8], _ head: PushHead, now: WallTime) -> PushExplanation {
    var members: [String: JSONValue] = ["topic": .string(head.profileTopic), "profile": .string(name)]
    func explanation(_ verdict: String, _ remarks: [PushRemark], _ reason: PushReason? = nil)
      -> PushExplanation
    {
      members["verdict"] = .string(verdict)
      if !remarks.isEmpty { members["remarks"] = .array(remarks.map(\.value)) }
      return PushExplanation(reason: reason, value: .object(members))
    }
    let reading: PushReading
    do throws(PushRefusal) {
      guard body.count <= head.bodyLimitBytes else { throw PushRefusal(.payloadTooLarge) }
      reading = try self.reading(of: body, head, now: now)
    } catch {
      return explanation(error.reason.rawValue, error.remarks, error.reason)
    }
    members["badge"] = reading.badge.map { .whole($0) }
    switch reading.meaning {
    case .show(let item), .activity(let item, _, _):
      members["display"] = item.notification.displayed
      members["identifier"] = item.identifier.map { .string($0) }
      return explanation(IntakeOutcome.shown.rawValue, reading.remarks)
    case .clear(let identifiers, _):
      members["removes"] = .array(identifiers.map { .string($0) })
      return explanation(IntakeOutcome.removed.rawValue, reading.remarks)
    case .clearTopic:
      members["removes"] = .string("all items of the topic")
      return explanation(IntakeOutcome.removed.rawValue, reading.remarks)
    case .nothing(let outcome): return explanation(outcome.rawValue, reading.remarks)
    }
  }
}

extension DisplayNotification {
  /// The JSON that a display gets, with a short identity.
  fileprivate var displayed: JSONValue? {
    let identity = NotificationIdentity(id: 1)
    let json = WrittenNotification(notification: self, identity: identity).encoded()
    return try? JSONValue(parsing: json, limitBytes: json.count)
  }
}

/// A remark on a push for those who write its sender: which part it is about, what is wrong with it
/// or shown otherwise than asked, and what to do. Has no text, token or key of the push.
package struct PushRemark: Hashable, Sendable {
  /// A header, or a path of keys in the body; empty: neither.
  package var place: String
  package var words: String
  /// Empty: nothing to do.
  package var remedy: String

  /// Characters of each part, at most: names of a profile can be in it.
  static let limit = 200

  package init(_ place: String, _ words: String, remedy: String = "") {
    self.place = DisplayText.cut(place, to: Self.limit)
    self.words = DisplayText.cut(words, to: Self.limit)
    self.remedy = DisplayText.cut(remedy, to: Self.limit)
  }

  package var line: String {
    (place.isEmpty ? "" : "\(place): ") + words + (remedy.isEmpty ? "" : "; \(remedy)")
  }

  /// The remark in a list of pushes.
  package var value: JSONValue {
    var members: [String: JSONValue] = ["what": .string(words)]
    if !place.isEmpty { members["place"] = .string(place) }
    if !remedy.isEmpty { members["fix"] = .string(remedy) }
    return .object(members)
  }
}

/// A refusal of a push.
package struct PushRefusal: Error, Hashable, Sendable {
  package var reason: PushReason
  /// The last one explains the refusal.
  package var remarks: [PushRemark]

  package init(_ reason: PushReason, _ remarks: [PushRemark]? = nil) {
    self.reason = reason
    self.remarks = remarks ?? [reason.remark]
  }

  /// A refusal whose place, and if omitted its remedy, are the usual ones.
  package init(_ reason: PushReason, because words: String, remedy: String? = nil) {
    var remark = reason.remark
    (remark.words, remark.remedy) = (words, remedy ?? remark.remedy)
    self.init(reason, [remark])
  }
}

extension PushReason {
  /// The usual place of the fault, its words and its remedy.
  package var remark: PushRemark {
    switch self {
    case .badCollapseID:
      PushRemark("apns-collapse-id", "has more than 64 bytes", remedy: "send a shorter one")
    case .badDeviceToken:
      PushRemark(
        ":path", "the device token was not issued here", remedy: "issue one: notibot-gateway token new")
    case .badExpirationDate:
      PushRemark("apns-expiration", "is not whole seconds since 1970", remedy: "send 0 or a time, or omit it")
    case .badMessageID:
      PushRemark("apns-id", "is not a UUID", remedy: "send the form 8-4-4-4-12, or omit it")
    case .badPriority:
      PushRemark("apns-priority", "is not 10, 5 or 1", remedy: "send one of them, or omit it")
    case .badTopic:
      PushRemark(
        "apns-topic", "is not 1 to 128 letters, digits, '.', '-' and '_'", remedy: "send the app's bundle id")
    case .deviceTokenNotForTopic:
      PushRemark(
        ":path", "the device token is another topic's",
        remedy: "issue one for this topic: notibot-gateway token new --topic")
    case .duplicateHeaders: PushRemark("authorization, apns-*", "one stands twice", remedy: "send each once")
    case .idleTimeout: PushRemark("", "the request was not complete after 10 s", remedy: "end its stream")
    case .invalidPushType:
      PushRemark(
        "apns-push-type", "is not a type of APNs",
        remedy: "send one of " + PushHead.PushType.allCases.map(\.rawValue).joined(separator: ", "))
    case .missingDeviceToken:
      PushRemark(":path", "has no device token", remedy: "send to /3/device/<64 hexadecimal digits>")
    case .missingTopic: PushRemark("apns-topic", "is missing", remedy: "send the app's bundle id")
    case .payloadEmpty:
      PushRemark("body", "is not a JSON object", remedy: "send {\"aps\":{\"alert\":\"...\"}}")
    case .topicDisallowed:
      PushRemark(
        "apns-topic", "is not one of the topics of this key",
        remedy: "allow it: notibot-gateway trust --topic")
    case .expiredProviderToken:
      PushRemark(
        "authorization", "the token is more than an hour old", remedy: "make one each 20 to 60 minutes")
    case .invalidProviderToken:
      PushRemark(
        "authorization", "is not a valid provider token", remedy: "compare it with notibot-gateway trust")
    case .missingProviderToken:
      PushRemark("authorization", "is missing", remedy: "send bearer and the provider token")
    case .unrelatedKeyIDInToken:
      PushRemark(
        "authorization", "the connection began with another key", remedy: "use one connection for each key")
    case .badPath: PushRemark(":path", "is not /3/device/<token>", remedy: "send to that path")
    case .methodNotAllowed: PushRemark(":method", "is not POST", remedy: "use POST")
    case .expiredToken, .unregistered:
      PushRemark(":path", "the device token was revoked", remedy: "stop using it, or issue another one")
    case .payloadTooLarge:
      PushRemark("body", "has more than 4096 bytes, or 5120 with the push type voip", remedy: "shorten it")
    case .tooManyRequests:
      PushRemark(
        ":path", "too many pushes for this device token",
        remedy: "wait as retry-after says, or raise 'pushesPerMinute' and 'burst'")
    case .internalServerError: PushRemark("", "the gateway failed", remedy: "try again")
    case .serviceUnavailable:
      PushRemark("", "the gateway cannot take pushes now", remedy: "see notibot-gateway status")
    case .shutdown: PushRemark("", "the gateway is ending", remedy: "try again")
    }
  }
}

/// What a request's header block says before anything is looked up.
package struct PushHead: Hashable, Sendable {
  /// `apns-push-type`: those that change how a push is handled.
  package enum PushType: Hashable, Sendable {
    case background, voip, other

    /// nil for a name that APNs does not have.
    init?(name: String) {
      switch name {
      case "background": self = .background
      case "voip": self = .voip
      case "alert", "location", "complication", "fileprovider", "mdm", "liveactivity", "pushtotalk",
        "widgets",
        "controls":
        self = .other
      case _: return nil
      }
    }
  }

  /// The device token as it stands in the path.
  package var deviceToken: String
  /// Echoed byte for byte.
  package var apnsID: String?
  package var topic: String
  package var collapseID: String?
  /// 10, 5 or 1.
  package var priority: Int
  package var pushType: PushType?
  /// `apns-expiration`; 0: deliver now or never.
  package var expiration: Int64?
  package var authorization: String?

  package init(
    deviceToken: String, apnsID: String?, topic: String, collapseID: String?, priority: Int,
    pushType: PushType?, expiration: Int64?, authorization: String?
  ) {
    self.deviceToken = deviceToken
    self.apnsID = apnsID
    self.topic = topic
    self.collapseID = collapseID
    self.priority = priority
    self.pushType = pushType
    self.expiration = expiration
    self.authorization = authorization
  }

  package static let collapseLimitBytes = 64
  package static let topicLimitBytes = 128
  /// Bytes of a body, at most. `voip` is allowed more.
  package static let bodyLimitBytes = 4096
  package static let voipBodyLimitBytes = 5120

  package var bodyLimitBytes: Int { pushType == .voip ? Self.voipBodyLimitBytes : Self.bodyLimitBytes }

  /// The topic without the suffix of a push type.
  package var profileTopic: String {
    for suffix in [".push-type.liveactivity", ".voip", ".complication", ".pushkit.fileprovider"]
    where topic.hasSuffix(suffix) && topic.utf8.count > suffix.utf8.count {
      return String(topic.dropLast(suffix.count))
    }
    return topic
  }
}

/// Headers of a request in their order, and its path and method.
package struct PushHeaders: Hashable, Sendable {
  package var method: String
  package var path: String
  /// Names in lower case.
  package var fields: [(name: String, value: String)]

  package init(method: String, path: String, fields: [(name: String, value: String)]) {
    self.method = method
    self.path = path
    self.fields = fields
  }

  package static func == (left: PushHeaders, right: PushHeaders) -> Bool {
    left.method == right.method && left.path == right.path && left.fields.elementsEqual(right.fields, by: ==)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(method)
    hasher.combine(path)
    for field in fields { hasher.combine(field.name + ":" + field.value) }
  }

  /// Whether it is a request of the long poll, and no push.
  package var isPoll: Bool { path == "/v1/actions" || path.hasPrefix("/v1/actions?") }

  package func first(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  /// What every answer echoes, even if it is not a UUID: a client waits for its own value.
  package var echoedID: String? {
    first("apns-id").flatMap { id in
      id.utf8.count <= 128 && id.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? id : nil
    }
  }

  package var authorization: String? { first("authorization") }

  /// The checks that need no key: path, method, repeated headers. The caller then checks the
  /// provider's token, so that nothing is learned without one.
  package func refusalBeforeTrust() -> PushReason? {
    guard path.hasPrefix("/3/device") else { return .badPath }
    let rest = path.dropFirst("/3/device".count)
    guard rest.isEmpty || rest.first == "/" else { return .badPath }
    guard method == "POST" else { return .methodNotAllowed }
    let names = fields.map(\.name).filter { $0.hasPrefix("apns-") || $0 == "authorization" }
    return Set(names).count == names.count ? nil : .duplicateHeaders
  }

  /// The values of a push, or why it is refused.
  package func head() -> Result<PushHead, PushRefusal> {
    if let id = first("apns-id"), !Self.isUUID(id) { return .failure(.badMessageID) }
    guard let topic = first("apns-topic"), !topic.isEmpty else { return .failure(.missingTopic) }
    guard topic.utf8.count <= PushHead.topicLimitBytes, topic.utf8.allSatisfy(Self.isTopicByte) else {
      return .failure(.badTopic)
    }
    let collapseID = first("apns-collapse-id")
    guard (collapseID?.utf8.count ?? 1) <= PushHead.collapseLimitBytes else {
      return .failure(.badCollapseID)
    }
    let priority = first("apns-priority").map { ["10": 10, "5": 5, "1": 1][$0] } ?? 10
    guard let priority else { return .failure(.badPriority) }
    var pushType: PushHead.PushType?
    if let name = first("apns-push-type") {
      guard let known = PushHead.PushType(name: name) else { return .failure(.invalidPushType) }
      pushType = known
    }
    var expiration: Int64?
    if let text = first("apns-expiration") {
      guard text.utf8.count <= 15, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let value = Int64(text)
      else { return .failure(.badExpirationDate) }
      expiration = value
    }
    let token = path.dropFirst("/3/device".count).dropFirst()
    guard !token.isEmpty else { return .failure(.missingDeviceToken) }
    return .success(
      PushHead(
        deviceToken: String(token), apnsID: first("apns-id"), topic: topic,
        collapseID: collapseID.flatMap { $0.isEmpty ? nil : $0 }, priority: priority, pushType: pushType,
        expiration: expiration, authorization: authorization))
  }

  private static func isTopicByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    case _: false
    }
  }

  /// Whether the text has the form 8-4-4-4-12.
  package static func isUUID(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && parts.allSatisfy { $0.utf8.allSatisfy { hexDigit($0) != nil } }
  }
}

/// A refusal as an error.
package struct PushRefusal: Error, Hashable, Sendable {
  package var reason: PushReason

  package init(reason: PushReason) {
    self.reason = reason
  }

  static let badMessageID = PushRefusal(reason: .badMessageID)
  static let missingTopic = PushRefusal(reason: .missingTopic)
  static let badTopic = PushRefusal(reason: .badTopic)
  static let badCollapseID = PushRefusal(reason: .badCollapseID)
  static let badPriority = PushRefusal(reason: .badPriority)
  static let invalidPushType = PushRefusal(reason: .invalidPushType)
  static let badExpirationDate = PushRefusal(reason: .badExpirationDate)
  static let missingDeviceToken = PushRefusal(reason: .missingDeviceToken)
}

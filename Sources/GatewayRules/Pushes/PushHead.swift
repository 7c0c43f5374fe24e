/// What a request's header block says before anything is looked up.
package struct PushHead: Hashable, Sendable {
  /// `apns-push-type`. Source: Apple, "Sending notification requests to APNs".
  package enum PushType: String, Hashable, Sendable, CaseIterable {
    case alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk
    case widgets, controls

    /// What its topics have behind the app's bundle id; empty: nothing.
    package var topicSuffix: String {
      switch self {
      case .alert, .background, .mdm: ""
      case .location: ".location-query"
      case .voip: ".voip"
      case .complication: ".complication"
      case .fileprovider: ".pushkit.fileprovider"
      case .liveactivity: ".push-type.liveactivity"
      case .pushtotalk: ".voip-ptt"
      case .widgets: ".push-type.widgets"
      case .controls: ".push-type.controls"
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

  /// The head of a payload from a file.
  package init(topic: String, apnsID: String?) {
    self.init(
      deviceToken: "", apnsID: apnsID, topic: topic, collapseID: nil, priority: 10, pushType: nil,
      expiration: nil, authorization: nil)
  }

  package static let collapseLimitBytes = 64
  /// Bytes of a body, at most. `voip` is allowed more.
  package static let bodyLimitBytes = 4096
  package static let voipBodyLimitBytes = 5120

  package var bodyLimitBytes: Int { pushType == .voip ? Self.voipBodyLimitBytes : Self.bodyLimitBytes }

  /// The topic without the suffix of a push type.
  package var profileTopic: String { Topic.withoutSuffix(topic) }
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

  /// Whether the header block is one of HTTP/2: names in lower case, without those of a connection.
  /// Values are not judged here: an odd byte in one has its own reason.
  /// Source: RFC 9113 section 8.2.
  package var isWellFormed: Bool {
    fields.allSatisfy { name, _ in
      !name.isEmpty && !Self.connectionFields.contains(name)
        && name.utf8.allSatisfy { byte in
          (0x21...0x7E).contains(byte) && !(0x41...0x5A).contains(byte) && byte != UInt8(ascii: ":")
        }
    }
  }

  private static let connectionFields = [
    "connection", "transfer-encoding", "proxy-connection", "keep-alive", "upgrade",
  ]

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

  /// The values of a push.
  package func head() throws(PushRefusal) -> PushHead {
    if let id = first("apns-id"), !Self.isUUID(id) { throw PushRefusal(.badMessageID) }
    guard let topic = first("apns-topic"), !topic.isEmpty else { throw PushRefusal(.missingTopic) }
    guard Topic.isWellFormed(topic) else { throw PushRefusal(.badTopic) }
    let collapseID = first("apns-collapse-id")
    guard (collapseID?.utf8.count ?? 1) <= PushHead.collapseLimitBytes else {
      throw PushRefusal(.badCollapseID)
    }
    guard let priority = Self.priorities[first("apns-priority") ?? "10"] else {
      throw PushRefusal(.badPriority)
    }
    var pushType: PushHead.PushType?
    if let name = first("apns-push-type") {
      guard let known = PushHead.PushType(rawValue: name) else { throw PushRefusal(.invalidPushType) }
      pushType = known
    }
    // A client that omits the header cannot know better.
    guard pushType != .background || first("apns-priority") != "10" else {
      throw PushRefusal(
        .badPriority, because: "is 10 with the push type background, which is an error", remedy: "send 5")
    }
    var expiration: Int64?
    if let text = first("apns-expiration") {
      guard text.utf8.count <= 15, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let value = Int64(text)
      else { throw PushRefusal(.badExpirationDate) }
      expiration = value
    }
    let token = path.dropFirst("/3/device".count).dropFirst()
    guard !token.isEmpty else { throw PushRefusal(.missingDeviceToken) }
    return PushHead(
      deviceToken: String(token), apnsID: first("apns-id"), topic: topic,
      collapseID: collapseID.flatMap { $0.isEmpty ? nil : $0 }, priority: priority, pushType: pushType,
      expiration: expiration, authorization: authorization)
  }

  private static let priorities = ["10": 10, "5": 5, "1": 1]

  /// Whether the text has the form 8-4-4-4-12.
  package static func isUUID(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && parts.allSatisfy { $0.utf8.allSatisfy { hexDigit($0) != nil } }
  }
}

/// Why a push is refused. Source: Apple, "Handling notification responses from APNs".
package enum PushReason: String, Hashable, Sendable, CaseIterable {
  case badCollapseID = "BadCollapseId"
  case badDeviceToken = "BadDeviceToken"
  case badExpirationDate = "BadExpirationDate"
  case badMessageID = "BadMessageId"
  case badPriority = "BadPriority"
  case badTopic = "BadTopic"
  case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
  case duplicateHeaders = "DuplicateHeaders"
  case idleTimeout = "IdleTimeout"
  case invalidPushType = "InvalidPushType"
  case missingDeviceToken = "MissingDeviceToken"
  case missingTopic = "MissingTopic"
  case payloadEmpty = "PayloadEmpty"
  case topicDisallowed = "TopicDisallowed"
  case expiredProviderToken = "ExpiredProviderToken"
  case invalidProviderToken = "InvalidProviderToken"
  case missingProviderToken = "MissingProviderToken"
  case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
  case badPath = "BadPath"
  case methodNotAllowed = "MethodNotAllowed"
  case expiredToken = "ExpiredToken"
  case unregistered = "Unregistered"
  case payloadTooLarge = "PayloadTooLarge"
  case tooManyRequests = "TooManyRequests"
  case internalServerError = "InternalServerError"
  case serviceUnavailable = "ServiceUnavailable"
  case shutdown = "Shutdown"

  /// The HTTP status.
  package var status: Int {
    switch self {
    case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
      .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
      .missingTopic,
      .payloadEmpty, .topicDisallowed:
      400
    case .expiredProviderToken, .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken: 403
    case .badPath: 404
    case .methodNotAllowed: 405
    case .expiredToken, .unregistered: 410
    case .payloadTooLarge: 413
    case .tooManyRequests: 429
    case .internalServerError: 500
    case .serviceUnavailable, .shutdown: 503
    }
  }
}

/// The answer to a push.
package struct PushAnswer: Hashable, Sendable {
  /// nil: 200.
  package var reason: PushReason?
  /// The sender's, byte for byte, or one of ours. Always there: aioapns waits forever without it.
  package var apnsID: String
  /// When a token became invalid; for 410.
  package var since: WallTime?
  /// For people: what was wrong.
  package var detail: String?

  package init(reason: PushReason?, apnsID: String, since: WallTime? = nil, detail: String? = nil) {
    self.reason = reason
    self.apnsID = apnsID
    self.since = since
    self.detail = detail
  }

  package var status: Int { reason?.status ?? 200 }

  /// When the next attempt makes sense after a refusal that passes.
  package static let retryAfterSeconds = 10

  /// For `retry-after`; nil: not said.
  package var retryAfterSeconds: Int? { reason == .serviceUnavailable ? Self.retryAfterSeconds : nil }

  /// The JSON body; empty for 200.
  package var body: String {
    guard let reason else { return "" }
    let timestamp = since.map { ",\"timestamp\":\($0.milliseconds)" } ?? ""
    return "{\"reason\":\"\(reason.rawValue)\"\(timestamp)}"
  }
}

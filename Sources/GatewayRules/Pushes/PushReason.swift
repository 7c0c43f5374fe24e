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

extension PushReason {
  /// Whether it is about the provider's token. Why that is refused is only listed locally: nothing
  /// is to be learned without a key.
  var isOfTrust: Bool {
    switch self {
    case .expiredProviderToken, .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken: true
    case _: false
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
  /// What was wrong, or is shown otherwise than asked.
  package var remarks: [PushRemark]
  /// How long the device token has to wait for its next push, after too many.
  package var paceSeconds: Int

  package init(
    reason: PushReason?, apnsID: String, since: WallTime? = nil, remarks: [PushRemark] = [],
    paceSeconds: Int = 1
  ) {
    self.reason = reason
    self.apnsID = apnsID
    self.since = since
    self.remarks = remarks
    self.paceSeconds = paceSeconds
  }

  package var status: Int { reason?.status ?? 200 }

  /// When the next attempt makes sense after a refusal that passes.
  package static let retryAfterSeconds = 10

  /// For `retry-after`; nil: not said.
  package var retryAfterSeconds: Int? {
    switch reason {
    case .serviceUnavailable, .shutdown: Self.retryAfterSeconds
    case .tooManyRequests: paceSeconds
    case _: nil
    }
  }

  /// Bytes of the header `notibot-detail`, at most.
  static let detailLimitBytes = 1024

  /// The remarks as a header; nil: there is none. Before the sender is trusted nothing is said.
  package var detail: String? {
    guard !remarks.isEmpty, reason?.isOfTrust != true else { return nil }
    let bytes = remarks.map(\.line).joined(separator: " | ").utf8.prefix(Self.detailLimitBytes)
    return String(decoding: bytes.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }

  /// The JSON body; empty for 200.
  package var body: String {
    guard let reason else { return "" }
    let timestamp = since.map { ",\"timestamp\":\($0.milliseconds)" } ?? ""
    return "{\"reason\":\"\(reason.rawValue)\"\(timestamp)}"
  }
}

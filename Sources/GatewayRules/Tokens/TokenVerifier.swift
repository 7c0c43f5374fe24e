/// A provider's key that is trusted for some topics.
package struct TrustedKey: Hashable, Sendable {
  package var teamID: String
  package var keyID: String
  package var topics: [String]
  /// 65 bytes: 4, x, y.
  package var publicKey: [UInt8]

  package init(teamID: String, keyID: String, topics: [String], publicKey: [UInt8]) {
    self.teamID = teamID
    self.keyID = keyID
    self.topics = topics
    self.publicKey = publicKey
  }
}

/// Decides whether a request's `authorization` is accepted. The driver verifies the signature when
/// asked, once for each token.
package struct TokenVerifier: Hashable, Sendable {
  /// A signature that the driver has to verify.
  package struct Check: Hashable, Sendable {
    package var token: ProviderToken
    package var key: TrustedKey
    package var text: String
  }

  package enum Verdict: Hashable, Sendable {
    case accepted(TrustedKey)
    case refused(PushReason)
    case verify(Check)
  }

  /// Verified tokens kept, at most.
  package static let cacheLimit = 64
  /// A token is valid for an hour after its time of issue.
  package static let lifetimeMs: Int64 = 3_600_000
  /// How far a provider's clock can be ahead.
  package static let clockLeadMs: Int64 = 60_000

  private struct Verified: Hashable {
    var text: String
    var key: TrustedKey
    var issuedAt: WallTime
  }

  private var keys: [TrustedKey]
  private var cache: [Verified] = []

  package init(keys: [TrustedKey]) {
    self.keys = keys
  }

  /// Replaces the trusted keys; verified tokens of others are forgotten.
  package mutating func setKeys(_ keys: [TrustedKey]) {
    self.keys = keys
    cache.removeAll { !keys.contains($0.key) }
  }

  package func verdict(_ authorization: String?, now: WallTime) -> Verdict {
    guard let authorization, !authorization.isEmpty else { return .refused(.missingProviderToken) }
    guard let space = authorization.firstIndex(of: " "),
      authorization[..<space].lowercased() == "bearer"
    else { return .refused(.invalidProviderToken) }
    let text = authorization[authorization.index(after: space)...]
    if let known = cache.first(where: { $0.text == text }) {
      return Self.age(of: known.issuedAt, now).map { .refused($0) } ?? .accepted(known.key)
    }
    guard let token = ProviderToken(parsing: text),
      let key = keys.first(where: { $0.keyID == token.keyID && $0.teamID == token.teamID })
    else { return .refused(.invalidProviderToken) }
    if let reason = Self.age(of: token.issuedAt, now) { return .refused(reason) }
    return .verify(Check(token: token, key: key, text: String(text)))
  }

  /// The result of the driver's verification.
  package mutating func note(_ check: Check, isValid: Bool) -> Verdict {
    guard isValid else { return .refused(.invalidProviderToken) }
    guard keys.contains(check.key) else { return .refused(.invalidProviderToken) }
    if !cache.contains(where: { $0.text == check.text }) {
      if cache.count >= Self.cacheLimit { cache.removeFirst() }
      cache.append(Verified(text: check.text, key: check.key, issuedAt: check.token.issuedAt))
    }
    return .accepted(check.key)
  }

  private static func age(of issuedAt: WallTime, _ now: WallTime) -> PushReason? {
    if issuedAt > now.adding(milliseconds: clockLeadMs) { return .invalidProviderToken }
    return issuedAt < now.adding(milliseconds: -lifetimeMs) ? .expiredProviderToken : nil
  }
}

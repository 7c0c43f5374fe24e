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
    case refused(PushRefusal)
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
    guard let authorization, !authorization.isEmpty else {
      return .refused(PushRefusal(.missingProviderToken))
    }
    guard let space = authorization.firstIndex(of: " "),
      authorization[..<space].lowercased() == "bearer"
    else { return .refused(PushRefusal(.invalidProviderToken, because: "does not begin with bearer")) }
    let text = authorization[space...].drop { $0 == " " }
    if let known = cache.first(where: { $0.text == text }) {
      return Self.age(of: known.issuedAt, now).map { .refused($0) } ?? .accepted(known.key)
    }
    do throws(PushRefusal) {
      let token = try ProviderToken(parsing: text)
      guard let key = keys.first(where: { $0.keyID == token.keyID && $0.teamID == token.teamID }) else {
        throw PushRefusal(.invalidProviderToken, because: "no key of its 'iss' and 'kid' is trusted")
      }
      if let refusal = Self.age(of: token.issuedAt, now) { throw refusal }
      return .verify(Check(token: token, key: key, text: String(text)))
    } catch {
      return .refused(error)
    }
  }

  /// The result of the driver's verification.
  package mutating func receive(_ check: Check, isValid: Bool) -> Verdict {
    guard isValid else {
      return .refused(
        PushRefusal(
          .invalidProviderToken, because: "the signature is not that of the trusted key \(check.key.keyID)"))
    }
    guard keys.contains(check.key) else { return .refused(PushRefusal(.invalidProviderToken)) }
    if !cache.contains(where: { $0.text == check.text }) {
      if cache.count >= Self.cacheLimit { cache.removeFirst() }
      cache.append(Verified(text: check.text, key: check.key, issuedAt: check.token.issuedAt))
    }
    return .accepted(check.key)
  }

  private static func age(of issuedAt: WallTime, _ now: WallTime) -> PushRefusal? {
    if issuedAt > now.adding(milliseconds: clockLeadMs) {
      let seconds = issuedAt.seconds - now.seconds
      return PushRefusal(.invalidProviderToken, because: "the claim 'iat' is \(seconds) s ahead of the clock")
    }
    return issuedAt < now.adding(milliseconds: -lifetimeMs) ? PushRefusal(.expiredProviderToken) : nil
  }
}

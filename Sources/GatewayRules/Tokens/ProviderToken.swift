/// The parts of a provider's token that matter: a JWT with the algorithm ES256.
/// Source: RFC 7515, RFC 7518 section 3.4.
package struct ProviderToken: Hashable, Sendable {
  package var keyID: String
  package var teamID: String
  package var issuedAt: WallTime
  /// What is signed: header and claims as they were sent.
  package var signedBytes: [UInt8]
  /// r and s, 32 bytes each; or both in DER, as `openssl dgst` signs, which Apple accepts, too.
  package var signature: [UInt8]

  /// Characters of a token, at most.
  package static let limitBytes = 1024

  /// Reads a token.
  package init(parsing token: Substring) throws(PushRefusal) {
    func refusal(_ words: String) -> PushRefusal { PushRefusal(.invalidProviderToken, because: words) }
    guard token.utf8.count <= Self.limitBytes else { throw refusal("has more than \(Self.limitBytes) bytes") }
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw refusal("is not three parts with dots between them") }
    guard let header = Self.object(parts[0]), let claims = Self.object(parts[1]) else {
      throw refusal("a part is not Base64 for URLs of a JSON object")
    }
    // The algorithm is fixed: the token does not choose it.
    guard header["alg"]?.string == "ES256", header["crit"] == nil else {
      throw refusal("'alg' is not ES256, or there is a 'crit'")
    }
    guard let signature = Base64URL.decode(parts[2]), (8...72).contains(signature.count) else {
      throw refusal("the signature is not 64 bytes, r and s, or their DER, in Base64 for URLs")
    }
    guard let keyID = header["kid"]?.string else { throw refusal("'kid' in the head is not a string") }
    guard let teamID = claims["iss"]?.string else { throw refusal("the claim 'iss' is not a string") }
    guard let seconds = claims["iat"].flatMap(Self.seconds) else {
      throw refusal("the claim 'iat' is not a time in seconds")
    }
    self.keyID = keyID
    self.teamID = teamID
    issuedAt = WallTime(milliseconds: Int64(min(max(seconds * 1000, -Self.timeLimitMs), Self.timeLimitMs)))
    signedBytes = Array("\(parts[0]).\(parts[1])".utf8)
    self.signature = signature
  }

  /// The time is only compared, so each form of it counts: with a fraction, as PyAPNs2 sends it,
  /// with an exponent, or as a string, as APNSwift sent it before its pull request 246.
  private static func seconds(_ value: JSONValue) -> Double? {
    guard case .string(let text) = value else { return value.double }
    return (try? JSONValue(parsing: Array(text.utf8), limitBytes: limitBytes))?.double
  }

  /// Later and earlier times are this one, in milliseconds.
  private static let timeLimitMs: Double = 9_007_199_254_740_992

  private static func object(_ part: Substring) -> [String: JSONValue]? {
    guard let bytes = Base64URL.decode(part) else { return nil }
    return (try? JSONValue(parsing: bytes, limitBytes: limitBytes))?.object
  }
}

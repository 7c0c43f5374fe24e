/// The parts of a provider's token that matter: a JWT with the algorithm ES256.
/// Source: RFC 7515, RFC 7518 section 3.4.
package struct ProviderToken: Hashable, Sendable {
  package var keyID: String
  package var teamID: String
  package var issuedAt: WallTime
  /// What is signed: header and claims as they were sent.
  package var signedBytes: [UInt8]
  /// r and s, 32 bytes each.
  package var signature: [UInt8]

  /// Characters of a token, at most.
  package static let limitBytes = 1024

  /// Reads a token; nil for everything that is not a token signed with ES256.
  package init?(parsing token: Substring) {
    guard token.utf8.count <= Self.limitBytes else { return nil }
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
      let signature = Base64URL.decode(parts[2]), signature.count == 64,
      // The algorithm is fixed: the token does not choose it.
      header["alg"]?.string == "ES256", header["crit"] == nil,
      let keyID = header["kid"]?.string, let teamID = claims["iss"]?.string,
      let issued = claims["iat"]?.whole, (0...0xFFFF_FFFF).contains(issued)
    else { return nil }
    self.keyID = keyID
    self.teamID = teamID
    issuedAt = WallTime(seconds: issued)
    signedBytes = Array("\(parts[0]).\(parts[1])".utf8)
    self.signature = signature
  }

  private static func object(_ part: Substring) -> [String: JSONValue]? {
    guard let bytes = Base64URL.decode(part) else { return nil }
    return (try? JSONValue(parsing: bytes, limitBytes: limitBytes))?.object
  }
}

import GatewayRules
import Testing

@Suite struct TokenVerifierTests {
  static let key = TrustedKey(
    teamID: "TEAMID1234", keyID: "ABC123DEFG", topics: ["t"], publicKey: [UInt8](repeating: 4, count: 65))
  static let issued: Int64 = 1_700_000_000

  /// A token of these parts; its signature is 64 zero bytes unless it is given.
  static func token(
    header: String = #"{"alg":"ES256","kid":"ABC123DEFG","typ":"JWT"}"#,
    claims: String = #"{"iss":"TEAMID1234","iat":1700000000}"#,
    signature: String = String(repeating: "A", count: 86)
  ) -> String {
    "bearer \(base64(header)).\(base64(claims)).\(signature)"
  }

  static func base64(_ text: String) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var result = ""
    var bits: UInt32 = 0
    var count = 0
    for byte in text.utf8 {
      bits = (bits << 8 | UInt32(byte)) & 0xFFFF
      count += 8
      while count >= 6 {
        count -= 6
        result.append(alphabet[Int(bits >> UInt32(count) & 63)])
      }
    }
    if count > 0 { result.append(alphabet[Int(bits << UInt32(6 - count) & 63)]) }
    return result
  }

  static func verdict(_ authorization: String?, at seconds: Int64 = issued) -> TokenVerifier.Verdict {
    TokenVerifier(keys: [key]).verdict(authorization, now: WallTime(seconds: seconds))
  }

  static let refused: [(String, String?, PushReason)] = [
    ("none", nil, .missingProviderToken),
    ("empty", "", .missingProviderToken),
    ("no scheme", "abc", .invalidProviderToken),
    ("another scheme", "basic abc", .invalidProviderToken),
    ("no parts", "bearer abc", .invalidProviderToken),
    ("two parts", "bearer a.b", .invalidProviderToken),
    ("four parts", token() + ".x", .invalidProviderToken),
    ("alg none", token(header: #"{"alg":"none","kid":"ABC123DEFG"}"#), .invalidProviderToken),
    (
      "alg none, no signature", token(header: #"{"alg":"none","kid":"ABC123DEFG"}"#, signature: ""),
      .invalidProviderToken
    ),
    ("alg HS256", token(header: #"{"alg":"HS256","kid":"ABC123DEFG"}"#), .invalidProviderToken),
    ("alg RS256", token(header: #"{"alg":"RS256","kid":"ABC123DEFG"}"#), .invalidProviderToken),
    ("alg es256", token(header: #"{"alg":"es256","kid":"ABC123DEFG"}"#), .invalidProviderToken),
    (
      "a critical header", token(header: #"{"alg":"ES256","kid":"ABC123DEFG","crit":["b64"]}"#),
      .invalidProviderToken
    ),
    ("alg twice", token(header: #"{"alg":"ES256","alg":"none","kid":"ABC123DEFG"}"#), .invalidProviderToken),
    ("unknown key", token(header: #"{"alg":"ES256","kid":"XXXXXXXXXX"}"#), .invalidProviderToken),
    ("wrong team", token(claims: #"{"iss":"OTHERTEAM1","iat":1700000000}"#), .invalidProviderToken),
    ("no time", token(claims: #"{"iss":"TEAMID1234"}"#), .invalidProviderToken),
    ("time as words", token(claims: #"{"iss":"TEAMID1234","iat":"now"}"#), .invalidProviderToken),
    ("time as a list", token(claims: #"{"iss":"TEAMID1234","iat":[1700000000]}"#), .invalidProviderToken),
    ("a time of true", token(claims: #"{"iss":"TEAMID1234","iat":true}"#), .invalidProviderToken),
    ("negative time", token(claims: #"{"iss":"TEAMID1234","iat":-1}"#), .expiredProviderToken),
    ("milliseconds", token(claims: #"{"iss":"TEAMID1234","iat":1700000000000}"#), .invalidProviderToken),
    ("no number at all", token(claims: #"{"iss":"TEAMID1234","iat":1e400}"#), .invalidProviderToken),
    ("a huge time", token(claims: #"{"iss":"TEAMID1234","iat":1e300}"#), .invalidProviderToken),
    ("73 bytes as signature", token(signature: String(repeating: "A", count: 98)), .invalidProviderToken),
    ("7 bytes as signature", token(signature: String(repeating: "A", count: 10)), .invalidProviderToken),
    ("padded", token(signature: String(repeating: "A", count: 86) + "=="), .invalidProviderToken),
    (
      "8 KiB",
      token(
        claims: #"{"iss":"TEAMID1234","iat":1700000000,"x":""# + String(repeating: "x", count: 8192) + "\"}"),
      .invalidProviderToken
    ),
  ]

  @Test(arguments: refused)
  func `a token that is not valid is refused before a signature is verified`(
    name: String, authorization: String?, reason: PushReason
  ) {
    #expect(Self.reason(Self.verdict(authorization)) == reason, "\(name)")
  }

  static func reason(_ verdict: TokenVerifier.Verdict) -> PushReason? {
    if case .refused(let refusal) = verdict { refusal.reason } else { nil }
  }

  @Test(arguments: [
    "1700000000", "1700000000.25", "1.7e9", "17E8", #""1700000000""#, #""1700000000.25""#, "1700000000.0",
  ])
  func `the time of a token is only compared, in any form of JSON`(time: String) throws {
    let token = Self.token(claims: #"{"iss":"TEAMID1234","iat":\#(time)}"#)
    guard case .verify(let check) = Self.verdict(token) else {
      Issue.record("refused")
      return
    }
    #expect(check.token.issuedAt.seconds == Self.issued)
    #expect(Self.reason(Self.verdict(token, at: Self.issued + 3602)) == .expiredProviderToken)
  }

  @Test func `a refused token is explained with its part`() {
    func words(_ authorization: String?) -> String? {
      guard case .refused(let refusal) = Self.verdict(authorization) else { return nil }
      return refusal.remarks.last?.line
    }
    #expect(words(Self.token(claims: #"{"iss":"TEAMID1234"}"#))?.contains("'iat'") == true)
    #expect(words(Self.token(claims: #"{"iat":1700000000}"#))?.contains("'iss'") == true)
    #expect(words(Self.token(header: #"{"alg":"ES256"}"#))?.contains("'kid'") == true)
    #expect(words(Self.token(header: #"{"alg":"ES256","kid":"X"}"#))?.contains("trusted") == true)
  }

  @Test func `a signature in DER is verified`() {
    for count in [94, 95, 96] {
      let verdict = Self.verdict(Self.token(signature: String(repeating: "A", count: count)))
      if case .verify = verdict {} else { Issue.record("\(count): \(verdict)") }
    }
  }

  @Test func `a token counts from a minute before its time for an hour`() {
    func isAsked(_ seconds: Int64) -> Bool {
      if case .verify = Self.verdict(Self.token(), at: Self.issued + seconds) { true } else { false }
    }
    #expect(isAsked(-60) && isAsked(0) && isAsked(3600))
    #expect(Self.reason(Self.verdict(Self.token(), at: Self.issued - 61)) == .invalidProviderToken)
    #expect(Self.reason(Self.verdict(Self.token(), at: Self.issued + 3601)) == .expiredProviderToken)
  }

  @Test func `a verified token is not verified again, and expires`() throws {
    var verifier = TokenVerifier(keys: [Self.key])
    let now = WallTime(seconds: Self.issued)
    guard case .verify(let check) = verifier.verdict(Self.token(), now: now) else {
      Issue.record("not asked")
      return
    }
    #expect(Self.reason(verifier.receive(check, isValid: false)) == .invalidProviderToken)
    guard case .verify = verifier.verdict(Self.token(), now: now) else {
      Issue.record("a bad signature was kept")
      return
    }
    #expect(verifier.receive(check, isValid: true) == .accepted(Self.key))
    #expect(verifier.verdict(Self.token(), now: now) == .accepted(Self.key))
    // The scheme's letters do not matter, another signature does.
    #expect(
      verifier.verdict("Bearer" + Self.token().dropFirst(6), now: now) == .accepted(Self.key))
    guard
      case .verify = verifier.verdict(
        Self.token(signature: String(repeating: "B", count: 85) + "A"), now: now)
    else {
      Issue.record("another signature was accepted")
      return
    }
    let late = WallTime(seconds: Self.issued + 3601)
    #expect(Self.reason(verifier.verdict(Self.token(), now: late)) == .expiredProviderToken)
    verifier.setKeys([])
    #expect(Self.reason(verifier.verdict(Self.token(), now: now)) == .invalidProviderToken)
  }
}

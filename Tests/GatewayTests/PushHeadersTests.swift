import GatewayRules
import Testing

@Suite struct PushHeadersTests {
  static let token = String(repeating: "0", count: 63) + "1"
  static let path = "/3/device/\(token)"
  static let uuid = "123e4567-e89b-12d3-a456-426614174000"

  static func headers(
    _ fields: [(String, String)], path: String = path, method: String = "POST"
  ) -> PushHeaders {
    PushHeaders(method: method, path: path, fields: fields.map { (name: $0.0, value: $0.1) })
  }

  @Test(arguments: [
    ("/", "POST", PushReason.badPath), ("/3/devices/x", "POST", .badPath), ("/2/device/x", "POST", .badPath),
    ("/3/device/x", "GET", .methodNotAllowed), ("/3/device/x", "PUT", .methodNotAllowed),
    ("/", "GET", .badPath),
  ])
  func `path and method are checked first`(path: String, method: String, reason: PushReason) {
    #expect(Self.headers([], path: path, method: method).refusalBeforeTrust() == reason)
  }

  @Test func `repeated headers are refused`() {
    #expect(
      Self.headers([("apns-topic", "a"), ("apns-topic", "a")]).refusalBeforeTrust() == .duplicateHeaders)
    #expect(
      Self.headers([("authorization", "a"), ("authorization", "b")]).refusalBeforeTrust() == .duplicateHeaders
    )
    #expect(Self.headers([("cookie", "a"), ("cookie", "b")]).refusalBeforeTrust() == nil)
  }

  static let refused: [([(String, String)], PushReason)] = [
    ([("apns-id", "x")], .badMessageID),
    ([("apns-id", "123e4567e89b12d3a456426614174000")], .badMessageID),
    ([("apns-id", "g23e4567-e89b-12d3-a456-426614174000")], .badMessageID),
    ([], .missingTopic),
    ([("apns-topic", "")], .missingTopic),
    ([("apns-topic", "a b")], .badTopic),
    ([("apns-topic", String(repeating: "a", count: 129))], .badTopic),
    ([("apns-topic", "t"), ("apns-collapse-id", String(repeating: "a", count: 65))], .badCollapseID),
    ([("apns-topic", "t"), ("apns-collapse-id", String(repeating: "é", count: 33))], .badCollapseID),
    ([("apns-topic", "t"), ("apns-priority", "7")], .badPriority),
    ([("apns-topic", "t"), ("apns-priority", "")], .badPriority),
    ([("apns-topic", "t"), ("apns-push-type", "sms")], .invalidPushType),
    ([("apns-topic", "t"), ("apns-expiration", "soon")], .badExpirationDate),
    ([("apns-topic", "t"), ("apns-expiration", "-1")], .badExpirationDate),
    ([("apns-topic", "t"), ("apns-expiration", "9999999999999999")], .badExpirationDate),
  ]

  @Test(arguments: refused)
  func `a header with a wrong value is refused`(fields: [(String, String)], reason: PushReason) {
    #expect(throws: PushRefusal(reason)) { try Self.headers(fields).head() }
  }

  @Test(arguments: ["/3/device", "/3/device/"])
  func `a path without a token is refused`(path: String) {
    #expect(throws: PushRefusal(.missingDeviceToken)) {
      try Self.headers([("apns-topic", "t")], path: path).head()
    }
  }

  @Test func `all headers but the topic are optional`() throws {
    let head = try Self.headers([("apns-topic", "com.a.b")]).head()
    #expect(
      head
        == PushHead(
          deviceToken: Self.token, apnsID: nil, topic: "com.a.b", collapseID: nil, priority: 10,
          pushType: nil,
          expiration: nil, authorization: nil))
    #expect(head.bodyLimitBytes == 4096)
  }

  @Test func `a full head is read`() throws {
    let head = try Self.headers([
      ("apns-topic", "com.a.b.push-type.liveactivity"), ("apns-id", Self.uuid.uppercased()),
      ("apns-collapse-id", String(repeating: "a", count: 64)), ("apns-priority", "5"),
      ("apns-push-type", "liveactivity"), ("apns-expiration", "0"), ("authorization", "bearer x"),
    ]).head()
    #expect(head.profileTopic == "com.a.b")
    #expect(head.apnsID == Self.uuid.uppercased())
    #expect(head.priority == 5 && head.expiration == 0 && head.pushType == .liveactivity)
  }

  @Test func `a background push with priority 10 is an error, as documented, without the header it is none`()
  {
    let fields = [("apns-topic", "t"), ("apns-push-type", "background")]
    #expect(throws: Never.self) { try Self.headers(fields).head() }
    #expect(throws: Never.self) { try Self.headers(fields + [("apns-priority", "5")]).head() }
    let error = #expect(throws: PushRefusal.self) {
      try Self.headers(fields + [("apns-priority", "10")]).head()
    }
    #expect(error?.reason == .badPriority)
  }

  @Test(arguments: [
    ("a.b.push-type.liveactivity", "a.b"), ("a.b.push-type.widgets", "a.b"),
    ("a.b.push-type.controls", "a.b"),
    ("a.b.voip", "a.b"), ("a.b.voip-ptt", "a.b"), ("a.b.location-query", "a.b"), ("a.b.complication", "a.b"),
    ("a.b.pushkit.fileprovider", "a.b"), ("a.b", "a.b"), (".voip", ".voip"),
    ("com.apple.mgmt.x", "com.apple.mgmt.x"),
  ])
  func `the suffix of a push type is not part of the topic in tables`(topic: String, plain: String) {
    #expect(Topic.withoutSuffix(topic) == plain)
    #expect((Topic.problem(topic) == nil) == (topic == plain))
  }

  @Test(arguments: ["", "a b", "a\n", " a", "é", "a/b", String(repeating: "a", count: 129), "*"])
  func `a topic or a key that can never match is named`(name: String) {
    #expect(Topic.problem(name) != nil && KeyName.problem(name) != nil)
    #expect(KeyName.problem("ABC123DEFG") == nil)
  }

  @Test(arguments: [
    ("X-Capital", false), ("connection", false), ("upgrade", false), ("", false), ("a b", false),
    (":x", false),
    ("x-lower", true), ("é", false),
  ])
  func `names of headers are those of HTTP/2`(name: String, isWellFormed: Bool) {
    #expect(Self.headers([(name, "odd\n value")]).isWellFormed == isWellFormed)
  }

  @Test(arguments: ["<740f4707 bebcf74f>", "a b", "\u{0}", "%20", "é", "<>"])
  func `a device token with odd bytes is a bad one, and is not repeated`(token: String) throws {
    let head = try Self.headers([("apns-topic", "t")], path: "/3/device/\(token)").head()
    let refusal = try #require(PushRequest.token(of: head, in: DeviceTokens()).refusal)
    #expect(refusal.reason == .badDeviceToken)
    #expect(!refusal.remarks.contains { $0.line.contains(token) })
  }

  @Test func `the list of pushes is limited, whatever is said about them`() {
    var log = PushLog()
    let remarks = (1...30).map { PushRemark("place \($0)", String(repeating: "x", count: 70_000)) }
    for _ in 0..<1001 {
      log.append(
        PushLog.Entry(
          at: WallTime(seconds: 1), source: "apns", topic: "t", token: "", apnsID: "", status: 400,
          verdict: "PayloadEmpty", remarks: remarks))
    }
    let entries = log.last(2000)
    #expect(entries.count == 1000 && entries[0].remarks.last?.place == "place 30")
    #expect(entries.reduce(0) { $0 + $1.line.utf8.count } < 4_000_000)
  }

  @Test func `every reason has a place or words, and a remedy`() {
    #expect(PushReason.allCases.allSatisfy { !$0.remark.words.isEmpty && !$0.remark.remedy.isEmpty })
    // A header of one line of ASCII, whatever a profile is called.
    let answer = PushAnswer(
      reason: nil, apnsID: "x", remarks: [PushRemark("aps.badge", "ü\r\n"), PushRemark("", "b", remedy: "c")])
    #expect(answer.detail == "aps.badge: ????| b; c".replacing("????|", with: "???? |"))
    #expect(
      PushAnswer(reason: .invalidProviderToken, apnsID: "x", remarks: [PushRemark("a", "b")]).detail == nil)
  }

  @Test func `voip is allowed a larger body`() throws {
    let head = try Self.headers([("apns-topic", "t.voip"), ("apns-push-type", "voip")]).head()
    #expect(head.bodyLimitBytes == 5120)
  }

  @Test func `what a client sent as its id is echoed, unless it could break an answer`() {
    #expect(Self.headers([("apns-id", "not-a-uuid")]).echoedID == "not-a-uuid")
    #expect(Self.headers([("apns-id", "a\r\nb")]).echoedID == nil)
    #expect(Self.headers([("apns-id", String(repeating: "a", count: 129))]).echoedID == nil)
  }

  @Test(arguments: [
    (63, PushReason.badDeviceToken), (64, nil), (65, .badDeviceToken),
  ])
  func `a device token has 64 digits`(count: Int, reason: PushReason?) throws {
    let text = String(repeating: "A", count: count)
    let head = try Self.headers([("apns-topic", "t")], path: "/3/device/\(text)").head()
    let digest = try #require(DeviceToken.digest(ofHex: String(repeating: "a", count: 64)))
    let tokens = DeviceTokens([
      DeviceToken(digest: digest, topic: "t", name: "n", created: WallTime(milliseconds: 0))
    ])
    #expect(PushRequest.token(of: head, in: tokens).refusal?.reason == reason)
  }

  @Test func `a token of another topic, a revoked one and an unknown one have different reasons`() throws {
    let digest = try #require(DeviceToken.digest(ofHex: Self.token))
    var token = DeviceToken(digest: digest, topic: "t", name: "n", created: WallTime(milliseconds: 0))
    func reason(_ topic: String) throws -> PushReason? {
      PushRequest.token(of: try Self.headers([("apns-topic", topic)]).head(), in: DeviceTokens([token]))
        .refusal?.reason
    }
    #expect(try reason("t") == nil)
    #expect(try reason("t.push-type.liveactivity") == nil)
    #expect(try reason("u") == .deviceTokenNotForTopic)
    token.revoked = WallTime(milliseconds: 5)
    #expect(try reason("t") == .unregistered)
    token.digest = []
    #expect(try reason("t") == .badDeviceToken)
  }

  @Test func `every reason has its status, and a refusal its body`() {
    #expect(
      PushReason.allCases.allSatisfy { [400, 403, 404, 405, 410, 413, 429, 500, 503].contains($0.status) })
    let answer = PushAnswer(reason: .unregistered, apnsID: "x", since: WallTime(milliseconds: 1234))
    #expect(answer.status == 410)
    #expect(answer.body == #"{"reason":"Unregistered","timestamp":1234}"#)
    #expect(answer.retryAfterSeconds == nil)
    #expect(PushAnswer(reason: nil, apnsID: "x").body.isEmpty)
    #expect(PushAnswer(reason: .serviceUnavailable, apnsID: "x").retryAfterSeconds == 10)
    #expect(PushAnswer(reason: .tooManyRequests, apnsID: "x", paceSeconds: 3).retryAfterSeconds == 3)
  }
}

import Foundation
import GatewayRules
import NotibotProtocol
import Testing

@Suite struct ProfileTests {
  static let now = WallTime(seconds: 1_700_000_000)

  /// A profile of samples/gateway.
  static func profile(_ name: String) throws -> TopicProfile {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let data = try Data(contentsOf: root.appending(path: "samples/gateway/\(name).json"))
    return try TopicProfile(parsing: Array(data))
  }

  static func head(
    type: PushHead.PushType? = nil, priority: Int = 10, collapse: String? = nil, expiration: Int64? = nil
  ) -> PushHead {
    PushHead(
      deviceToken: "", apnsID: nil, topic: "t", collapseID: collapse, priority: priority, pushType: type,
      expiration: expiration, authorization: nil)
  }

  static func meaning(
    _ json: String, _ profile: TopicProfile = TopicProfile(name: "p", app: "App"), _ head: PushHead = head()
  ) throws -> PushMeaning {
    try reading(json, profile, head).meaning
  }

  static func reading(
    _ json: String, _ profile: TopicProfile = TopicProfile(name: "p", app: "App"), _ head: PushHead = head(),
    now: WallTime = now
  ) throws -> PushReading {
    try profile.reading(of: Array(json.utf8), head, now: now)
  }

  /// The places of what is said about a push.
  static func places(_ json: String, _ profile: TopicProfile, _ head: PushHead = head()) throws -> [String] {
    try reading(json, profile, head).remarks.map(\.place)
  }

  static func item(
    _ json: String, _ profile: TopicProfile = TopicProfile(name: "p", app: "App"), _ head: PushHead = head()
  ) throws -> DisplayItem? {
    switch try meaning(json, profile, head) {
    case .show(let item), .activity(let item, _, _): item
    case .clear, .clearTopic, .nothing: nil
    }
  }

  /// The five payloads as their senders document them: level, actions, flags, identifier, texts.
  static let documented:
    [(String, String, NotificationDetails.Level, [String], UInt8, String?, String, String)] = [
      (
        "codingbridge",
        #"{"aps":{"alert":{"title":"Approval Needed","subtitle":"Bash","body":"Execute: npm test"},"sound":"default","category":"APPROVAL_REQUEST","mutable-content":1},"requestId":"approval-123","toolName":"Bash","type":"approval"}"#,
        .timeSensitive, ["Approve", "Deny"], 0, "approval-approval-123", "Approval Needed: Bash",
        "Execute: npm test"
      ),
      (
        "codingbridge",
        #"{"aps":{"alert":{"title":"Claude has a question","body":"Which database should we use for this feature?"},"sound":"default","category":"QUESTION_ASKED"},"questionId":"question-456","type":"question"}"#,
        .timeSensitive, [], 0, "question-question-456", "Claude has a question",
        "Which database should we use for this feature?"
      ),
      (
        "codingbridge",
        #"{"aps":{"alert":{"title":"Task Complete","body":"All tests passed successfully"},"sound":"default","category":"TASK_COMPLETE"},"sessionId":"session-789","type":"complete"}"#,
        .active, [], 0, nil, "Task Complete", "All tests passed successfully"
      ),
      (
        "codingbridge", #"{"aps":{"alert":{},"category":"TASK_COMPLETE"},"type":"error"}"#,
        .active, [], 0, nil, "Task Failed", "An error occurred"
      ),
      (
        "codingbridge", #"{"aps":{"alert":"Waiting","category":"SESSION_STATUS"},"sessionId":"s"}"#,
        .passive, [], 1, "status-s", "", "Waiting"
      ),
      (
        "dayly",
        #"{"aps":{"alert":{"title":"Dayly","body":"Family has new photos"},"badge":1,"sound":"default","thread-id":"g1"},"group_id":"g1","type":"new_photos"}"#,
        .active, [], 0, nil, "Dayly", "Family has new photos"
      ),
      ("lucifer", #"{"aps":{"alert":"Time for the gym?"}}"#, .active, [], 0, nil, "", "Time for the gym?"),
    ]

  @Test(arguments: documented.indices)
  func `the documented pushes of three senders are shown`(index: Int) throws {
    let (name, json, level, actions, flags, identifier, title, text) = Self.documented[index]
    let profile = try Self.profile(name)
    let item = try #require(try Self.item(json, profile))
    #expect(item.notification.details.level == level)
    #expect(item.notification.details.actions == actions)
    #expect(item.notification.details.flags == flags)
    #expect(item.identifier == identifier)
    #expect(item.notification.title == title && item.notification.text == text)
    #expect(item.notification.app == profile.app)
  }

  @Test func `a question is cut to 200 characters`() throws {
    let json =
      #"{"aps":{"alert":""# + String(repeating: "é", count: 201) + #"","category":"QUESTION_ASKED"}}"#
    let item = try #require(try Self.item(json, try Self.profile("codingbridge")))
    #expect(item.notification.text == String(repeating: "é", count: 199) + "…")
  }

  @Test func `a silent push clears the item with its identifier`() throws {
    let json =
      #"{"aps":{"content-available":1},"clearApprovalId":"approval-123","reason":"approved_on_other_device"}"#
    #expect(
      try Self.meaning(json, try Self.profile("codingbridge"))
        == .clear(["approval-approval-123"], timestamp: nil))
  }

  @Test func `the level follows the push, then the category, then the priority`() throws {
    func level(_ aps: String, priority: Int = 10) throws -> NotificationDetails.Level? {
      try Self.item(
        #"{"aps":{"alert":"a"\#(aps)}}"#, try Self.profile("codingbridge"), Self.head(priority: priority))?
        .notification.details.level
    }
    #expect(try level("") == .active)
    #expect(try level("", priority: 5) == .passive)
    #expect(try level("", priority: 1) == .passive)
    #expect(try level(#","category":"APPROVAL_REQUEST""#, priority: 5) == .timeSensitive)
    #expect(try level(#","category":"APPROVAL_REQUEST","interruption-level":"passive""#) == .passive)
    #expect(try level(#","category":"APPROVAL_REQUEST","interruption-level":2"#) == .timeSensitive)
    #expect(try level(#","interruption-level":"loud""#) == .active)
    // No sender of this profile is allowed to be critical.
    #expect(try level(#","interruption-level":"critical""#) == .timeSensitive)
  }

  @Test func `the collapse id wins over the profile's identifier`() throws {
    let json = #"{"aps":{"alert":"a","category":"APPROVAL_REQUEST"},"requestId":"1"}"#
    let profile = try Self.profile("codingbridge")
    #expect(try Self.item(json, profile)?.identifier == "approval-1")
    #expect(try Self.item(json, profile, Self.head(collapse: "c"))?.identifier == "c")
  }

  @Test func `an item expires by the earlier of header and profile`() throws {
    func expires(_ expiration: Int64?) throws -> UInt32? {
      try Self.item(#"{"aps":{"alert":"a"}}"#, try Self.profile("dayly"), Self.head(expiration: expiration))?
        .notification.details.expires
    }
    #expect(try expires(nil) == 1_700_172_800)
    #expect(try expires(1_700_000_100) == 1_700_000_100)
    #expect(try expires(1_800_000_000) == 1_700_172_800)
    #expect(try expires(999_999_999_999) == 1_700_172_800)
  }

  @Test func `an approval of a session is a part of the session's summary`() throws {
    let json =
      #"{"aps":{"alert":"a","category":"APPROVAL_REQUEST"},"sessionId":"s","projectName":"My{count}"}"#
    let member = try #require(try Self.item(json, try Self.profile("codingbridge"))?.member)
    #expect(member.text == "{count} approval requests for My…")
    #expect(member.group.count == 32)
    let other = #"{"aps":{"alert":"a","category":"TASK_COMPLETE"},"sessionId":"s"}"#
    #expect(try Self.item(other, try Self.profile("codingbridge"))?.member == nil)
    let alone = #"{"aps":{"alert":"a","category":"APPROVAL_REQUEST"}}"#
    #expect(try Self.item(alone, try Self.profile("codingbridge"))?.member == nil)
  }

  @Test func `an answer that is confirmed is offered only if its prompt leaves room for the text`() throws {
    func longest(_ profile: TopicProfile) throws -> Int? {
      try (100..<512).last { length in
        let text = String(repeating: "a", count: length)
        let json =
          #"{"aps":{"alert":{"title":"T","body":"\#(text)"},"category":"APPROVAL_REQUEST"},"requestId":"1"}"#
        return try Self.item(json, profile)?.question?.answers.count == 2
      }
    }
    let confirmed = try Self.profile("codingbridge")
    var plain = confirmed
    plain.categories["APPROVAL_REQUEST"]?.answers[0].prompt = nil
    // "T" becomes "Press Approve again to confirm".
    let limit = try #require(try longest(plain))
    #expect(try longest(confirmed) == limit - 29)
  }

  @Test func `a badge of 0 without an alert clears the topic, other silent pushes change nothing`() throws {
    #expect(try Self.meaning(#"{"aps":{"badge":0}}"#) == .clearTopic)
    #expect(try Self.meaning(#"{"aps":{"badge":2}}"#) == .nothing())
    #expect(try Self.meaning(#"{"aps":{"content-available":1}}"#) == .nothing())
    #expect(throws: PushRefusal.self) {
      try Self.meaning(
        #"{"aps":{"alert":"a"}}"#, TopicProfile(name: "p", app: "A"), Self.head(type: .background))
    }
  }

  @Test func `a topic without a profile has the last part of its name as app`() throws {
    let profiles = [try Self.profile("dayly"), try Self.profile("default")]
    #expect(TopicProfile.of(topic: "com.yourcompany.daily", in: profiles).app == "Dayly")
    #expect(TopicProfile.of(topic: "org.example.Clock", in: profiles).app == "Clock")
    #expect(TopicProfile.of(topic: "org.example.Clock", in: []).app == "Clock")
  }

  @Test(arguments: [
    "", "[]", #"{"name":"a"}"#, #"{"name":"a","app":"b","colour":1}"#,
    #"{"name":"a","app":"b","topics":"t"}"#, #"{"name":"a","app":"b","topics":["a.b.voip"]}"#,
    #"{"name":"a","app":"b","categories":{"C":{"level":"loud"}}}"#,
    #"{"name":"a","app":"b","categories":{"C":{"actions":["1","2","3","4","5"]}}}"#,
    #"{"name":"a","app":"b","types":{"t":1}}"#, #"{"name":"a","app":"b","categories":[]}"#,
    #"{"name":"a","app":"b","clears":{}}"#, #"{"name":"a","app":"b","clears":[{"prefix":"x"}]}"#,
    #"{"name":"a","app":"b","lifetimeSeconds":0}"#,
    #"{"name":"a","app":"b","categories":{"C":{"answers":[{"label":"L","name":"N","prompt":"P"}]}}}"#,
    #"{"name":"a","app":"b","categories":{"C":{"answers":[{"label":"L","name":"N","confirm":1}]}}}"#,
    #"{"name":"a","app":"b","categories":{"C":{"summary":3}}}"#, #"{"name":"a","app":"b","groupNames":"x"}"#,
    #"{"name":"a","app":"b","categories":{"C":{"dismissal":1}}}"#,
    #"{"name":"a","app":"b","categories":{"C":{"dismissal":""}}}"#,
    #"{"name":"a","app":"b","readTogether":1}"#,
    #"{"name":"a","app":"b","categories":{"C":{"answers":[{"label":"Yes","name":"1"},{"label":"Yes","name":"2"}]}}}"#,
    #"{"name":"a","app":"b","categories":{"C":{"answers":[{"label":"Approve for the project one","name":"1"},{"label":"Approve for the project two","name":"2"}]}}}"#,
  ])
  func `a profile with a mistake is refused`(json: String) {
    #expect(throws: InputProblem.self) { try TopicProfile(parsing: Array(json.utf8)) }
  }
}

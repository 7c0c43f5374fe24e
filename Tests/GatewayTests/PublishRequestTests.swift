import GatewayRules
import NotibotProtocol
import Testing

@Suite struct PublishRequestTests {
  static func request(
    _ path: String, _ fields: [(String, String)] = [], method: String = "POST", body: String = "build done"
  ) throws(PublishRequest.Refusal) -> PublishRequest {
    try PublishRequest(
      method: method, path: path, fields: fields.map { (name: $0.0, value: $0.1) }, body: Array(body.utf8))
  }

  static func item(_ request: PublishRequest) -> DisplayItem? {
    guard case .show(let item) = request.push(id: "i", now: WallTime(seconds: 5)).meaning else { return nil }
    return item
  }

  @Test func `a text is an item of its topic`() throws {
    let item = try #require(Self.item(try Self.request("/mytopic")))
    #expect(item.notification.app == "mytopic" && item.notification.text == "build done")
    #expect(item.notification.title.isEmpty && item.identifier == nil)
    #expect(item.notification.details.level == .active)
  }

  @Test(arguments: [
    ("1", NotificationDetails.Level.passive, 1), ("low", .passive, 1), ("3", .active, 0),
    ("high", .timeSensitive, 0),
    ("urgent", .timeSensitive, 2), ("max", .timeSensitive, 2),
  ])
  func `the priority is a level`(name: String, level: NotificationDetails.Level, flags: Int) throws {
    let item = try #require(Self.item(try Self.request("/t", [("priority", name)])))
    #expect(item.notification.details.level == level && Int(item.notification.details.flags) == flags)
  }

  @Test func `title and tags are shown`() throws {
    let item = try #require(Self.item(try Self.request("/t", [("x-title", "CI"), ("tags", "ok, main")])))
    #expect(item.notification.title == "CI #ok #main")
  }

  @Test func `a sequence names an item, which can be removed`() throws {
    #expect(Self.item(try Self.request("/t/job-7"))?.identifier == "job-7")
    #expect(Self.item(try Self.request("/t", [("x-sequence-id", "job-7")]))?.identifier == "job-7")
    let removal = try Self.request("/t/job-7", method: "DELETE", body: "")
    #expect(removal.push(id: "i", now: WallTime(seconds: 5)).meaning == .clear(["job-7"], timestamp: nil))
  }

  @Test func `a message id makes a repetition`() throws {
    func key(_ fields: [(String, String)], id: String) throws -> [UInt8] {
      try Self.request("/t", fields).push(id: id, now: WallTime(seconds: 5)).key
    }
    #expect(try key([("x-message-id", "m")], id: "1") == key([("x-message-id", "m")], id: "2"))
    #expect(try key([], id: "1") != key([], id: "2"))
  }

  static let actionForms: [(String, [String])] = [
    ("http, Open door, https://x/open", ["Open door"]),
    ("action=http, label=Open door, url=https://x/?a=b, method=PUT, headers.A=b, clear=true", ["Open door"]),
    (
      #"http, "Yes, please; now", https://x, body='{"a": 1}'; broadcast, Don't, extras.cmd=pic"#,
      ["Yes, please; now", "Don't"]
    ),
    ("HTTP, A=B, https://x ; view, Portal, https://y ;", ["A=B"]), ("", []), ("view, Portal, https://y", []),
    (
      #"[{"action":"http","label":"Close","url":"https://x","headers":{"A":"b"}},{"action":"view","label":"v"}]"#,
      ["Close"]
    ),
  ]

  @Test(arguments: actionForms.indices)
  func `actions in both forms are buttons, their addresses are not kept`(index: Int) throws {
    let (header, labels) = Self.actionForms[index]
    let request = try Self.request("/t", [("actions", header)])
    let push = request.push(id: "i", now: WallTime(seconds: 5), callback: "c")
    guard case .show(let item) = push.meaning else {
      Issue.record("no item")
      return
    }
    #expect(item.notification.details.actions == labels)
    #expect(item.question?.answers.map(\.name) ?? [] == labels)
    #expect(item.question?.callback == (labels.isEmpty ? nil : "c"))
    #expect(item.question?.fields == (labels.isEmpty ? nil : ["message": "i"]))
    #expect(item.question?.line.contains("https") != true)
  }

  @Test(arguments: [
    "http", "http, , https://x", "jump, A, https://x", #"http, "A, https://x"#, "[{]", "[1]", "[{}]",
    "http, 1, x; http, 2, x; http, 3, x; http, 4, x", "http, " + String(repeating: "a", count: 4096),
  ])
  func `other actions are refused`(header: String) {
    #expect(MessageAction.parse(header) == nil)
  }

  @Test func `a message that the display cuts has no buttons`() throws {
    let item = Self.item(
      try Self.request("/t", [("actions", "http, A, x")], body: String(repeating: "a", count: 500)))
    #expect(item?.notification.details.actions == [] && item?.question == nil)
  }

  @Test func `a message in JSON is the same as one with headers`() throws {
    let json = #"""
      {"topic":"ci","message":"done","title":"Build","tags":["ok"],"priority":4,"sequence_id":"job-7",
      "click":"https://x","actions":[{"action":"http","label":"Retry","url":"https://x"}]}
      """#
    var fields = [("title", "Build"), ("tags", "ok"), ("priority", "4"), ("sid", "job-7")]
    fields.append(("actions", "http, Retry, https://x"))
    let expected = try Self.request("/ci", fields, body: "done")
    #expect(try Self.request("/", body: json) == expected)
    #expect(try Self.request("/", [("x-message-id", "m")], body: #"{"topic":"t"}"#).messageID == "m")
    #expect(try Self.request("/", body: #"{"topic":"t"}"#).text == "triggered")
  }

  @Test(
    arguments: [
      ("/", "POST", [], "x", 400), ("/", "DELETE", [], "{}", 405), ("/", "POST", [], "{}", 400),
      ("/", "POST", [], #"{"topic":"a/b"}"#, 400), ("/", "POST", [], #"{"topic":"t","title":1}"#, 400),
      ("/", "POST", [], #"{"topic":"t","tags":"a"}"#, 400),
      ("/", "POST", [], #"{"topic":"t","priority":6}"#, 400),
      ("/", "POST", [], #"{"topic":"t","sequence_id":"a b"}"#, 400),
      ("/", "POST", [], #"{"topic":"t","actions":[{"action":"http"}]}"#, 400),
      ("/t", "POST", [("actions", "jump, A, http://x")], "x", 400), ("/a/b/c", "POST", [], "x", 404),
      ("/a%20b", "POST", [], "x", 404),
      ("/t", "GET", [], "", 405), ("/t", "DELETE", [], "", 400),
      ("/t", "POST", [("priority", "9")], "x", 400),
      ("/t/a%20b", "POST", [], "x", 400), ("/t", "POST", [], String(repeating: "x", count: 4097), 413),
    ] as [(String, String, [(String, String)], String, Int)])
  func `other requests are refused`(
    path: String, method: String, fields: [(String, String)], body: String, status: Int
  ) {
    do {
      _ = try Self.request(path, fields, method: method, body: body)
      Issue.record("accepted")
    } catch {
      #expect(error.status == status)
    }
  }
}

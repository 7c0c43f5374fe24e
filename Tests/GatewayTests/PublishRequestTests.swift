import GatewayRules
import NotibotProtocol
import Testing

/// A request of a script, as the gateway reads it.
enum Script {
  /// 2021-12-10 10:17:23 UTC, a Friday.
  static let now = WallTime(seconds: 1_639_131_443)

  static func parameters(_ fields: [(String, String)], query: String) -> PublishParameters {
    PublishParameters(fields: fields.map { (name: $0.0, value: $0.1) }, query: query)
  }

  static func route(
    _ method: String, _ uri: String, _ fields: [(String, String)] = [], isJSON: Bool = false
  ) throws(PublishProblem) -> PublishRoute {
    let parts = uri.split(separator: "?", maxSplits: 1).map(String.init)
    return try PublishRoute(
      method: method, path: parts[0], parameters: parameters(fields, query: parts.count > 1 ? parts[1] : ""),
      isJSON: isJSON)
  }

  static func request(
    _ uri: String, _ fields: [(String, String)] = [], method: String = "POST", body: String = "build done"
  ) throws(PublishProblem) -> PublishRequest {
    let parts = uri.split(separator: "?", maxSplits: 1).map(String.init)
    let parameters = parameters(fields, query: parts.count > 1 ? parts[1] : "")
    switch try route(method, uri, fields) {
    case .message(let topic, let sequence):
      return try PublishRequest(topic: topic, sequence: sequence, parameters, body: Array(body.utf8)) {
        zone in
        zone == "Moon" ? nil : LocalCalendar(now: now) { _ in zone == nil ? 0 : 3600 }
      }
    case .removal(let event, let topic, let sequence):
      return PublishRequest(event, topic: topic, sequence: sequence, parameters)
    case .poll, .document: throw PublishProblem(.notFound, "not a message")
    }
  }

  static func item(_ request: PublishRequest) -> DisplayItem? {
    guard case .show(let item) = request.push(id: "i", now: WallTime(seconds: 5)).meaning else { return nil }
    return item
  }
}

@Suite struct PublishRequestTests {
  @Test func `a text is an item of its topic, named by its id`() throws {
    let item = try #require(Script.item(try Script.request("/mytopic")))
    #expect(item.notification.app == "mytopic" && item.notification.text == "build done")
    #expect(item.notification.title.isEmpty && item.identifier == "i")
    #expect(item.notification.details.level == .active)
  }

  @Test(arguments: [
    ("disk+90%+full", "disk 90% full"), ("50%25%2", "50%%2"), ("%zz%41", "%zzA"), ("%", "%"),
  ])
  func `a mark without digits stands for itself`(query: String, text: String) throws {
    let item = try #require(Script.item(try Script.request("/t?message=\(query)", body: "")))
    #expect(item.notification.text == text)
  }

  @Test(arguments: [
    ("Message-ID", "/t", "x"), ("X-Idempotency-Key", "/t", "x"), ("x", "/t?message-id=a", "x"),
    ("x", "/", #"{"topic":"t","message_id":"a"}"#), ("x", "/", #"{"topic":"t","Idempotency-Key":"a"}"#),
  ])
  func `a repetition is known under each name`(header: String, uri: String, body: String) throws {
    let request = try Script.request(uri, [(header.lowercased(), "a")], body: body)
    #expect(request.messageID != nil)
  }

  @Test func `buttons that look the same are not shown, and the answer says so`() throws {
    for labels in [("Same", "Same"), ("Open the garage door left", "Open the garage door right")] {
      let actions = "http, \(labels.0), https://x/l; http, \(labels.1), https://x/r"
      let request = try Script.request("/t", [("actions", actions)])
      #expect(Script.item(request)?.notification.details.actions == [])
      let answer = request.answer(id: "i", now: Script.now, .shown)
      #expect(answer["notes"]?.line.contains("no buttons: two labels are the same") == true)
    }
  }

  @Test(arguments: [
    ("GET", "/v1/version", 40401), ("POST", "/T.est", 40401), ("GET", "/t/json?poll=1&tags=a", 40000),
    ("GET", "/t/json?poll=1&priority=bogus", 40007),
  ])
  func `a refusal has its own reason`(method: String, uri: String, code: Int) {
    let problem = #expect(throws: PublishProblem.self) {
      guard case .poll(let topics) = try Script.route(method, uri) else { return }
      let query = uri.split(separator: "?").last ?? ""
      _ = try PublishPoll(topics: topics, Script.parameters([], query: String(query)), now: Script.now)
    }
    #expect(problem?.code.rawValue == code)
  }

  @Test func `HEAD of a document is that of GET`() throws {
    #expect(try Script.route("HEAD", "/v1/health") == .document(.health))
  }

  @Test(arguments: [
    ("1", NotificationDetails.Level.passive, 1), ("LOW", .passive, 1), ("3", .active, 0),
    ("High", .timeSensitive, 0), ("u=3, i", .active, 0),
    ("urgent", .timeSensitive, 2), (" max ", .timeSensitive, 2),
  ])
  func `the priority is a level`(name: String, level: NotificationDetails.Level, flags: Int) throws {
    let item = try #require(Script.item(try Script.request("/t", [("priority", name)])))
    #expect(item.notification.details.level == level && Int(item.notification.details.flags) == flags)
  }

  @Test(arguments: [
    ("CI", "main, warning,,tada ", "⚠️ 🎉 CI #main", "build done"), ("", "warning", "", "⚠️ build done"),
    ("", "Warning", "#Warning", "build done"),
  ])
  func `tags are emoji or words`(title: String, tags: String, shownTitle: String, text: String) throws {
    let item = try #require(Script.item(try Script.request("/t", [("x-title", title), ("tags", tags)])))
    #expect(item.notification.title == shownTitle && item.notification.text == text)
  }

  @Test func `a sequence names an item, which can be removed`() throws {
    #expect(Script.item(try Script.request("/t/job-7", [("sid", "b")]))?.identifier == "job-7")
    #expect(Script.item(try Script.request("/t", [("x-sequence-id", "job-7")]))?.identifier == "job-7")
    let removal = try Script.request("/t/job-7", method: "DELETE", body: "")
    #expect(removal.push(id: "i", now: WallTime(seconds: 5)).meaning == .clear(["job-7"], timestamp: nil))
  }

  @Test func `a message id makes a repetition`() throws {
    func names(_ fields: [(String, String)], id: String) throws -> [[UInt8]] {
      let request = try Script.request("/t", fields)
      return [
        request.push(id: id, now: WallTime(seconds: 5)).key, Array(request.id(random: Array(id.utf8)).utf8),
      ]
    }
    #expect(try names([("x-message-id", "m")], id: "1") == names([("idempotency-key", "m")], id: "2"))
    #expect(try names([], id: "1") != names([], id: "2"))
  }

  /// The address, headers, body, and the title and text that they give.
  static let forms: [(String, [(String, String)], String, String, String)] = [
    ("/t?message=from+query&title=T", [], "", "T", "from query"),
    ("/t?m=a%5Cnb&x-title=T%20%C3%A9&unknown=%zz", [], "", "T é", "a\nb"),
    ("/t?title=query", [("t", "header")], "body", "header", "body"),
    ("/t", [("t", "3"), ("title", "2"), ("x-title", "1")], " body\n ", "1", "body"),
    ("/t?title=query", [("x-title", ""), ("title", "  ")], "body", "query", "body"),
    ("/t", [("message", "lost?")], "body", "", "body"), ("/t", [], " ", "", "triggered"),
    ("/t", [("m", "=?utf-8?B?4pyF?= ok"), ("title", "=?ISO-8859-1?Q?caf=E9?=")], "", "café", "✅ ok"),
    ("/", [("title", "header")], #"{"topic":"t","message":"a","title":null}"#, "header", "a"),
    ("/?title=query", [("title", "header")], #"{"Topic":"t","Message":"a","title":"json"}"#, "json", "a"),
    ("/", [("m", "header")], #"{"topic":"t","topic":"t","message":""} trailer"#, "", "header"),
    ("/t", [("attach", "https://x/flower.jpg?a")], "", "", "You received a file: flower.jpg"),
    ("/t?template=grafana", [], #"{"status":"resolved","title":"A","message":"b"}"#, "✅ A", "b"),
  ]

  @Test(arguments: forms.indices)
  func `headers, the address and JSON are one set of parameters`(index: Int) throws {
    let (uri, fields, body, title, text) = Self.forms[index]
    let request = try Script.request(uri, fields, body: body)
    #expect(request.title == title && request.text == text)
  }

  @Test(arguments: PublishParameter.allCases)
  func `every name is a header and a parameter of the address`(parameter: PublishParameter) {
    for name in parameter.names {
      #expect(Script.parameters([(name, "v")], query: "")[parameter] == "v")
      #expect(Script.parameters([], query: "\(name)=v")[parameter] == "v")
      #expect(Script.parameters([], query: "\(name.uppercased())=v")[parameter] == nil)
    }
  }

  @Test func `a message in JSON is the same as one with headers`() throws {
    let json = #"""
      {"topic":"ci","message":"done","title":"Build","tags":["v1","b"],"priority":4,"sequence_id":"job-7",
      "click":null,"actions":[{"action":"http","label":"Retry","url":"https://x"}],"delay":"","email":null,
      "icon":"","markdown":false,"attach":null,"unknown":{}}
      """#
    var fields = [("title", "Build"), ("tags", "v1,b"), ("priority", "4"), ("sid", "job-7")]
    fields.append(("actions", "http, Retry, https://x"))
    let expected = try Script.request("/ci", fields, body: "done")
    #expect(try Script.request("/", body: json) == expected)
    #expect(
      try Script.request("/", body: #"{"topic":"t","priority":"High","tags":"a, b"}"#).tags == ["a", "b"])
  }

  @Test(arguments: [(4096, 4096, ""), (4097, 4096, "x"), (4095, 4095, "é"), (4094, 4096, "é€")])
  func `a longer text is cut between two characters`(count: Int, kept: Int, end: String) throws {
    let body = String(repeating: "x", count: count) + end
    let request = try Script.request("/t", body: body)
    #expect(request.text.utf8.count == kept && body.hasPrefix(request.text))
    #expect(request.notes == (body.utf8.count > 4096 ? ["cut: message, to 4096 bytes"] : []))
  }

  static let refusals: [(String, String, [(String, String)], String, Int)] = [
    ("/", "POST", [], "x", 40024), ("/", "POST", [], "[1]", 40024), ("/", "POST", [], "{}", 40009),
    ("/", "POST", [], #"{"topic":"a/b"}"#, 40009), ("/", "POST", [], #"{"topic":"t","title":[]}"#, 40024),
    ("/", "POST", [], #"{"topic":"t","priority":6}"#, 40007),
    ("/", "POST", [], #"{"topic":"t","tags":[[]]}"#, 40024),
    ("/", "POST", [], #"{"topic":"t","sequence_id":"a b"}"#, 40049),
    ("/", "POST", [], #"{"topic":"t","actions":[{"action":"http"}]}"#, 40018),
    ("/", "POST", [], "{" + String(repeating: " ", count: 131_072), 41303),
    ("/t", "POST", [("actions", "jump, A, http://x")], "x", 40018),
    ("/t", "POST", [("priority", "9")], "x", 40007),
    ("/t?p=INVALID", "POST", [], "x", 40007), ("/t", "POST", [("sid", "a.b")], "x", 40049),
    ("/t", "POST", [("email", "a@b.example")], "x", 40001), ("/t?call=yes", "POST", [], "x", 40032),
    ("/t", "POST", [("poll-id", "a")], "x", 40000),
    ("/t", "POST", [("content-encoding", "aes128gcm")], "x", 40000),
    ("/t", "POST", [("filename", "a.txt")], "x", 40014), ("/t", "POST", [("attach", "ftp://x")], "x", 40013),
    ("/t?icon=file:///x", "POST", [], "x", 40021),
    ("/t", "POST", [("in", "1h"), ("cache", "no")], "x", 40002),
    ("/t", "POST", [("in", "1h"), ("timezone", "Moon")], "x", 40004), ("/t?in=5s", "POST", [], "x", 40005),
    ("/t?tpl=yes&m={{.a}}", "POST", [], "{}", 40043), ("/t?tpl=mine", "POST", [], "{}", 40047),
    ("/t?template=grafana", "POST", [], "no", 40042), ("/t?template=grafana", "POST", [], "{}", 40045),
  ]

  @Test(arguments: refusals.indices)
  func `what cannot be done is refused with its code`(index: Int) {
    let (uri, method, fields, body, code) = Self.refusals[index]
    do {
      _ = try Script.request(uri, fields, method: method, body: body)
      Issue.record("accepted")
    } catch {
      #expect(error.code.rawValue == code && error.status == code / 100 && !error.text.isEmpty)
      #expect(error.body.hasPrefix(#"{"code":\#(code),"error":""#))
    }
  }

  @Test func `bytes that are not UTF-8 are refused`() {
    #expect(throws: PublishProblem(.noAttachments, "the message is not UTF-8; attachments are not supported"))
    {
      try PublishRequest(
        topic: "t", sequence: nil, Script.parameters([], query: ""), body: [0x41, 0xFF],
        calendar: { _ in nil })
    }
  }
}

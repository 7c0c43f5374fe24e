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

  @Test(
    arguments: [
      ("/", "POST", [], "x", 404), ("/a/b/c", "POST", [], "x", 404), ("/a%20b", "POST", [], "x", 404),
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

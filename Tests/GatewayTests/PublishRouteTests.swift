import GatewayRules
import Testing

@Suite struct PublishRouteTests {
  static let routes: [(String, String, PublishRoute)] = [
    ("POST", "/", .message(topic: nil, sequence: nil)), ("PUT", "/", .message(topic: nil, sequence: nil)),
    ("PUT", "/t", .message(topic: "t", sequence: nil)),
    ("POST", "/my%2Dtopic", .message(topic: "my-topic", sequence: nil)),
    ("POST", "/t/publish", .message(topic: "t", sequence: "publish")),
    ("GET", "/t/publish", .message(topic: "t", sequence: nil)),
    ("GET", "/t/send", .message(topic: "t", sequence: nil)),
    ("GET", "/t/trigger", .message(topic: "t", sequence: nil)),
    ("DELETE", "/t/s", .removal(.delete, topic: "t", sequence: "s")),
    ("GET", "/t/s/delete", .removal(.delete, topic: "t", sequence: "s")),
    ("PUT", "/t/s/clear", .removal(.clear, topic: "t", sequence: "s")),
    ("POST", "/t/s/read", .removal(.clear, topic: "t", sequence: "s")),
    ("GET", "/t/s/clear", .removal(.clear, topic: "t", sequence: "s")),
    ("GET", "/a,b/json?poll=1", .poll(topics: ["a", "b"])), ("GET", "/t/json?po=yes", .poll(topics: ["t"])),
    ("GET", "/a,b/auth", .document(.success)), ("GET", "/v1/account", .document(.account)),
    ("GET", "/v1/config", .document(.configuration)), ("GET", "/config.js", .document(.script)),
    ("GET", "/v1/health", .document(.health)), ("GET", "/v1/stats", .document(.statistics)),
    ("HEAD", "/", .document(.empty)), ("OPTIONS", "/t", .document(.empty)),
  ]

  @Test(arguments: routes.indices)
  func `a method and a path are a route`(index: Int) throws {
    let (method, uri, route) = Self.routes[index]
    #expect(try Script.route(method, uri) == route)
  }

  static let others: [(String, String, Int)] = [
    ("GET", "/", 40401), ("GET", "/t", 40401), ("GET", "/t?up=1", 40401), ("DELETE", "/t", 40401),
    ("PATCH", "/t", 40401), ("POST", "/a/b/c", 40401), ("POST", "/a%20b", 40401), ("POST", "/a%2", 40401),
    ("POST", "/t/", 40049), ("POST", "/a,b", 40401), ("GET", "/a,b/publish", 40401), ("PUT", "/t/a.b", 40049),
    ("POST", "/v1/account/token", 40010), ("POST", "/docs", 40010), ("GET", "/app/json?poll=1", 40010),
    ("GET", "/t/json", 40401), ("GET", "/t/ws", 40401), ("GET", "/t/sse?poll=1", 40401),
    ("HEAD", "/t", 40401),
    ("POST", "/" + String(repeating: "a", count: 65), 40401),
    // Other services.
    ("POST", "/message?token=x", 40401), ("PUT", "/message", 40401), ("POST", "/1/messages.json", 40401),
    ("POST", "/v2/send", 40401), ("POST", "/_matrix/push/v1/notify", 40401),
  ]

  @Test(arguments: others.indices)
  func `any other is refused by name`(index: Int) {
    let (method, uri, code) = Self.others[index]
    do {
      let route = try Script.route(method, uri)
      Issue.record("\(route)")
    } catch {
      #expect(error.code.rawValue == code)
    }
  }

  @Test func `a topic that is another service's path takes texts`() throws {
    #expect(throws: PublishProblem.self) { try Script.route("POST", "/notify", isJSON: true) }
    #expect(try Script.route("POST", "/notify") == .message(topic: "notify", sequence: nil))
    #expect(try Script.route("POST", "/messages", isJSON: true) == .message(topic: "messages", sequence: nil))
  }

  @Test func `the account has every member that clients require`() throws {
    let text = PublishDocument.account.body(isHealthy: true, count: 3)
    let root = try JSONValue(parsing: Array(text.utf8), limitBytes: 10_000)
    #expect(root["username"] == .string("*") && root["stats"]?["messages"] == .whole(3))
    #expect(root["stats"]?.object?.count == 10 && root["limits"]?.object?.count == 10)
    #expect(PublishDocument.script.body(isHealthy: true, count: 0).hasPrefix("var config = {"))
    #expect(PublishDocument.health.body(isHealthy: false, count: 0) == "{\"healthy\":false}\n")
  }
}

import GatewayRules
import Testing

@Suite struct GatewayConfigurationTests {
  static func parse(_ text: String) throws -> GatewayConfiguration {
    try GatewayConfiguration(parsing: Array(text.utf8))
  }

  @Test func `everything has a default`() throws {
    #expect(try Self.parse("{}") == GatewayConfiguration())
    #expect(GatewayConfiguration().apns.isLoopback && GatewayConfiguration().http?.isLoopback == true)
  }

  @Test func `all keys are read`() throws {
    let configuration = try Self.parse(
      #"""
      {"port":"/dev/ttyACM0","apns":"[::1]:0","http":null,"quietHours":"22:00-07:30","dedupeSeconds":0,
       "pushesPerMinute":5,"burst":2,"entriesLimit":10,"connectionsLimit":3,
       "failures":[{"topic":"t","status":503,"every":2}],"confirmSeconds":30,
       "callbacks":{"home":{"url":"https://x.example/a"}},"messageCallbacks":{"door":"home"}}
      """#)
    #expect(configuration.apns == SocketPlace(host: "::1", port: 0))
    #expect(configuration.http == nil)
    #expect(configuration.quietHours == QuietHours(startMinute: 1320, endMinute: 450))
    #expect(configuration.intake.contentKeepMs == 0 && configuration.intake.burst == 2)
    #expect(configuration.decisions.confirmMs == 30_000)
    #expect(configuration.messageCallbacks == ["door": "home"])
    #expect(configuration.entriesLimit == 10 && configuration.connectionsLimit == 3)
  }

  @Test(arguments: [
    "", "[]", #"{"prot":1}"#, #"{"apns":"1.2.3.4:2197"}"#, #"{"http":"0.0.0.0:80"}"#,
    #"{"apns":"127.0.0.1"}"#,
    #"{"apns":"127.0.0.1:70000"}"#, #"{"quietHours":"22-7"}"#, #"{"quietHours":"25:00-07:00"}"#,
    #"{"burst":0}"#,
    #"{"failures":[{"status":200}]}"#, #"{"failures":{}}"#,
    #"{"http":"example.org:80","listensOnNetwork":true}"#, #"{"confirmSeconds":1}"#,
    #"{"confirmSeconds":301}"#, #"{"messageCallbacks":{"door":"home"}}"#, #"{"messageCallbacks":[]}"#,
  ])
  func `a mistake is refused`(text: String) {
    #expect(throws: InputProblem.self) { try Self.parse(text) }
  }

  @Test func `an address of the network has to be allowed`() throws {
    let configuration = try Self.parse(#"{"apns":"0.0.0.0:2197","listensOnNetwork":true}"#)
    #expect(configuration.apns.host == "0.0.0.0")
  }

  @Test func `a rule of failures counts its own pushes`() throws {
    var rule = try Self.parse(#"{"failures":[{"topic":"t","token":"n","status":429,"every":3}]}"#).failures[0]
    let reasons = (1...6).map { _ in rule.reason(topic: "t", token: "n") }
    #expect(reasons == [nil, nil, .tooManyRequests, nil, nil, .tooManyRequests])
    #expect((1...6).allSatisfy { _ in rule.reason(topic: "u", token: "n") == nil })
  }

  @Test func `the log keeps the last 1000 pushes`() {
    var log = PushLog()
    for number in 1...1500 {
      log.append(
        PushLog.Entry(
          at: WallTime(seconds: Int64(number)), source: "apns", topic: "t", token: "", apnsID: "\(number)",
          status: 200, verdict: "shown"))
    }
    #expect(log.last(2).map(\.apnsID) == ["1499", "1500"])
    #expect(log.last(5000).count == 1000 && log.last(5000).first?.apnsID == "501")
    #expect(log.last(-1).isEmpty)
  }
}

import GatewayRules
import Testing

/// Bodies, and what Go's text/template makes of ntfy's templates of July 2025 with them.
@Suite struct MessageTemplateTests {
  static let bodies: [(template: String, body: String, title: String, text: String)] = [
    (
      "alertmanager",
      #"{"status":"firing","receiver":"ntfy","alerts":[{"labels":{"alertname":"Down","instance":"#
        + #""a:1","severity":"page"},"annotations":{"summary":"S","description":"D"},"startsAt":"202"#
        + #"6-01-01T00:00:00Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://g"},{"labels":"#
        + #"{"alertname":"Slow"},"annotations":{},"startsAt":"T","endsAt":"E","generatorURL":"g"}]}"#,
      "🚨 Alert: Down",
      "Status: Firing\nReceiver: ntfy\nAlert: Down\nInstance: a:1\nSeverity: page\nStarts at: 2"
        + "026-01-01T00:00:00Z\n\nSummary: S\nDescription: D\nSource: http://g\n\n\nAlert: Slow\nIn"
        + "stance: <no value>\nSeverity: <no value>\nStarts at: T\nEnds at: E\nSource: g"
    ),
    (
      "alertmanager",
      #"{"status":"resolved","receiver":"ntfy","alerts":[{"labels":{"alertname":"Slow"},"annotat"#
        + #"ions":{"summary":"x"},"startsAt":"T","endsAt":"E","generatorURL":"g"}]}"#,
      "✅ Resolved: Slow",
      "Status: Resolved\nReceiver: ntfy\nAlert: Slow\nInstance: <no value>\nSeverity: <no value"
        + ">\nStarts at: T\nEnds at: E\nSummary: x\nSource: g"
    ),
    (
      "alertmanager",
      #"{"status":"firing","alerts":[]}"#,
      "🚨 Alert: <no value>",
      "Status: Firing\nReceiver: <no value>"
    ),
    (
      "alertmanager",
      #"{"status":"firing","receiver":"r","alerts":[{"labels":{}}]}"#,
      "🚨 Alert: <no value>",
      "Status: Firing\nReceiver: r\nAlert: <no value>\nInstance: <no value>\nSeverity: <no valu"
        + "e>\nStarts at: <no value>\n\nSource: <no value>"
    ),
    (
      "grafana",
      #"{"status":"firing","title":"[FIRING:1] CPU","message":"a\nb"}"#,
      "🚨 [FIRING:1] CPU",
      "a\nb"
    ),
    (
      "grafana",
      #"{"status":"resolved","message":"m"}"#,
      "✅ Alert resolved",
      "m"
    ),
    (
      "grafana",
      #"{"status":"pending","title":"","message":""}"#,
      "⚠️ Unknown alert: Alert",
      ""
    ),
    (
      "github",
      #"{"action":"created","starred_at":"2026","sender":{"login":"me","html_url":"https://me"},"#
        + #""repository":{"name":"r","html_url":"https://r"}}"#,
      "⭐ me starred r",
      "Stargazer: https://me\nRepository: https://r"
    ),
    (
      "github",
      #"{"action":"started","sender":{"login":"me","html_url":"https://me"},"repository":{"name""#
        + #":"r","html_url":"https://r"}}"#,
      "👀 me started watching r",
      "Watcher: https://me\nRepository: https://r"
    ),
    (
      "github",
      #"{"action":"created","comment":{"user":{"login":"me","html_url":"https://me"},"html_url":"#
        + #""https://c","body":"nice\nwork"},"issue":{"number":1389,"title":"Bug"},"repository":{"na"#
        + #"me":"r","html_url":"https://r"},"sender":{"login":"me","html_url":"https://me"}}"#,
      "💬 New comment on #1389: Bug",
      "Commenter: https://me\nRepository: https://r\nComment link: https://c\n\nComment:\nnice"
        + "\nwork"
    ),
    (
      "github",
      #"{"action":"created","comment":{"user":{"login":"me","html_url":"https://me"},"html_url":"#
        + #""https://c","body":""},"issue":{"number":1,"title":"Bug"},"repository":{"name":"r","html"#
        + #"_url":"https://r"}}"#,
      "💬 New comment on #1: Bug",
      "Commenter: https://me\nRepository: https://r\nComment link: https://c"
    ),
    (
      "github",
      #"{"action":"opened","pull_request":{"number":7,"title":"Fix","user":{"login":"me","html_u"#
        + #"rl":"https://me"},"html_url":"https://p","body":null,"head":{"ref":"fix"},"base":{"ref":"#
        + #""main"}},"repository":{"name":"r","html_url":"https://r"}}"#,
      "🔀 Pull request opened: #7 Fix",
      "Branch: fix → main\nOpened by: https://me\nRepository: https://r\nPull request: https://"
        + "p"
    ),
    (
      "github",
      #"{"action":"review requested","pull_request":{"number":7,"title":"Fix","user":{"login":"m"#
        + #"e","html_url":"https://me"},"html_url":"https://p","body":"why","head":{"ref":"fix"},"ba"#
        + #"se":{"ref":"main"}},"repository":{"name":"r","html_url":"https://r"}}"#,
      "🔀 Pull request review requested: #7 Fix",
      "Branch: fix → main\nReview Requested by: https://me\nRepository: https://r\nPull request"
        + ": https://p\n\nDescription:\nwhy"
    ),
    (
      "github",
      #"{"action":"opened","issue":{"number":8,"title":"It\\nfails","user":{"login":"me","html_u"#
        + #"rl":"https://me"},"html_url":"https://i","body":"text"},"repository":{"name":"r","html_u"#
        + #"rl":"https://r"}}"#,
      "🐛 Issue opened: #8 It\nfails",
      "Opened by: https://me\nRepository: https://r\nIssue link: https://i\n\nDescription:\ntex"
        + "t"
    ),
    (
      "github",
      #"{"action":"created","comment":{"body":"x"},"repository":{"name":"r","html_url":"https://"#
        + #"r"}}"#,
      "💬 New comment on #<no value>: <no value>",
      "Commenter: <no value>\nRepository: https://r\nComment link: <no value>\n\nComment:\nx"
    ),
  ]

  @Test(arguments: bodies.indices)
  func `a webhook is rendered as by ntfy's server`(index: Int) throws {
    let row = Self.bodies[index]
    let request = try Script.request(
      "/t?template=\(row.template)&title=unused&message=unused", body: row.body)
    #expect(request.title == row.title && request.text == (row.text.isEmpty ? "triggered" : row.text))
  }

  @Test(arguments: [
    (
      "alertmanager",
      #"{"status":"other","alerts":[{"labels":{"alertname":"Down","instance":"a:1","severity":"p"#
        + #"age"},"annotations":{"summary":"S","description":"D"},"startsAt":"2026-01-01T00:00:00Z","#
        + #""endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://g"}]}"#
    ),
    (
      "alertmanager",
      #"{"alerts":[{"labels":{"alertname":"Down","instance":"a:1","severity":"page"},"annotation"#
        + #"s":{"summary":"S","description":"D"},"startsAt":"2026-01-01T00:00:00Z","endsAt":"0001-01"#
        + #"-01T00:00:00Z","generatorURL":"http://g"}]}"#
    ),
    (
      "grafana",
      #"{"status":"firing","title":"x"}"#
    ),
    (
      "github",
      #"{"zen":"z","hook_id":1,"repository":{"name":"r","html_url":"https://r"}}"#
    ),
    ("github", #"{"sender":"me","starred_at":"2026","action":"created","repository":{}}"#),
  ])
  func `a body that does not fit is refused`(template: String, body: String) {
    #expect(throws: PublishProblem.self) { try Script.request("/t?template=\(template)", body: body) }
  }

  @Test func `a long message of a template is cut, a large body is refused`() throws {
    let body = #"{"status":"firing","title":"T","message":""# + String(repeating: "é", count: 5000) + #""}"#
    #expect(try Script.request("/t?template=grafana", body: body).text == String(repeating: "é", count: 2000))
    #expect(throws: PublishProblem(.jsonTooLarge, "more than 131072 bytes of JSON")) {
      try Script.request("/t?template=grafana", body: String(repeating: " ", count: 131_073))
    }
  }
}

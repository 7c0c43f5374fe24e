import GatewayRules
import NotibotProtocol
import Testing

@Suite struct PublishAnswerTests {
  static func answer(
    _ uri: String, _ fields: [(String, String)] = [], method: String = "POST", body: String = "hi",
    outcome: IntakeOutcome = .shown
  ) throws -> JSONValue {
    try Script.request(uri, fields, method: method, body: body)
      .answer(id: "abcdefghijkl", now: Script.now, outcome)
  }

  @Test func `the answer is a message of ntfy`() throws {
    #expect(
      try Self.answer("/t/s?title=T&tags=a,b&p=4").line
        == #"{"event":"message","expires":1639174643,"id":"abcdefghijkl","message":"hi","priority":4,"#
        + #""sequence_id":"s","tags":["a","b"],"time":1639131443,"title":"T","topic":"t"}"#)
    #expect(
      try Self.answer("/t/s", method: "DELETE").line
        == #"{"event":"message_delete","expires":1639174643,"id":"abcdefghijkl","sequence_id":"s","#
        + #""time":1639131443,"topic":"t"}"#)
    #expect(try Self.answer("/t/s/clear", method: "PUT")["event"] == .string("message_clear"))
    #expect(try Self.answer("/t?cache=no")["expires"] == nil)
    #expect(try Self.answer("/t?in=1h")["time"] == .whole(Script.now.seconds + 3600))
  }

  static let notes: [([(String, String)], String, IntakeOutcome, [String])] = [
    ([("title", "a"), ("x-title", "b")], "x", .shown, ["ignored: other values of title"]),
    (
      [("title", "caf\u{FFFD}")], "a\u{7}", .shown,
      ["shown as U+FFFD: controls, and what is not UTF-8, in title, message"]
    ),
    (
      [("template", "alertmanager"), ("title", "a")], #"{"status":"firing","alerts":[]}"#, .shown,
      ["ignored: title, because the template makes them"]
    ),
    ([], "hi", .shown, []),
    ([("click", "https://x"), ("icon", "https://y")], "hi", .shown, ["ignored: click, icon"]),
    ([("md", "yes"), ("firebase", "no")], "hi", .shown, ["ignored: firebase, markdown"]),
    ([("message", "m")], "hi", .shown, ["ignored: message, because the body has the text"]),
    ([("actions", "view, A, https://x; copy, B, code")], "hi", .shown, ["no button: copy, view"]),
    (
      [("actions", "http, A label of 26 bytes or so, https://x")], "hi", .shown,
      ["cut on the display: labels of buttons"]
    ),
    ([], String(repeating: "a", count: 500), .shown, ["cut on the display: text"]),
    (
      [("actions", "http, exactly twenty-four byte, https://x")], String(repeating: "a", count: 360), .shown,
      ["no buttons: the display has no room for the whole text with them"]
    ),
    ([], "hi", .muted, ["not shown: the topic is muted"]),
    ([], "hi", .duplicate, ["not shown again: a repetition of this request was taken before"]),
  ]

  @Test(arguments: notes.indices)
  func `what is changed or ignored is in the answer`(index: Int) throws {
    let (fields, body, outcome, notes) = Self.notes[index]
    let answer = try Self.answer("/t", fields, body: body, outcome: outcome)
    #expect(answer["notes"]?.array ?? [] == notes.map { .string($0) })
  }

  @Test func `actions are in the answer as they came, with ids`() throws {
    let answer = try Self.answer(
      "/t", [("actions", "HTTP, A, https://x, method=put, clear=yes, headers.B=c")])
    #expect(
      answer["actions"]?.line == #"[{"action":"http","clear":true,"headers":{"B":"c"},"id":"abcdefghi0","#
        + #""label":"A","method":"PUT","url":"https://x"}]"#)
  }

  @Test func `a refusal of the intake has a code`() {
    let rate = PushAnswer(reason: .tooManyRequests, apnsID: "i")
    #expect(PublishProblem(rate, .tooMany)?.code == .tooMany)
    #expect(PublishProblem(rate, .tooManyDelayed)?.code == .tooManyDelayed)
    #expect(PublishProblem(PushAnswer(reason: .shutdown, apnsID: "i"), nil)?.status == 503)
    #expect(PublishProblem(PushAnswer(reason: nil, apnsID: "i"), .shown) == nil)
  }

  @Test func `a poll selects rows`() throws {
    let rows = (1...3).map { number -> JSONValue in
      .object([
        "id": .string("message00\(number)0x"), "time": .whole(Script.now.seconds - 60 * Int64(4 - number)),
        "message": .string("m\(number)"), "priority": .whole(number),
      ])
    }
    for (query, found) in [
      ("", "m1m2m3"), ("since=all", "m1m2m3"), ("since=none", ""), ("si=latest", "m3"),
      ("since=150s", "m2m3"),
      ("since=message0010x", "m2m3"), ("since=message0020x", "m3"), ("since=message0090x", "m1m2m3"),
      ("since=\(Script.now.seconds - 61)", "m3"), ("priority=low,default", "m2m3"), ("message=m2", "m2"),
    ] {
      let poll = try PublishPoll(topics: ["t"], Script.parameters([], query: query), now: Script.now)
      #expect(poll.select(rows).compactMap { $0["message"]?.string }.joined() == found, "\(query)")
    }
    #expect(throws: PublishProblem.self) {
      try PublishPoll(topics: ["t"], Script.parameters([], query: "since=INVALID"), now: Script.now)
    }
  }
}

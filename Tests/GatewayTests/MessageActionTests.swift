import GatewayRules
import NotibotProtocol
import Testing

@Suite struct MessageActionTests {
  static func actions(_ text: String) throws(PublishProblem) -> [MessageAction] {
    try Script.request("/t", [("actions", text)]).actions
  }

  static let forms: [(String, [String])] = [
    ("http, Open door, https://x/open", ["Open door"]),
    ("action=http, label=Open door, url=https://x/?a=b, method=PUT, headers.A=b, clear=true", ["Open door"]),
    (
      #"http, "Yes, please; now", https://x, body='{"a": 1}'; broadcast, Don't, extras.cmd=pic"#,
      ["Yes, please; now", "Don't"]
    ),
    (#"http, 'It\'s "ok"', https://x"#, [#"It's "ok""#]),
    (#"broadcast, "a\"b" ; view, "c", https://y"#, [#"a"b"#]),
    ("HTTP, AB, https://x ; view, Portal, https://y ;", ["AB"]), ("", []), ("view, Portal, https://y", []),
    ("copy, Copy code, 1234; copy, label=C, value=5", []), ("ACTION=http,LABEL = A,Url=https://x", ["A"]),
    ("label=A, action=broadcast, intent=i", ["A"]),
    (
      #"[{"action":"http","label":"Close","url":"https://x","headers":{"A":"b"}},"#
        + #"{"action":"view","label":"v","url":"u","clear":null}]"#, ["Close"]
    ),
    // aiontfy's.
    ("action='http', label='Open', url='https://x', clear=0", ["Open"]),
  ]

  @Test(arguments: forms.indices)
  func `actions in both forms are buttons, their addresses are not kept`(index: Int) throws {
    let (header, labels) = Self.forms[index]
    let request = try Script.request("/t", [("actions", header)])
    let push = request.push(id: "i", now: WallTime(seconds: 5), callback: "c")
    let item = try #require(push.meaning.item)
    #expect(item.notification.details.actions == labels)
    #expect(item.question?.answers.map(\.name) ?? [] == labels)
    #expect(item.question?.callback == (labels.isEmpty ? nil : "c"))
    #expect(item.question?.fields == (labels.isEmpty ? nil : ["message": "i"]))
    #expect(item.question?.line.contains("https") != true)
  }

  @Test(arguments: [
    ("http", "has no label"), ("http, , https://x", "has no label"), ("http, A", "has no url"),
    ("copy, A", "has no value"), ("jump, A, https://x", "not one of view"),
    (#"http, "A, https://x"#, "not closed"),
    (#"http, "A" b, https://x"#, "after a closing quote"), ("http, A=B, https://x", "unknown key"),
    ("broadcast, A, x", "has no key"), ("http, A, x, y", "has no key"),
    ("http, A, x, clear=maybe", "'clear'"),
    ("http, A, x, method=GET, body=b", "with GET"), (";;;;", "at most 3"), ("[{]", "not JSON"),
    ("[1]", "not an object"), ("[{}]", "not one of view"),
    (#"[{"action":"view","label":"v"}]"#, "has no url"),
    (#"[{"action":"http","label":1,"url":"x"}]"#, "'label' is not a text"),
    (#"[{"action":"http","label":"a","url":"x","headers":{"a":1}}]"#, "'headers'"),
    ("http, 1, x; http, 2, x; http, 3, x; http, 4, x", "at most 3"),
  ])
  func `a fault refuses the message, with the reason`(header: String, reason: String) {
    do {
      _ = try Self.actions(header)
      Issue.record("accepted")
    } catch {
      #expect(error.code == .actions && error.text.contains(reason), "\(error.text)")
    }
  }

  @Test(arguments: [
    ("Open the door of the garage", "Open the door of the …"), ("ééééééééééééé", "éééééééééé…"),
    ("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "…"), ("Twenty-four bytes long ok", "Twenty-four bytes lon…"),
    ("exactly twenty-four byte", "exactly twenty-four byte"),
    (#"a "quoted" label of 22"#, #"a "quoted" label of 22"#),
  ])
  func `an overlong label is cut between two characters`(label: String, shown: String) throws {
    let request = try Script.request(
      "/",
      body: JSONValue.object([
        "topic": .string("t"),
        "actions": .array(
          ["Yes", label].map { .object(["action": .string("broadcast"), "label": .string($0)]) }),
      ]).line)
    let item = try #require(Script.item(request))
    #expect(item.notification.details.actions == ["Yes", shown])
    #expect(item.question?.answers.map(\.name) == ["Yes", label])
  }

  @Test func `a message that the display cuts has no buttons`() throws {
    let item = Script.item(
      try Script.request("/t", [("actions", "http, A, x")], body: String(repeating: "a", count: 500)))
    #expect(item?.notification.details.actions == [] && item?.question == nil)
  }
}

extension PushMeaning {
  /// That it shows.
  var item: DisplayItem? {
    if case .show(let item) = self { item } else { nil }
  }
}

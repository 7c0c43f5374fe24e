import GatewayRules
import Testing

@Suite struct PublishWordsTests {
  /// As Python's `email.header` and ntfy's documentation write them.
  @Test(arguments: [
    ("=?UTF-8?B?8J+YgCB0ZXN0?=", "😀 test"), ("=?utf-8?q?caf=C3=A9_au_lait?=", "café au lait"),
    ("=?iso-8859-1?Q?Gr=FC=DFe?=", "Grüße"), ("=?ISO-8859-1?b?R3L832U=?=", "Grüße"),
    ("a =?utf-8?b?4pyF?= b", "a ✅ b"), ("=?utf-8?b?8J+Y?= =?utf-8?b?gA==?=", "😀"),
    ("=?utf-8?q?a?=\t =?utf-8?q?b?= =?utf-8?q?c?= d", "abc d"), ("=?us-ascii*en?q?a=3F?=", "a?"),
    // Not words.
    ("=?utf-8?x?a?=", "=?utf-8?x?a?="), ("=?koi8-r?q?a?=", "=?koi8-r?q?a?="),
    ("=?utf-8?b?***?=", "=?utf-8?b?***?="),
    ("=?utf-8?q?a=3?=", "=?utf-8?q?a=3?="), ("=?utf-8?q?a", "=?utf-8?q?a"), ("=?=?=?", "=?=?=?"),
    ("a=?b", "a=?b"),
  ])
  func `encoded words in headers are decoded`(text: String, decoded: String) {
    for parameter in [PublishParameter.title, .message, .tags] {
      #expect(Script.parameters([(parameter.names[0], text)], query: "")[parameter] == decoded)
    }
  }

  @Test func `encoded words in an address are not`() {
    #expect(Script.parameters([], query: "title=%3D?utf-8?b?4pyF?%3D")[.title] == "=?utf-8?b?4pyF?=")
  }

  static func due(_ text: String, zone: String? = nil) throws(PublishProblem) -> Int64? {
    let zone = zone.map { [("timezone", $0)] } ?? []
    return try Script.request("/t", [("delay", text)] + zone).due?.seconds
  }

  /// Seconds after 2021-12-10 10:17:23 UTC, a Friday.
  @Test(
    arguments: [
      ("30m", 1800), ("30min", 1800), ("1h30m", 5400), ("1.5h", 5400), ("600.0s", 600), ("30 Min", 1800),
      ("2 days", 172_800), ("1 day", 86_400), ("in 5 minutes", 300), ("10s", 10), ("72h", 259_200),
      ("1639183911", 52_468), ("2021-12-10T10:30:00Z", 757), ("2021-12-10T12:30:00.5+02:00", 757),
      ("11am", 2557), ("9am", 81_757), ("10:30", 757), ("3:30 pm", 18_757), ("at noon", 6157),
      ("midnight", 49_357), ("tomorrow", 86_400), ("tomorrow 10am", 85_357), ("tomorrow, 3pm", 103_357),
      ("10am tomorrow", 85_357), ("Sunday, 7am", 160_957), ("sun 7am", 160_957),
      ("today at 11:00", 2557), ("friday 11am", 2557), ("tonight", 45_757),
    ] as [(String, Int64)])
  func `a delay is a time`(text: String, seconds: Int64) throws {
    #expect(try Self.due(text) == Script.now.seconds + seconds)
  }

  @Test func `words are in the time zone of the request`() throws {
    #expect(try Self.due("11:30am", zone: "Europe/Berlin") == Script.now.seconds + 757)
    #expect(try Self.due("30m", zone: "Europe/Berlin") == Script.now.seconds + 1800)
  }

  @Test(arguments: [
    ("INVALID", 40004), ("5", 40004), ("tomorrow 10", 40004), ("25:00", 40004), ("13pm", 40004),
    ("10am 11am", 40004),
    ("1x", 40004), ("-", 40004), ("2021-13-10T10:30:00Z", 40004), ("2021-12-10T10:30:00", 40004),
    ("next", 40004),
    ("9s", 40005), ("-5m", 40005), ("0s", 40005), ("today 9am", 40005), ("2020-12-10T10:30:00Z", 40005),
    ("73h", 40006), ("99999999h", 40006), ("9223372036854775807", 40006), ("thursday", 40006),
    ("Monday, 10:30pm", 40006), ("9e9d", 40004),
    ("99999999999999999999999999d", 40006),
  ])
  func `other delays are refused`(text: String, code: Int) {
    do {
      let due = try Self.due(text)
      Issue.record("\(String(describing: due))")
    } catch {
      #expect(error.code.rawValue == code)
    }
  }

  /// With Berlin's change of 2021-10-31, 01:00 UTC, from 2 hours ahead to one.
  @Test(
    arguments: [("tomorrow 10am", 1_635_670_800), ("tomorrow 1:30am", 1_635_636_600)] as [(String, Int64)])
  func `a change of the clocks is between now and then`(text: String, seconds: Int64) throws {
    let change = WallTime(seconds: 1_635_642_000)
    let calendar = LocalCalendar(now: WallTime(seconds: 1_635_595_200)) { $0 < change ? 7200 : 3600 }
    let request = try PublishRequest(
      topic: "t", sequence: nil, Script.parameters([("at", text)], query: ""), body: [],
      calendar: { _ in calendar })
    #expect(request.due == WallTime(seconds: seconds))
  }
}

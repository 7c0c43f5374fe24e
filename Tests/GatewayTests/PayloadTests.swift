import Foundation
import GatewayRules
import NotibotProtocol
import Testing

/// What the keys of Apple's payloads come to.
@Suite struct PayloadTests {
  typealias Profiles = ProfileTests

  @Test func `each documented key with values of each type comes to what the table says`() {
    #expect(PayloadCorpus.rows.count > 700)
    let profile = TopicProfile(name: "p", app: "App")
    for row in PayloadCorpus.rows {
      var found: PayloadCorpus.Outcome
      let remarks: [PushRemark]
      do throws(PushRefusal) {
        let reading = try profile.reading(of: Array(row.json.utf8), Profiles.head(), now: Profiles.now)
        remarks = reading.remarks
        let isSaid = remarks.contains { $0.place == row.place }
        found =
          switch reading.meaning {
          case .show, .activity: isSaid ? .shownAndSaid : .shown
          case .nothing: isSaid ? .nothingAndSaid : .nothing
          case .clear, .clearTopic: .cleared
          }
      } catch {
        remarks = error.remarks
        found = remarks.contains { $0.place == row.place } ? .refused : .refusedForAnother
        #expect(error.reason == .payloadEmpty)
      }
      #expect(found == row.outcome, "\(row.json): \(remarks.map(\.line))")
    }
  }

  @Test func `the table of the gateway's page has each key and its types`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/GATEWAY.md"), encoding: .utf8)
    let lines = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
    for field in PayloadField.allCases {
      let name = field.rawValue.replacing("alert.", with: "")
      let rows = lines.filter { $0.split(separator: "|").first?.contains("`\(name)`") ?? false }
      let types = field.types.map(\.rawValue).joined(separator: " or ")
      #expect(rows.contains { $0.contains(types) }, "\(field.place): \(types)")
    }
  }

  // MARK: Texts

  @Test(arguments: [
    ("a\u{202E}b", "a\u{FFFD}b"), ("x\u{7}\ty\u{0}\nz", "x\u{FFFD} y\u{FFFD}\nz"),
    // What a phone's system puts around names, and other marks that nobody sees.
    ("\u{2068}Ann\u{2069} \u{200F}سلام\u{200F}", "Ann سلام"), ("\u{FEFF}a\u{200B}b\u{AD}c\u{2060}", "abc"),
    // Joiners are parts of characters.
    ("👨‍👩‍👧", "👨‍👩‍👧"), ("می‌خواهم", "می‌خواهم"), ("❤️", "❤️"),
    (" \n a\r\nb\rc \u{3000}\n", "a\nb c"), ("\u{2028}a\u{2029}b", "a b"), (" \u{200F} ", ""),
  ])
  func `texts are trimmed, without controls and without marks that nobody sees`(raw: String, shown: String)
    throws
  {
    let json = #"{"aps":{"alert":{"title":"T","body":\#(jsonString(raw))}}}"#
    #expect(try Profiles.item(json)?.notification.text == shown)
  }

  @Test func `a text with an override of its direction is shown with a remark`() throws {
    let profile = TopicProfile(name: "p", app: "A")
    #expect(try Profiles.places(#"{"aps":{"alert":"a\u202eb"}}"#, profile) == ["aps.alert"])
    #expect(try Profiles.places(#"{"aps":{"alert":"a\u200fb"}}"#, profile).isEmpty)
  }

  @Test func `an alert without texts shows its keys and arguments`() throws {
    let profile = TopicProfile(name: "p", app: "A")
    let json = #"{"aps":{"alert":{"title-loc-key":"T","loc-key":"NEW_PHOTOS","loc-args":["Ann",3,null]}}}"#
    let item = try #require(try Profiles.item(json))
    #expect(item.notification.title == "T" && item.notification.text == "NEW_PHOTOS Ann 3")
    #expect(
      try Profiles.places(json, profile) == [
        "aps.alert.title-loc-key", "aps.alert.loc-args", "aps.alert.loc-key",
      ])
    let wrong = #"{"aps":{"alert":{"loc-key":"K","loc-args":"Ann"}}}"#
    #expect(try Profiles.item(wrong)?.notification.text == "K")
    #expect(try Profiles.places(wrong, profile) == ["aps.alert.loc-args", "aps.alert.loc-key"])
  }

  @Test func `a badge of a wrong type is ignored, and said`() throws {
    let profile = TopicProfile(name: "p", app: "A")
    for badge in [#""1""#, "1.5", "-1", "true", "[1]", "2147483648"] {
      let reading = try Profiles.reading(#"{"aps":{"alert":"a","badge":\#(badge)}}"#, profile)
      #expect(reading.badge == nil && reading.remarks.map(\.place) == ["aps.badge"])
    }
    #expect(try Profiles.reading(#"{"aps":{"badge":2147483647}}"#, profile).badge == 2_147_483_647)
  }

  @Test(arguments: [
    ("", "body"), ("x", "body"), ("[]", "body"), (#"{"aps":[]}"#, "aps"),
    (#"{"aps":{"alert":5}}"#, "aps.alert"),
    (#"{"aps":{"alert":"a","alert":"b"}}"#, "body"), (#"{"aps":{"alert":5,"badge":2}}"#, "aps.alert"),
    (#"{"aps":{"alert":" ","sound":"default"}}"#, "aps.alert"), (#"{"aps":{"event":"jump"}}"#, "aps.event"),
    (#"{"aps":{"alert":{"title":5}}}"#, "aps.alert.title"),
    (#"{"aps":{"event":"update","timestamp":1}}"#, "aps.content-state"),
    (#"{"aps":{"event":"update","timestamp":1,"content-state":{"score":3}}}"#, "aps.content-state"),
  ])
  func `what cannot be shown is refused with its place`(json: String, place: String) throws {
    let refusal = #expect(throws: PushRefusal.self) { try Profiles.reading(json) }
    #expect(refusal?.reason == .payloadEmpty && refusal?.remarks.last?.place == place)
    #expect(refusal?.remarks.last?.remedy.isEmpty == false)
  }

  @Test(arguments: [
    "{}", #"{"mdm":"x"}"#, #"{"aps":{}}"#, #"{"aps":null}"#, #"{"aps":{"alert":"","content-available":1}}"#,
    #"{"aps":{"alert":"","badge":3}}"#, #"{"aps":{"content-changed":true}}"#, #"{"aps":{"sound":"default"}}"#,
    "\u{FEFF}{}",
  ])
  func `a push that asks nothing of a display is taken`(json: String) throws {
    #expect(try Profiles.meaning(json) == .nothing())
  }

  @Test func `a blank alert of a silent push does not keep it from clearing`() throws {
    let json = #"{"aps":{"content-available":1,"alert":""},"clearApprovalId":"1"}"#
    #expect(
      try Profiles.meaning(json, try Profiles.profile("codingbridge"))
        == .clear(["approval-1"], timestamp: nil))
    #expect(try Profiles.meaning(#"{"aps":{"badge":0,"alert":""}}"#) == .clearTopic)
  }

  // MARK: Live Activities

  static func activity(_ event: String, _ more: String = "") -> String {
    #"{"aps":{"timestamp":1234567890,"event":"\#(event)","content-state":{"status":"processing","currentOperation":"Running tests...","elapsedSeconds":120,"todoProgress":{"completed":3,"total":7,"currentTask":"Fix authentication"}}\#(more)}}"#
  }

  @Test func `a Live Activity is one silent item, until its stale-date`() throws {
    let json = Self.activity("update", #","stale-date":1700000300"#)
    let reading = try Profiles.reading(json, try Profiles.profile("codingbridge"))
    guard case .activity(let item, let timestamp, isStart: false) = reading.meaning else {
      Issue.record("not an activity")
      return
    }
    #expect(timestamp == 1_234_567_890_000 && reading.remarks.isEmpty)
    #expect(item.notification.title == "Processing")
    #expect(item.notification.text == "3/7 Fix authentication · Running tests...")
    let details = item.notification.details
    #expect(details.level == .passive && details.flags == 1 && details.expires == 1_700_000_300)
    let end = try Profiles.meaning(#"{"aps":{"timestamp":5.5,"event":"end"}}"#)
    #expect(end == .clear(["activity-"], timestamp: 5500))
  }

  @Test func `an update whose stale-date has passed is shown as stale, a start is outdated`() throws {
    let stale = #","stale-date":1234568190"#
    let item = try #require(try Profiles.item(Self.activity("update", stale)))
    #expect(item.notification.title == "Processing (stale)" && item.notification.details.expires == nil)
    #expect(try Profiles.meaning(Self.activity("start", stale)) == .nothing(.outdated))
    #expect(
      try Profiles.places(Self.activity("start", stale), TopicProfile(name: "p", app: "A")) == [
        "aps.stale-date"
      ])
  }

  // MARK: Numbers

  @Test(arguments: ["1234567890123456789", "9007199254740993", "-98765432109876543210", "12"])
  func `a long number is not rounded`(digits: String) throws {
    let json = #"{"aps":{"alert":"a","category":"APPROVAL_REQUEST"},"requestId":\#(digits),"toolName":"T"}"#
    let item = try #require(try Profiles.item(json, try Profiles.profile("codingbridge")))
    #expect(item.question?.fields["requestId"] == digits && item.identifier == "approval-\(digits)")
    #expect(
      try JSONValue(parsing: Array(json.utf8), limitBytes: 4096).line.contains("\"requestId\":\(digits)"))
  }
}

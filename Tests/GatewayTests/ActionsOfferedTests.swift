import GatewayRules
import NotibotProtocol
import Testing

/// Which actions an item offers, and what is said about those that it does not.
@Suite struct ActionsOfferedTests {
  static func approval(_ more: String, text: String = "b") throws -> (DisplayItem, [PushRemark]) {
    let json = #"{"aps":{"alert":"\#(text)","category":"APPROVAL_REQUEST"}\#(more)}"#
    let reading = try ProfileTests.reading(json, try ProfileTests.profile("codingbridge"))
    guard case .show(let item) = reading.meaning else { throw PushRefusal(.payloadEmpty) }
    return (item, reading.remarks)
  }

  @Test(arguments: [
    "", #","requestId":null"#, #","requestId":"""#, #","requestId":" ""#, #","requestId":{}"#,
    #","requestId":[]"#, #","requestId":{"id":"1"}"#, #","requestId":"\u200f""#, #","RequestId":"1""#,
  ])
  func `no action is offered without what its callback needs`(member: String) throws {
    let (item, remarks) = try Self.approval(member + #","toolName":"Bash""#)
    #expect(item.notification.details.actions.isEmpty && item.question == nil && item.identifier == nil)
    #expect(remarks.map(\.place) == ["requestId"] && item.notification.text == "b")
  }

  @Test(arguments: [#","requestId":"1""#, #","requestId":1"#, #","requestId":"1","toolName":{}"#])
  func `a field with ? behind it is optional`(members: String) throws {
    let (item, remarks) = try Self.approval(members)
    #expect(item.notification.details.actions == ["Approve", "Deny"] && remarks.isEmpty)
    #expect(item.question?.fields == ["requestId": "1"])
  }

  @Test func `an action that needs the whole text is named when it is left out`() throws {
    let (item, remarks) = try Self.approval(#","requestId":"1""#, text: String(repeating: "a", count: 600))
    #expect(item.notification.details.actions == ["Deny"])
    #expect(remarks.map(\.place) == ["aps.category", "aps.alert.body"])
    #expect(remarks[0].line.contains("APPROVE_ACTION"))
  }

  @Test func `a label that is too long is cut, and all buttons stay`() throws {
    let profile = try TopicProfile(
      parsing: Array(
        #"{"name":"p","app":"A","categories":{"C":{"answers":[{"label":"Approve this command 👨‍👩‍👧‍👦","name":"A"},{"label":"Deny","name":"D"}]}}}"#
          .utf8))
    let json = #"{"aps":{"alert":"a","category":"C"}}"#
    let reading = try ProfileTests.reading(json, profile)
    guard case .show(let item) = reading.meaning else {
      Issue.record("not shown")
      return
    }
    #expect(item.notification.details.actions.count == 2 && item.question?.answers.count == 2)
    let written = WrittenNotification(notification: item.notification).encoded()
    #expect(String(decoding: written, as: UTF8.self).contains(#""act":["Approve this command …","Deny"]"#))
    #expect(reading.remarks.count == 1 && reading.remarks[0].words.contains("label"))
  }

  @Test func `a category that the profile does not have is named`() throws {
    let profile = try ProfileTests.profile("codingbridge")
    let places = try ProfileTests.places(#"{"aps":{"alert":"a","category":"OTHER"}}"#, profile)
    #expect(places == ["aps.category"])
    let plain = try ProfileTests.profile("dayly")
    #expect(try ProfileTests.places(#"{"aps":{"alert":"a","category":"OTHER"}}"#, plain).isEmpty)
  }

  @Test func `a level that the profile does not allow is named`() throws {
    let plain = try ProfileTests.profile("dayly")
    let json = #"{"aps":{"alert":"a","interruption-level":"critical"}}"#
    #expect(try ProfileTests.places(json, plain) == ["aps.interruption-level"])
  }

  // MARK: Dismissals

  static let asking = #"{"name":"p","app":"A","categories":{"Q":{"fields":["id"],"dismissal":true}}}"#

  @Test func `a dismissal is an answer if the profile says so, and can be attributed`() throws {
    let profile = try TopicProfile(parsing: Array(Self.asking.utf8))
    let item = try ProfileTests.item(#"{"aps":{"alert":"a","category":"Q"},"id":7}"#, profile)
    let question = try #require(item?.question)
    #expect(question.answers.isEmpty && question.dismissal?.name == Answer.dismissActionName)
    #expect(Question(line: question.line) == question)
    #expect(try ProfileTests.item(#"{"aps":{"alert":"a","category":"Q"}}"#, profile)?.question == nil)
    let named = try TopicProfile(parsing: Array(Self.asking.replacing("true", with: "\"dismiss\"").utf8))
    let other = try ProfileTests.item(#"{"aps":{"alert":"a","category":"Q"},"id":7}"#, named)
    #expect(other?.question?.dismissal?.name == "dismiss")
  }
}

import NotibotProtocol
import Testing

struct SubmissionHeadTests {
  @Test func `the keys of a head are read, also with escapes, and the others are skipped`() throws {
    let head = try SubmissionHead(
      parsing: Array(#"{"x":{"number":9},"n\u0075mber":7,"ev":"m","key":"a\"b","y":[1,"key"]}"#.utf8))
    #expect(head.number == 7)
    #expect(head.change == "m")
    #expect(head.key == "a\"b")
    #expect(try SubmissionHead(parsing: Array("{}".utf8)).number == nil)
  }

  @Test(arguments: [
    #"{"number":"7"}"#, #"{"number":-1}"#, #"{"number":1.5}"#, #"{"number":4294967296}"#, #"{"key":7}"#,
    #"{"ev":null}"#, #"{"key":"a","key":"a"}"#, #"{"number":1} x"#, #"{"number":1"#, "[]", "",
  ])
  func `anything else is refused`(text: String) {
    #expect(throws: NotificationError.self) { try SubmissionHead(parsing: Array(text.utf8)) }
  }
}

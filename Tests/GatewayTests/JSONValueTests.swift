import GatewayRules
import Testing

@Suite struct JSONValueTests {
  @Test(arguments: [
    (#"{"a":[1,-2.5e1,true,null,"x"]}"#, #"{"a":[1,-25,true,null,"x"]}"#),
    (#" { } "#, "{}"),
    (#""\u00e9\ud83d\ude00\n\/""#, #""é😀\n/""#),
    (#""\u0000\ud800x\udc00""#, "\"\u{FFFD}\u{FFFD}x\u{FFFD}\""),
    (#""\ud800\u0041""#, "\"\u{FFFD}A\""),
    // Numbers that a Double does not hold stay as they are; a byte order mark is none of it.
    ("[1e999,9007199254740993]", "[1e999,9007199254740993]"), ("\u{FEFF}1", "1"),
  ])
  func `a document is read`(text: String, line: String) throws {
    #expect(try JSONValue(parsing: Array(text.utf8), limitBytes: 100).line == line)
  }

  @Test(arguments: [
    "", "{", "[1,]", "{\"a\":1,}", "01", "1.", "+1", "nul", "\"\n\"", "\"\\x\"", "\"\\u12\"", "1 2",
    "{'a':1}",
    "{\"a\":1,\"a\":2}", "1\u{FEFF}",
  ])
  func `what is not JSON is refused`(text: String) {
    #expect(throws: InputProblem.self) { try JSONValue(parsing: Array(text.utf8), limitBytes: 100) }
  }

  @Test func `nesting is limited`() throws {
    func nested(_ depth: Int) -> [UInt8] {
      Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }
    _ = try JSONValue(parsing: nested(16), limitBytes: 100_000)
    for depth in [17, 10_000] {
      #expect(throws: InputProblem("nested too deep (at byte 17)")) {
        try JSONValue(parsing: nested(depth), limitBytes: 100_000)
      }
    }
  }

  @Test func `bytes beyond the limit and bytes that are not UTF-8 are refused`() {
    #expect(throws: InputProblem("too many bytes (at byte 3)")) {
      try JSONValue(parsing: Array("123".utf8), limitBytes: 2)
    }
    #expect(throws: InputProblem("not UTF-8 (at byte 2)")) {
      try JSONValue(parsing: [0x22, 0xC0, 0x80, 0x22], limitBytes: 10)
    }
  }

  @Test func `a path of keys leads to a value`() throws {
    let value = try JSONValue(parsing: Array(#"{"a":{"b":{"c":7}}}"#.utf8), limitBytes: 100)
    #expect(value.value(at: "a.b.c")?.text == "7")
    #expect(value.value(at: "a.x.c") == nil)
    #expect(value.value(at: "a.b")?.text == nil)
  }
}

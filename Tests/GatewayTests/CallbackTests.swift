import Digests
import GatewayRules
import Testing

struct CallbackTests {
  @Test(arguments: [
    "", "ftp://a", "file:///etc/passwd", "http://example.com/", "http://127.0.0.2/",
    "http://169.254.169.254/",
    "https://", "https:///x", "https://user@host/", "https://host:0/", "https://host:65536/",
    "https://host:x/",
    "https://host/#x", "https://ho st/", "https://host/\r\nx: y", "https://höst/", "https://[::1/", "//host/",
    "http://127.0.0.1.example.com/", "http://localhost@example.com/", "https://host%00/",
  ])
  func `an address that is not safe is refused`(text: String) {
    #expect(throws: InputProblem.self) { try CallbackAddress(parsing: text, "'url'") }
  }

  @Test func `addresses are read with their defaults`() throws {
    let address = try CallbackAddress(parsing: "https://backend.example/a?b=c", "'url'")
    #expect(address.host == "backend.example")
    #expect(address.port == 443)
    #expect(address.path == "/a?b=c")
    #expect(address.isTLS)
    #expect(address.hostField == "backend.example")
    let local = try CallbackAddress(parsing: "http://[::1]:8080", "'url'")
    #expect(local.hostField == "[::1]:8080")
    #expect(local.path == "/")
    #expect(local.appending("/x").path == "/x")
  }

  /// Source: RFC 4231, cases 1, 2 and 6.
  @Test func `the code of a message is that of the standard`() {
    let cases: [([UInt8], String, String)] = [
      (
        Array(repeating: 0x0B, count: 20), "Hi There",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), "what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        Array(repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
    ]
    for (key, message, code) in cases {
      #expect(hexText(SHA256.hmac(key: key, message: Array(message.utf8))) == code)
    }
  }

  @Test func `a template is filled with values that cannot change its structure`() throws {
    let template = try JSONValue(
      parsing: Array(
        #"{"type":"approval_response","requestId":"{requestId}","approved":"{approved}","n":1,"x":["{id}-{none}{"]}"#
          .utf8), limitBytes: 1000)
    var question = DecisionWorld.question()
    question.fields["requestId"] = #"r","approved":true,"x":"{id}"#
    let decision = Decision(
      id: "d1", sequence: 1, number: 1, action: 1, revision: 0, at: WallTime(seconds: 5), state: .pending,
      question: question, target: nil)
    let callback = Callback(address: DecisionWorld.address, body: template)
    let expected = JSONValue.object([
      "type": .string("approval_response"), "requestId": .string(#"r","approved":true,"x":"{id}"#),
      "approved": .bool(false), "n": .number(1), "x": .array([.string("d1-{")]),
    ])
    #expect(callback.content(of: decision) == expected)
  }

  @Test func `a configuration names callbacks, and unknown keys are refused`() throws {
    let text =
      #"{"callbacks":{"c":{"url":"http://127.0.0.1:8000/x","secret":"s","clear":"https://b.example/c"}}}"#
    let configuration = try GatewayConfiguration(parsing: Array(text.utf8))
    #expect(configuration.callbacks["c"]?.address.port == 8000)
    #expect(configuration.callbacks["c"]?.clearAddress?.host == "b.example")
    for wrong in [
      #"{"callbacks":{"c":{}}}"#, #"{"callbacks":{"c":{"url":"http://b.example"}}}"#,
      #"{"callbacks":{"c":{"url":"https://b.example","uri":""}}}"#,
    ] {
      #expect(throws: InputProblem.self) { try GatewayConfiguration(parsing: Array(wrong.utf8)) }
    }
  }
}

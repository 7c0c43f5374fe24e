import NotibotProtocol
import Testing

struct LoopbackGateTests {
  /// Fields of a request, and what is permitted without pages and with those of port 80.
  private static let requests: [(fields: [(String, String)], isPermitted: Bool, withPages: Bool)] = [
    ([("Host", "127.0.0.1:80")], true, true),
    ([("Host", "LOCALHOST")], true, true),
    ([("Host", "[::1]:80")], true, true),
    ([("Host", "127.0.0.1:81")], true, false),
    ([], false, false),
    ([("Host", "127.0.0.1:80"), ("Host", "127.0.0.1:80")], false, false),
    ([("Host", "127.0.0.1:80"), ("Host", "evil.example")], false, false),
    ([("Host", "127.0.0.1:80.evil.example")], false, false),
    ([("Host", "127.0.0.1.evil.example")], false, false),
    ([("Host", "127.0.0.1:")], false, false),
    ([("Host", "127.0.0.1:+80")], false, false),
    ([("Host", "127.0.0.1:80"), ("Origin", "http://127.0.0.1:80")], false, true),
    ([("Host", "127.0.0.1:80"), ("Origin", "http://127.0.0.1:81")], false, false),
    ([("Host", "127.0.0.1:80"), ("Origin", "https://127.0.0.1:80")], false, false),
    ([("Host", "127.0.0.1:80"), ("Origin", "null")], false, false),
    ([("Host", "127.0.0.1:80"), ("Sec-Fetch-Site", "cross-site")], false, false),
    ([("Host", "127.0.0.1:80"), ("Sec-Fetch-Site", "same-site")], false, false),
    ([("Host", "127.0.0.1:80"), ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Site", "cross-site")], false, false),
    ([("Host", "127.0.0.1:80"), ("Sec-Fetch-Site", "none")], true, true),
  ]

  @Test(arguments: requests.indices)
  func `a request is permitted if it is of this computer and of no other page`(index: Int) {
    let request = Self.requests[index]
    func values(_ name: String) -> [String] { request.fields.filter { $0.0 == name }.map(\.1) }
    let scripts = LoopbackGate(port: nil, hasPages: false)
    let page = LoopbackGate(port: 80, hasPages: true)
    #expect((scripts.problem(values) == nil) == request.isPermitted)
    #expect((page.problem(values) == nil) == request.withPages)
  }
}

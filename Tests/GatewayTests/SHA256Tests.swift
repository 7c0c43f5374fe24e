import Digests
import GatewayRules
import Testing

@Suite struct SHA256Tests {
  @Test func `groups with a common prefix have different names of 16 bytes`() {
    let first = SHA256.groupName(topic: "t", thread: "6f1c1f0e-5bd5-4c34-0000-000000000001")
    let second = SHA256.groupName(topic: "t", thread: "6f1c1f0e-5bd5-4c34-0000-000000000002")
    #expect(first != second)
    #expect(first.utf8.count == 16)
    #expect(SHA256.groupName(topic: "u", thread: "x") != SHA256.groupName(topic: "v", thread: "x"))
  }
}

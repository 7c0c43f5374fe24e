import GatewayRules
import Testing

@Suite struct SHA256Tests {
  /// Source: FIPS 180-4 examples, NIST CAVP SHA256ShortMsg, and lengths around the padding's edges
  /// from coreutils' sha256sum.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"
    ),
    (
      String(repeating: "a", count: 64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"
    ),
  ])
  func `the digest is that of the standard`(text: String, digest: String) {
    #expect(hexText(SHA256.digest(Array(text.utf8))) == digest)
  }

  @Test func `groups with a common prefix have different names of 16 bytes`() {
    let first = SHA256.groupName(topic: "t", thread: "6f1c1f0e-5bd5-4c34-0000-000000000001")
    let second = SHA256.groupName(topic: "t", thread: "6f1c1f0e-5bd5-4c34-0000-000000000002")
    #expect(first != second)
    #expect(first.utf8.count == 16)
    #expect(SHA256.groupName(topic: "u", thread: "x") != SHA256.groupName(topic: "v", thread: "x"))
  }
}

import Digests
import Testing

/// The expected digests are those of Python's hashlib.
struct DigestTests {
  static let digests: [(count: Int, md5: String, sha256: String)] = [
    (
      0, "d41d8cd98f00b204e9800998ecf8427e",
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    ),
    (
      1, "55a54008ad1ba589aa210d2629c1df41",
      "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"
    ),
    (
      55, "f1289732253518750e22b62a571a1748",
      "81afe5b788dc2ce138ff83d9b20164db75a94d75d2b2432eea4a0ef605088c72"
    ),
    (
      56, "179e3b9fa272a23e2a8b32bde1015414",
      "2aba54f0ac632420a2b502431408866e40e1d5e430df4cd822642c78ab2eb9c1"
    ),
    (
      63, "dd785945d1d6b87eca0d276dbb8756fd",
      "733d3d4ee79ee67145bf73da13588f6f235d37414fc64b14a2f00f1762792f5e"
    ),
    (
      64, "e3ab394ce4eb7da020a27d2e2443143c",
      "79322907b3e9d013d7dc2c2f256674dbf733045cde01df3539271c6f5605feb8"
    ),
    (
      65, "28a6b0f918d9aea03e979a1657d8d0f6",
      "d85c007c6eb440f085afa2b84f6f2bce4658b240e9f62cb1364bf0485a57e720"
    ),
    (
      119, "d49720530a386a3191eac0dc840dd1bd",
      "6c87eedf096b345de205b702e5223b73b447a3207791ded3ea007ba15ed6736e"
    ),
    (
      120, "8a440004b569286a42c722295ce1c5a6",
      "42500cf6a1e3936d6b9e0bcfe296d654b63255e525487d3634d0b15fde591c4d"
    ),
    (
      1000, "c3b2968d34e038455d14c8827156e193",
      "6b0df76627243d095b0c4400cb658b7e804dd03461cc03aee8fc8fe0bcada168"
    ),
  ]

  @Test(arguments: digests)
  func `digests of all paddings`(count: Int, md5: String, sha256: String) {
    let text = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + count) }
    #expect(hex(MD5.digest(of: text)) == md5)
    #expect(hex(SHA256.digest(of: text)) == sha256)
  }

  /// Source: RFC 1321, A.5.
  static let examples: [(String, String)] = [
    ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
    ("abc", "900150983cd24fb0d6963f7d28e17f72"), ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
    (
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"
    ),
    (
      "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
      "57edf4a22be3c955ac49da2e2107b67a"
    ),
  ]

  @Test(arguments: examples)
  func `MD5 gives the digests of its standard`(text: String, digest: String) {
    #expect(hex(MD5.digest(of: Array(text.utf8))) == digest)
  }

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
  func `SHA-256 gives the digests of its standard`(text: String, digest: String) {
    #expect(hex(SHA256.digest(Array(text.utf8))) == digest)
  }

  @Test func `SHA-256 of a part of the bytes`() {
    let bytes = [1, 2] + [UInt8](repeating: 0x61, count: 1000) + [3]
    // By Python's hashlib.
    #expect(SHA256.digest(of: bytes, in: 2..<1002).prefix(4) == [0x41, 0xED, 0xEC, 0xE4])
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String(UInt16($0) | 0x100, radix: 16).dropFirst() }.joined()
  }
}

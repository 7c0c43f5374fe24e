import FirmwareImages
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
    #expect(MD5.digest(of: text) == bytes(md5))
    #expect(SHA256.digest(of: text) == bytes(sha256))
  }
}

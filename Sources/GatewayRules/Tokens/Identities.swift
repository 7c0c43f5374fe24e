package import Digests

/// SHA-256 for identities: groups, keys and token digests. Signatures are verified by swift-crypto.
extension SHA256 {
  /// The digest of parts with a zero byte between them; parts hold no zero byte.
  package static func digest(of parts: String...) -> [UInt8] {
    digest(Array(parts.joined(separator: "\0").utf8))
  }

  /// A name of 16 characters for a group, for a display that keeps no longer ones: names with a
  /// common prefix stay different.
  package static func groupName(topic: String, thread: String) -> String {
    let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")
    var bits: UInt64 = 0
    var count = 0
    var name = ""
    for byte in digest(of: topic, thread).prefix(10) {
      bits = bits << 8 | UInt64(byte)
      count += 8
      while count >= 5 {
        count -= 5
        name.append(alphabet[Int(bits >> UInt64(count) & 31)])
      }
    }
    return name
  }
}

/// Bytes in lower-case hexadecimal.
package func hexText(_ bytes: some Sequence<UInt8>) -> String {
  func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? 48 : 87) }
  var digits: [UInt8] = []
  for byte in bytes {
    digits.append(digit(byte >> 4))
    digits.append(digit(byte & 15))
  }
  return String(decoding: digits, as: UTF8.self)
}

package import Digests

extension SHA256 {
  /// The code that authenticates a message. Source: RFC 2104.
  package static func hmac(key: [UInt8], message: some Collection<UInt8>) -> [UInt8] {
    var block = key.count > 64 ? digest(key) : key
    block += Array(repeating: 0, count: 64 - block.count)
    return digest(block.map { $0 ^ 0x5C } + digest(block.map { $0 ^ 0x36 } + message))
  }
}

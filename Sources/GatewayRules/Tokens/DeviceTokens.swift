import Digests

/// A device token that was issued to a sender. Only its digest is kept.
package struct DeviceToken: Hashable, Sendable {
  /// SHA-256 of the 64 lower-case digits.
  package var digest: [UInt8]
  package var topic: String
  package var name: String
  package var created: WallTime
  package var revoked: WallTime?

  package init(digest: [UInt8], topic: String, name: String, created: WallTime, revoked: WallTime? = nil) {
    self.digest = digest
    self.topic = topic
    self.name = name
    self.created = created
    self.revoked = revoked
  }

  /// The first digits of the digest, for logs and lists.
  package var label: String { hexText(digest.prefix(4)) }

  /// The digest of 64 hexadecimal digits of either case, or nil.
  package static func digest(ofHex text: some StringProtocol) -> [UInt8]? {
    guard text.utf8.count == 64, text.utf8.allSatisfy({ hexDigit($0) != nil }) else { return nil }
    return SHA256.digest(Array(text.lowercased().utf8))
  }
}

/// The issued tokens.
package struct DeviceTokens: Hashable, Sendable {
  /// Tokens in the table, at most.
  package static let limit = 10_000

  private var tokens: [[UInt8]: DeviceToken] = [:]

  package init(_ tokens: [DeviceToken] = []) {
    for token in tokens { self.tokens[token.digest] = token }
  }

  package subscript(digest: [UInt8]) -> DeviceToken? { tokens[digest] }

  /// In the order of their time of issue.
  package var all: [DeviceToken] {
    tokens.values.sorted { ($0.created, $0.label) < ($1.created, $1.label) }
  }

  package mutating func insert(_ token: DeviceToken) { tokens[token.digest] = token }

  /// Revokes those with this name or label; returns how many were valid.
  package mutating func revoke(_ name: String, now: WallTime) -> Int {
    let matching = tokens.values.filter { $0.revoked == nil && ($0.name == name || $0.label == name) }
    for token in matching { tokens[token.digest]?.revoked = now }
    return matching.count
  }
}

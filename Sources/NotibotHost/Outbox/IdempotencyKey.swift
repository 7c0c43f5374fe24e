/// A name that a client gives to a submission, so that it can repeat it after a crash: the outbox
/// accepts each key once. Opaque bytes.
public struct IdempotencyKey: Hashable, Sendable {
  /// The lengths that a key can have.
  public static let lengthsBytes = 1...128

  /// In order, as given.
  public let bytes: [UInt8]

  /// `nil` unless there are 1 to 128 bytes.
  public init?(_ bytes: [UInt8]) {
    guard Self.lengthsBytes.contains(bytes.count) else { return nil }
    self.bytes = bytes
  }

  /// The UTF-8 of a text; `nil` unless it has 1 to 128 bytes.
  public init?(_ text: String) {
    self.init(Array(text.utf8))
  }
}

/// What the display shows: four fields. Source: PROTOCOL.md NTF-1 to NTF-3.
public struct Notification: Hashable, Sendable {
  /// Who says it; more than 64 bytes of UTF-8 are cut when it is sent.
  public var app: String
  /// More than 128 bytes of UTF-8 are cut when it is sent.
  public var title: String
  /// What does not fit in 512 bytes of JSON with the rest is cut when it is sent.
  public var text: String
  /// Whole seconds since 1970-01-01 UTC.
  public var timestamp: UInt32

  /// A notification of these fields, as long as they may be.
  public init(app: String, title: String, text: String, timestamp: UInt32) {
    self.app = app
    self.title = title
    self.text = text
    self.timestamp = timestamp
  }
}

/// The sizes of a notification. Source: PROTOCOL.md NTF-1, NTF-3, NTF-4.
package enum NotificationLimits {
  /// UTF-8 bytes of `app`, unescaped.
  package static let appBytes = 64
  /// UTF-8 bytes of `title`, unescaped.
  package static let titleBytes = 128
  /// Bytes of the whole JSON.
  package static let jsonBytes = 512
  /// Objects and arrays around a value, the top one counted.
  package static let depth = 8
}

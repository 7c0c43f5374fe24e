/// A notification: four fields. Source: PROTOCOL.md NTF-1 to NTF-3.
public struct DisplayNotification: Hashable, Sendable {
  /// The name of the sending app; cut to 64 bytes of UTF-8 when it is sent.
  public var app: String
  /// Cut to 128 bytes of UTF-8 when it is sent.
  public var title: String
  /// Cut when it is sent, so that the whole JSON fits in 512 bytes.
  public var text: String
  /// Whole seconds since 1970-01-01 UTC.
  public var timestamp: UInt32
  /// Further details, for a device that supports them; others get only the four fields.
  public var details: NotificationDetails

  /// A notification of these fields, of any length.
  public init(
    app: String, title: String, text: String, timestamp: UInt32,
    details: NotificationDetails = NotificationDetails()
  ) {
    self.app = app
    self.title = title
    self.text = text
    self.timestamp = timestamp
    self.details = details
  }
}

/// A write of Data: a notification and its identity. Source: PROTOCOL.md NTF-1, NTF-20.
package struct WrittenNotification: Hashable, Sendable {
  /// The keys that have a meaning.
  package enum Keys: Hashable, Sendable {
    /// The four of NTF-1; all others are ignored.
    case four
    /// Those of NTF-20 too: feature bit 1 is in use.
    case all
  }

  package var notification: DisplayNotification
  /// `nil`: none; only the four keys and the details matter.
  package var identity: NotificationIdentity?

  package init(notification: DisplayNotification, identity: NotificationIdentity? = nil) {
    self.notification = notification
    self.identity = identity
  }

  /// The value that a host writes to remove a notification. Source: PROTOCOL.md NTF-24.
  package static func removal(of id: UInt32) -> WrittenNotification {
    WrittenNotification(
      notification: DisplayNotification(app: "", title: "", text: "", timestamp: 0),
      identity: NotificationIdentity(id: id, change: .removed))
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
  /// UTF-8 bytes of `grp`, unescaped. Source: PROTOCOL.md NTF-20.
  package static let groupBytes = 16
  /// Labels in `act`. Source: PROTOCOL.md NTF-20.
  package static let actions = 4
  /// UTF-8 bytes of a label in `act`, unescaped. Source: PROTOCOL.md NTF-20.
  package static let actionBytes = 24
  /// Objects and arrays around a value, the top one counted.
  package static let depth = 8
}

package import NotibotProtocol

/// The notification and the revision that the device holds. Source: PROTOCOL.md NTF-21, NTF-23.
package struct StoredIdentity: Equatable, Sendable {
  package var key: NotificationKey
  package var revision: UInt16
  /// The CRC-32 of the JSON as it was written. Source: PROTOCOL.md NTF-32.
  package var crc: UInt32
}

/// A notification that the device holds.
package struct StoredNotification: Equatable, Sendable {
  /// Its number in the order in which this boot accepted them, from 1; a change keeps the number.
  /// Source: PROTOCOL.md NTF-11.
  package var item: Int
  /// The JSON as it was written.
  package var json: [UInt8]
  /// `nil` if it has none. Source: PROTOCOL.md NTF-20.
  package var identity: StoredIdentity?
  package var level = NotificationDetails.Level.active
  /// Seconds since 1970-01-01 UTC at which it expires; `nil` for never.
  package var expires: UInt32?
  /// Whether it is hidden because it expired: not counted, still part of n and digest. Source:
  /// PROTOCOL.md NTF-27.
  package var hasExpired = false
  /// Whether it was shown without an announcement, because the host knew that it was there. Source:
  /// PROTOCOL.md NTF-28.
  package var isPreExisting = false
}

extension NotificationStore {
  /// The writer, and what it is allowed to write.
  package struct Writer: Equatable, Sendable {
    package var keys = WrittenNotification.Keys.four
    /// The writer of notifications without the key `src`; `nil` if there is none. Source:
    /// PROTOCOL.md NTF-21.
    package var source: UInt32?
    /// `known` of the latest SYNC for `source`; 0 before it. Source: PROTOCOL.md NTF-28.
    package var knownID: UInt32 = 0

    package init() {}

    /// A writer that knows the four keys only.
    package static let plain = Writer()
  }

  /// The result of a write.
  package enum WriteOutcome: Equatable, Sendable {
    /// Stored under this number.
    case stored(item: Int)
    /// A higher `rev` replaced the one with this number. Source: PROTOCOL.md NTF-23.
    case replaced(item: Int)
    /// Removed, as `ev` `"r"` demands. Source: PROTOCOL.md NTF-24.
    case removed
    /// A success that changes no stored notification. Source: PROTOCOL.md NTF-23, NTF-24.
    case unchanged
    /// Not a valid notification, with the reason. Source: PROTOCOL.md NTF-4, NTF-20.
    case invalid(NotificationError)
    /// The same `rev` with other bytes. Source: PROTOCOL.md NTF-23.
    case conflict
    /// The store is full. Source: PROTOCOL.md NTF-8.
    case full
  }

  /// An event of the store for the bearers.
  package enum Event: Equatable, Sendable {
    /// A notification has just been removed. Source: PROTOCOL.md NTF-26.
    case gone(GoneNotice)
    /// One that was already gone was written to. Source: PROTOCOL.md NTF-26.
    case stillGone(GoneNotice)
    /// The writer knows that it is gone. Source: PROTOCOL.md NTF-24.
    case settled(NotificationKey)
    /// The store forgot something that this writer should know. Source: PROTOCOL.md NTF-33.
    case writerForgotten(source: UInt32)
  }
}

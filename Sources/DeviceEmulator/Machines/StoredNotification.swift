package import NotibotProtocol

/// Which change of which notification the device holds. Source: PROTOCOL.md NTF-21, NTF-23.
package struct StoredIdentity: Equatable, Sendable {
  package var key: NotificationKey
  package var revision: UInt16
  /// The CRC-32 of the JSON as it was written. Source: PROTOCOL.md NTF-32.
  package var crc: UInt32
}

/// A notification that the device holds.
package struct StoredNotification: Equatable, Sendable {
  /// Its number in the order in which this boot accepted them, from 1; a change of it keeps the number.
  /// Source: PROTOCOL.md NTF-11.
  package var item: Int
  /// The JSON as it was written.
  package var json: [UInt8]
  /// `nil`: it has none. Source: PROTOCOL.md NTF-20.
  package var identity: StoredIdentity?
  package var level = NotificationDetails.Level.active
  /// Seconds since 1970-01-01 UTC when it expires; `nil`: never.
  package var expires: UInt32?
  /// Whether it is hidden since it expired: not counted, still part of n and digest. Source: PROTOCOL.md NTF-27.
  package var hasExpired = false
  /// Whether it was shown without being announced, because the host knew it to be there. Source: PROTOCOL.md NTF-28.
  package var isPreExisting = false
}

extension NotificationStore {
  /// Who writes, and what the writer may say.
  package struct Writer: Equatable, Sendable {
    package var keys = WrittenNotification.Keys.four
    /// The writer of notifications without the key `src`; `nil`: there is none. Source: PROTOCOL.md NTF-21.
    package var source: UInt32?
    /// `known` of the latest SYNC, which was of `source`; 0 before it. Source: PROTOCOL.md NTF-28.
    package var knownID: UInt32 = 0

    package init() {}

    /// Knows the four keys only.
    package static let plain = Writer()
  }

  /// How a write ended.
  package enum WriteOutcome: Equatable, Sendable {
    /// Stored under this number.
    case stored(item: Int)
    /// A higher `rev` took the place of the one under this number. Source: PROTOCOL.md NTF-23.
    case replaced(item: Int)
    /// Taken away as `ev` `"r"` says. Source: PROTOCOL.md NTF-24.
    case removed
    /// A success that changes nothing of what is stored. Source: PROTOCOL.md NTF-23, NTF-24.
    case unchanged
    /// Not a valid notification, and why. Source: PROTOCOL.md NTF-4, NTF-20.
    case invalid(NotificationError)
    /// The same `rev` with other bytes. Source: PROTOCOL.md NTF-23.
    case conflict
    /// The store is full. Source: PROTOCOL.md NTF-8.
    case full
  }

  /// What the bearers must hear about the store.
  package enum Event: Equatable, Sendable {
    /// A notification is gone, just now. Source: PROTOCOL.md NTF-26.
    case gone(GoneNotice)
    /// One that was gone before was written to. Source: PROTOCOL.md NTF-26.
    case stillGone(GoneNotice)
    /// The writer knows it. Source: PROTOCOL.md NTF-24.
    case settled(NotificationKey)
    /// The store forgot something that this writer should know. Source: PROTOCOL.md NTF-33.
    case forgot(source: UInt32)
  }
}

package import NotibotProtocol

/// The outbox's own number for a notification, from 1; never used twice in one journal.
package struct OutboxNumber: Hashable, Comparable, Sendable {
  package let rawValue: Int64

  package init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  package static func < (left: OutboxNumber, right: OutboxNumber) -> Bool { left.rawValue < right.rawValue }
}

/// The bytes written to the device for a notification, the same each time.
/// Source: PROTOCOL.md NTF-36.
package struct OutboxWrite: Hashable, Sendable {
  /// The number on the wire; 0 for a device without identities.
  package var id: UInt32
  package var revision: UInt16
  package var json: [UInt8]

  package init(id: UInt32, revision: UInt16, json: [UInt8]) {
    self.id = id
    self.revision = revision
    self.json = json
  }

  /// Whether it is this revision under this id.
  func isRevision(_ revision: UInt16, of id: UInt32) -> Bool { self.id == id && self.revision == revision }
}

/// A notification in the outbox, as the journal keeps it.
package struct OutboxEntry: Hashable, Sendable {
  /// Legal moves: *queued* → *written* → *held* → *updating* → *held*; *written*, *held* or
  /// *updating* → *removing*; *queued* or *written* → *refused* → *queued* (retry); *written* →
  /// *queued* (store full, or a new source), likewise *held* or *updating* if the device has lost
  /// it and has no room; *updating* → *held* (refused); *removing* → *queued* when there is newer
  /// content, as after revision 65535. From *held* (gone), *removing* (answered), and on a device
  /// without identities *written* (answered), the entry leaves; there *held* is one that is kept
  /// for a replay.
  package enum State: Hashable, Sendable {
    /// Durable here; nothing was written to the device.
    case queued
    /// Durable, may have been written; no answer yet.
    case written(OutboxWrite)
    /// Accepted: on the device.
    case held(OutboxWrite)
    /// Either `held` or `next` is on the device.
    case updating(held: OutboxWrite, next: OutboxWrite)
    /// To be removed from the device; it may be gone already.
    case removing(id: UInt32)
    /// Refused by the device; waits for the user.
    case refused(ATTError)
  }

  package let number: OutboxNumber
  /// The newest content.
  package var content: DisplayNotification
  package var state: State
  /// Whether `content` is newer than the content written in `state`.
  package var hasNewerContent: Bool
  /// Whether `delivered` was reported, or will be by the pending commit, for the content written in
  /// `state`; if nothing is written there, for `content`.
  package var isReported: Bool

  package init(
    number: OutboxNumber, content: DisplayNotification, state: State = .queued, hasNewerContent: Bool = false,
    isReported: Bool = false
  ) {
    self.number = number
    self.content = content
    self.state = state
    self.hasNewerContent = hasNewerContent
    self.isReported = isReported
  }
}

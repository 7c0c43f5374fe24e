package import NotibotProtocol

/// A request to the outbox.
package enum OutboxSubmission: Hashable, Sendable {
  case add(DisplayNotification)
  /// Replaces the content of a notification, on the device too.
  case update(OutboxNumber, DisplayNotification)
  /// Removes a notification, from the device too.
  case remove(OutboxNumber)
}

/// Why the outbox did not take a submission.
package enum OutboxRejection: Hashable, Sendable {
  /// It is full.
  case full(limit: Int)
  /// It no longer has a notification with this number.
  case unknownNumber(OutboxNumber)
  /// The journal could not be written: nothing more is accepted.
  case journalFailed
  /// Its forwarder has ended: nothing more is accepted.
  case ended
}

/// A result of a submission or notification. All except `rejected` and those about the device are
/// durable in the journal before they are reported.
package enum OutboxReport: Hashable, Sendable {
  /// Durable: delivery is guaranteed. `token` is the submission's.
  case queued(OutboxNumber, token: UInt64)
  case rejected(OutboxRejection, token: UInt64)
  /// The device has it: once for each content.
  case delivered(OutboxNumber)
  /// The device refused it.
  case refused(OutboxNumber, ATTError)
  /// Dismissed at the display, evicted or expired.
  case gone(OutboxNumber, GoneReason)
  /// Removed on request.
  case removed(OutboxNumber)
  /// The user chose an action.
  case action(OutboxNumber, act: UInt32)
  /// Its outcome is unknown, and it is not sent again: `OutboxOptions.resendsPlain` is false.
  case outcomeUnknown(OutboxNumber)
  /// The device's store is full; queued notifications are sent when there is room.
  case storeFull
  /// Host and device agree on what is on the display, after so many rounds of sending again.
  case synced(rounds: Int)
  /// They still do not after two rounds. Source: PROTOCOL.md NTF-34.
  case diverged
  /// Another journal wrote last; the outbox continues under a new source. Source: PROTOCOL.md
  /// NTF-35.
  case newSource(UInt32)
}

/// How an outbox behaves.
package struct OutboxOptions: Hashable, Sendable {
  /// Entries in the outbox, at most; more submissions are rejected. 1...1 000 000.
  package var entriesLimit = 10_000
  /// Whether to send a notification of unknown outcome again to a device without identities: it can
  /// then show it twice; otherwise it can miss it. Source: PROTOCOL.md NTF-37.
  package var resendsPlain = true
  /// Whether to send delivered notifications again to a device without identities, after it has
  /// restarted.
  package var replaysPlain = false

  package init() {}
}

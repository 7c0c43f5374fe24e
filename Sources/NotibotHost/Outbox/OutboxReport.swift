package import NotibotProtocol

/// What somebody asks of the outbox.
package enum OutboxSubmission: Hashable, Sendable {
  case add(Notification)
  /// Gives a notification new content, on the device too.
  case update(OutboxNumber, Notification)
  /// Takes a notification back, off the device too.
  case remove(OutboxNumber)
}

/// Why the outbox did not take a submission.
package enum OutboxRejection: Hashable, Sendable {
  /// It holds as many as it may.
  case full(limit: Int)
  /// It has no notification of this number any more.
  case unknownNumber(OutboxNumber)
  /// The journal could not be written: nothing more is taken.
  case journalFailed
  /// Its forwarder has ended: nothing more is taken.
  case ended
}

/// What became of submissions and notifications. All but `rejected` and those about the device are durable in the journal before they
/// are reported.
package enum OutboxReport: Hashable, Sendable {
  /// Durable; it will be delivered whatever happens. `token` is the submission's.
  case queued(OutboxNumber, token: UInt64)
  case rejected(OutboxRejection, token: UInt64)
  /// The device has it: once for each content.
  case delivered(OutboxNumber)
  /// The device will not have it.
  case refused(OutboxNumber, ATTError)
  /// Dismissed at the display, evicted or expired.
  case gone(OutboxNumber, GoneReason)
  /// Taken back, as was asked for.
  case removed(OutboxNumber)
  /// Somebody chose an action.
  case action(OutboxNumber, act: UInt32)
  /// It may have been delivered or not, and is not sent again: `OutboxOptions.resendsPlain` is false.
  case outcomeUnknown(OutboxNumber)
  /// The device's store is full; what waits goes out when there is room.
  case storeFull
  /// Host and device agree on what is on the display, after so many rounds of sending again.
  case synced(rounds: Int)
  /// They still do not after two rounds. Source: PROTOCOL.md NTF-34.
  case diverged
  /// The journal was not the one that wrote last; goes on under a new source. Source: PROTOCOL.md NTF-35.
  case newSource(UInt32)
}

/// How an outbox behaves.
package struct OutboxOptions: Hashable, Sendable {
  /// Entries that the outbox holds; more submissions are rejected. 1...1 000 000.
  package var entriesLimit = 10_000
  /// Whether a device without identities gets a notification of unknown outcome again: it may then show it twice, else
  /// it may miss it. Source: PROTOCOL.md NTF-37.
  package var resendsPlain = true
  /// Whether a device without identities gets what was delivered again after it has restarted.
  package var replaysPlain = false

  package init() {}
}

package import NotibotProtocol

/// A request to the outbox.
package enum OutboxSubmission: Hashable, Sendable {
  case add(DisplayNotification)
  /// Replaces the content of a notification, on the device too.
  case update(OutboxNumber, DisplayNotification)
  /// Removes a notification, from the device too.
  case remove(OutboxNumber)
}

/// A result of a submission or notification. All except `rejected` and those about the device are
/// durable in the journal before they are reported.
package enum OutboxReport: Hashable, Sendable {
  /// Durable: delivery is guaranteed. `token` is the submission's.
  case queued(OutboxNumber, token: UInt64)
  case rejected(ForwardingRejection, token: UInt64)
  /// Its key was accepted before, for this notification, which can have left since; nothing is
  /// stored again. `isConflict`: the content differs from the one accepted then, which stays.
  case duplicate(OutboxNumber, token: UInt64, isConflict: Bool)
  /// The device has it: once for each content.
  case delivered(OutboxNumber)
  /// The device refused it.
  case refused(OutboxNumber, ATTError)
  /// Dismissed at the display, evicted or expired.
  case gone(OutboxNumber, GoneReason)
  /// It expired before the device had it, and was not sent.
  case expired(OutboxNumber)
  /// Removed on request.
  case removed(OutboxNumber)
  /// The user chose an action. `revision` is that of the text on the display then; `nil` if the
  /// device does not report it. A stale one was chosen for another text than the newest one, and is
  /// no choice for that. From a device that keeps actions, each is reported once.
  case action(OutboxNumber, act: UInt32, revision: UInt16?, isStale: Bool)
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

/// Counters of an outbox since it began.
package struct OutboxCounts: Hashable, Sendable {
  /// Submissions whose key was accepted before.
  package var duplicates = 0
  /// Those of them with other content.
  package var keyConflicts = 0
  /// Notifications that expired before the device had them.
  package var expired = 0

  package init() {}
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
  /// Remembered keys, at most.
  package var keysLimit = 100_000
  /// How long a key is remembered at least, by the time of day.
  package var keyRetentionSeconds: Int64 = 24 * 60 * 60

  package init() {}
}

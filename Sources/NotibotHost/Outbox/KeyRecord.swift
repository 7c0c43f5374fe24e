import NotibotProtocol

/// The key of an accepted submission, as the journal keeps it. Source: docs/JOURNAL.md.
package struct KeyRecord: Hashable, Sendable {
  /// From 1, in the order of the submissions.
  package let row: Int64
  package let key: IdempotencyKey
  /// The notification that it added or changed; it can have left the outbox.
  package let number: OutboxNumber
  /// Of the submission's content; a repetition with another one has other content.
  package let digest: Int64
  /// Seconds since 1970-01-01 UTC, by the host's clock then.
  package let submittedAt: Int64
  /// The same, until when it is kept at least.
  package let keepUntil: Int64

  package init(
    row: Int64, key: IdempotencyKey, number: OutboxNumber, digest: Int64, submittedAt: Int64,
    keepUntil: Int64
  ) {
    self.row = row
    self.key = key
    self.number = number
    self.digest = digest
    self.submittedAt = submittedAt
    self.keepUntil = keepUntil
  }

  func kept(until seconds: Int64) -> KeyRecord {
    KeyRecord(
      row: row, key: key, number: number, digest: digest, submittedAt: submittedAt, keepUntil: seconds)
  }
}

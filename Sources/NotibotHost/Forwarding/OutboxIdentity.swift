/// Which outbox it is, for a file that refers to its numbers: another one has another source, one
/// that another program has used another token, and an older copy a lower last number.
package struct OutboxIdentity: Hashable, Sendable {
  /// The writer's identity, which changes with `ForwardingOptions.willRenew` only.
  package var source: UInt32
  /// The random number of its last opening for forwarding.
  package var token: UInt32
  /// That of the one which begins.
  package var nextToken: UInt32
  /// The highest number that it has ever given.
  package var lastNumber: ForwardingReport.Number

  /// Without a header, what the file has is not known yet, so that it is nobody's.
  init(_ header: JournalHeader?, nextToken: UInt32) {
    (source, token) = (header?.source ?? 0, header?.runToken ?? 0)
    (self.nextToken, lastNumber) = (nextToken, header?.lastNumber.rawValue ?? 0)
  }
}

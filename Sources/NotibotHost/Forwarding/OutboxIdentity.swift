/// Which outbox it is, for a file that refers to its numbers: another one has another source, and
/// an older copy of the same an earlier run or a lower last number.
package struct OutboxIdentity: Hashable, Sendable {
  /// The writer's identity, which changes with `ForwardingOptions.willRenew` only.
  package var source: UInt32
  /// How often it was opened for forwarding before.
  package var run: UInt32
  /// The highest number that it has ever given.
  package var lastNumber: ForwardingReport.Number

  /// `nil`: what the file has is not known yet, so that it is nobody's.
  init(_ header: JournalHeader?) {
    (source, run, lastNumber) = (header?.source ?? 0, header?.run ?? 0, header?.lastNumber.rawValue ?? 0)
  }
}

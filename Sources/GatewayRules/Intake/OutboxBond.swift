/// The outbox whose numbers a gateway's file has.
package struct OutboxBond: Hashable, Sendable {
  /// Its source when it was last opened; the next one, too, if it was about to go on under another.
  package var sources: [UInt32]
  /// Its run then.
  package var run: UInt32
  /// Whether that run has begun; if not, a crash can have come before.
  package var hasBegun: Bool

  package init(sources: [UInt32], run: UInt32, hasBegun: Bool) {
    (self.sources, self.run, self.hasBegun) = (sources, run, hasBegun)
  }

  /// Whether an outbox whose last run is `run` is that one, and nobody else has used it since. In
  /// an older copy, and in one that another program has used, a number can be another
  /// notification's.
  package func isKept(source: UInt32, run: UInt32) -> Bool {
    // Wrap-around is the rule for runs.
    sources.contains(source) && (run == self.run || !hasBegun && run &+ 1 == self.run)
  }
}

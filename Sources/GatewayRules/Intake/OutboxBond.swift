/// The outbox whose numbers a gateway's file has.
package struct OutboxBond: Hashable, Sendable {
  /// Its source when it was last opened; the next one, too, if it was about to go on under another.
  package var sources: [UInt32]
  /// The tokens of the run that was about to begin, and of the one before: a crash can have come
  /// between.
  package var tokens: [UInt32]

  package init(sources: [UInt32], tokens: [UInt32]) {
    (self.sources, self.tokens) = (sources, tokens)
  }

  /// Whether an outbox is that one, and nobody else has used it since. In an older copy, and in one
  /// that another program has used, a number can be another notification's.
  package func isKept(source: UInt32, token: UInt32) -> Bool {
    sources.contains(source) && tokens.contains(token)
  }
}

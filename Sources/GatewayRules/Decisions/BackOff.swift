import Digests

/// The time until the next attempt: doubled after each failure, up to a limit, and spread, so that
/// many do not try together.
package struct BackOff: Hashable, Sendable {
  package static let firstMs: Int64 = 1000
  package static let longestMs: Int64 = 300_000
  /// Of the time, in each direction.
  private static let spreadPercent: UInt64 = 20

  /// Milliseconds after the `failures`-th failure in a row, from 1. `salt` decides the spread.
  package static func delayMs(failures: Int, salt: String) -> Int64 {
    let doublings = min(max(0, failures - 1), 20)
    let plain = min(firstMs << Int64(doublings), longestMs)
    let digest = SHA256.digest(of: "b", salt, String(failures))
    let percent = 100 - spreadPercent + (UInt64(digest[0]) << 8 | UInt64(digest[1])) % (2 * spreadPercent + 1)
    return plain * Int64(percent) / 100
  }
}

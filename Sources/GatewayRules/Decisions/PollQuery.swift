/// The query of a long poll: `after=N&wait=SECONDS`, both optional.
package struct PollQuery: Hashable, Sendable {
  /// The last decision that the client has; 0: none.
  package var after: Int64 = 0
  /// Seconds, 0 to 25.
  package var wait: Int64 = 0

  package static let waitLimitSeconds: Int64 = 25

  /// nil if it has another key, a key twice, or a number out of range.
  package init?(parsing text: some StringProtocol) {
    var keys: Set<Substring> = []
    for pair in Substring(text).split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, keys.insert(parts[0]).inserted,
        parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let number = Int64(parts[1]), number < 1 << 53
      else { return nil }
      switch parts[0] {
      case "after": after = number
      case "wait": wait = min(number, Self.waitLimitSeconds)
      case _: return nil
      }
    }
  }
}

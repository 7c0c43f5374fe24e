/// A step of a case's transcript: `0.001000 > SYN: NONCE …`.
package struct WireStep: Equatable, Sendable {
  package enum Origin: Equatable, Sendable {
    /// The case sent it.
    case bench
    /// The device, or the host under test, sent it.
    case peer
    case remark
  }

  package var origin: Origin
  /// In seconds, as in the transcript; nil for a remark without a time.
  package var time: String?
  package var text: String

  /// A line of a transcript; a line in no known form is a remark.
  package init(_ line: String) {
    let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    let marks: [Substring: Origin] = [">": .bench, "<": .peer, "!": .remark]
    guard parts.count == 3, let origin = marks[parts[1]], Double(parts[0]) != nil else {
      (self.origin, self.time, self.text) = (.remark, nil, line)
      return
    }
    (self.origin, self.time, self.text) = (origin, String(parts[0]), String(parts[2]))
  }
}

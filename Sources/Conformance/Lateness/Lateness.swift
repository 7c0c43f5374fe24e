import SerialLink

/// Upper bounds of the delay with which the two ends of a line handled a byte or a timer in a
/// window of time.
package struct Lateness: Equatable, Sendable {
  /// A window with at least this lateness does not prove that a device is wrong. It is the time
  /// that a case in real time allows between two consecutive frames of a device: its tightest
  /// margin.
  package static let limit = Duration.milliseconds(10)

  /// Of this process.
  package var bench: Duration
  /// Of the process under test, or of the peer according to its echoes.
  package var peer: Duration

  package init(bench: Duration = .zero, peer: Duration = .zero) {
    self.bench = bench
    self.peer = peer
  }

  /// Whether a failure in this window is the peer's own fault.
  package var isCalm: Bool { bench + peer < Self.limit }

  /// The maximum of each end in two windows.
  package func union(_ other: Lateness) -> Lateness {
    Lateness(bench: max(bench, other.bench), peer: max(peer, other.peer))
  }

  /// A clause for a sentence of a report.
  package var summary: String {
    switch (bench > .zero, peer > .zero) {
    case (true, true):
      "the bench was up to \(Self.text(bench)) late, the peer up to \(Self.text(peer))"
    case (false, true): "the peer was up to \(Self.text(peer)) late"
    case (_, false): "the bench was up to \(Self.text(bench)) late"
    }
  }

  /// In milliseconds, rounded up, so that no value is rounded to the limit from above.
  private static func text(_ duration: Duration) -> String {
    "\(Int(duration.inMilliseconds.rounded(.up))) ms"
  }
}

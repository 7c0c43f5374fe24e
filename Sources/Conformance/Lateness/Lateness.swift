import SerialLink

/// How late the two ends of a line may have handled a byte or a timer in a window of time: upper bounds.
package struct Lateness: Equatable, Sendable {
  /// From this lateness on a window does not prove that a device is wrong. It is what a case in real time allows
  /// between two frames that a device sends one behind the other: its tightest margin.
  package static let limit = Duration.milliseconds(10)

  /// Of this process.
  package var bench: Duration
  /// Of the process that is tested, or of the peer as its echoes show it.
  package var peer: Duration

  package init(bench: Duration = .zero, peer: Duration = .zero) {
    self.bench = bench
    self.peer = peer
  }

  /// Whether a failure in this window is the peer's own.
  package var isCalm: Bool { bench + peer < Self.limit }

  /// The worst of each end in two windows.
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

  /// In milliseconds, rounded up, so that nothing is rounded to the limit from above.
  private static func text(_ duration: Duration) -> String {
    "\(Int(duration.inMilliseconds.rounded(.up))) ms"
  }
}

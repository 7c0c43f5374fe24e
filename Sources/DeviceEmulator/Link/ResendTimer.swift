import NotibotProtocol

/// The time to wait for an acknowledgement before a retransmission. Source: PROTOCOL.md LNK-51.
struct ResendTimer: Equatable, Sendable {
  static let first = Duration.milliseconds(250)
  static let shortest = Duration.milliseconds(100)
  static let longestMeasured = Duration.milliseconds(500)
  static let longest = Duration.seconds(2)

  private enum Estimate: Equatable, Sendable {
    case unmeasured
    case measured(srtt: Duration, variation: Duration)
  }

  private var estimate = Estimate.unmeasured
  /// The current wait.
  private(set) var wait = Self.first

  /// Takes the round-trip time of an acknowledgement. Gains as in RFC 6298 section 2.
  mutating func sample(_ roundTrip: Duration) {
    let sample = max(.zero, roundTrip)
    switch estimate {
    case .unmeasured:
      estimate = .measured(srtt: sample, variation: sample / 2)
    case .measured(let srtt, let variation):
      let error = max(srtt, sample) - min(srtt, sample)
      estimate = .measured(srtt: (srtt * 7 + sample) / 8, variation: (variation * 3 + error) / 4)
    }
  }

  /// A frame was acknowledged: the doubling of `backOff` ends.
  mutating func settle() {
    switch estimate {
    case .unmeasured: wait = Self.first
    case .measured(let srtt, let variation):
      wait = min(max(srtt + variation * 4, Self.shortest), Self.longestMeasured)
    }
  }

  /// Nothing was received during a whole wait: the next one is twice as long.
  mutating func backOff() {
    wait = min(wait * 2, Self.longest)
  }
}

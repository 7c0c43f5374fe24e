/// Estimates the round trip of an acknowledgement, and from it how long to wait for one.
///
/// Gains and limits as in PROTOCOL.md LNK-51, which takes them from RFC 6298.
struct RoundTripEstimator: Equatable, Sendable {
  /// Before the first sample.
  static let firstTimeoutNs: Int64 = 250_000_000
  static let timeoutFloorNs: Int64 = 100_000_000
  static let timeoutCeilingNs: Int64 = 500_000_000

  private enum State: Equatable {
    case unmeasured
    case measured(smoothedNs: Int64, variationNs: Int64)
  }

  private var state = State.unmeasured

  /// Takes in one measured round trip. A negative one, from a clock that went backwards, counts as
  /// zero.
  mutating func add(sampleNs: Int64) {
    let sampleNs = max(0, sampleNs)
    switch state {
    case .unmeasured:
      state = .measured(smoothedNs: sampleNs, variationNs: sampleNs / 2)
    case .measured(let smoothedNs, let variationNs):
      let deviationNs = abs(smoothedNs - sampleNs)
      state = .measured(
        smoothedNs: smoothedNs + (sampleNs - smoothedNs) / 8,
        variationNs: variationNs + (deviationNs - variationNs) / 4)
    }
  }

  /// How long to wait for an acknowledgement, excluding back-off and line time.
  var timeoutNs: Int64 {
    switch state {
    case .unmeasured: Self.firstTimeoutNs
    case .measured(let smoothedNs, let variationNs):
      min(max(smoothedNs + 4 * variationNs, Self.timeoutFloorNs), Self.timeoutCeilingNs)
    }
  }

  /// The smoothed round trip; `nil` before the first sample.
  var smoothedNs: Int64? {
    switch state {
    case .unmeasured: nil
    case .measured(let smoothedNs, _): smoothedNs
    }
  }
}

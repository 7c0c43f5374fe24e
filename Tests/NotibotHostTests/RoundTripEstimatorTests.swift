import Testing

@testable import NotibotHost

/// Source: PROTOCOL.md LNK-51; RFC 6298 section 2.
struct RoundTripEstimatorTests {
  private static let ms: Int64 = 1_000_000

  @Test func `before the first sample the timer is 250 ms`() {
    #expect(RoundTripEstimator().timeoutNs == 250 * Self.ms)
    #expect(RoundTripEstimator().smoothedNs == nil)
  }

  @Test func `the first sample counts whole, and half of it as its variation`() {
    var estimator = RoundTripEstimator()
    estimator.add(sampleNs: 80 * Self.ms)
    #expect(estimator.smoothedNs == 80 * Self.ms)
    #expect(estimator.timeoutNs == 240 * Self.ms)
  }

  @Test func `later samples count an eighth, their deviation a quarter`() {
    var estimator = RoundTripEstimator()
    estimator.add(sampleNs: 80 * Self.ms)
    estimator.add(sampleNs: 160 * Self.ms)
    #expect(estimator.smoothedNs == 90 * Self.ms)
    // The variation is 40 + (80 - 40) / 4 = 50 ms.
    #expect(estimator.timeoutNs == 290 * Self.ms)
  }

  @Test(arguments: [(Int64(1), Int64(100)), (400, 500), (-5, 100)])
  func `the timer stays between 100 and 500 ms`(sampleMs: Int64, timeoutMs: Int64) {
    var estimator = RoundTripEstimator()
    estimator.add(sampleNs: sampleMs * Self.ms)
    #expect(estimator.timeoutNs == timeoutMs * Self.ms)
  }
}

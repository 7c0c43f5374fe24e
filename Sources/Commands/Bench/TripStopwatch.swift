import Histogram
import Reports
import Synchronization

/// Times trips that do not overlap: `start` when one begins, `stop` when its answer arrives.
final class TripStopwatch: Sendable {
  private struct State {
    var startedAt: ContinuousClock.Instant?
    /// Nanoseconds, three digits, up to a minute.
    var histogram = Histogram<UInt64>(highestTrackableValue: 60_000_000_000)
  }

  private let state = Mutex(State())

  func start() {
    state.withLock { $0.startedAt = ContinuousClock.now }
  }

  func stop() {
    let now = ContinuousClock.now
    state.withLock { state in
      guard let startedAt = state.startedAt else { return }
      state.histogram.record(UInt64(max(0, (now - startedAt).inSeconds * 1e9)))
    }
  }

  /// In microseconds.
  func histogram() -> [Bucket] {
    state.withLock { Buckets.logarithmic($0.histogram, unitsPerValue: 1000) }
  }

  func result() -> BenchReport.RoundTrips {
    state.withLock { state in
      BenchReport.RoundTrips(
        p50: Double(state.histogram.valueAtPercentile(50)) / 1000,
        p99: Double(state.histogram.valueAtPercentile(99)) / 1000,
        max: Double(state.histogram.maxRecorded) / 1000)
    }
  }
}

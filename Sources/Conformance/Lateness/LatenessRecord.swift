/// Combines the scheduling data of both ends of a line into the lateness of a window. A value type:
/// the samples come from `LatenessMeter`, or from a test.
///
/// States: before the first sample of a window there is no comparison; from then on each beat
/// compares.
struct LatenessRecord: Equatable {
  /// How long each thread of both ends has waited for a processor since it started, in nanoseconds,
  /// by its id.
  struct Sample: Equatable {
    var bench: [Int32: UInt64] = [:]
    var peer: [Int32: UInt64] = [:]
  }

  private var last: Sample?
  /// The maximum of the window so far.
  private(set) var worst = Lateness()
  /// Consecutive beats without lateness.
  private(set) var calmBeats = 0

  /// Begins a window. Earlier lateness does not count.
  mutating func begin(with sample: Sample) {
    self = LatenessRecord()
    last = sample
  }

  /// Notes a beat.
  ///
  /// - Parameters:
  ///   - delay: by how much the beat was late.
  ///   - sample: the waiting times so far.
  mutating func addBeat(delay: Duration, _ sample: Sample) {
    guard let last else { return begin(with: sample) }
    let beat = Lateness(
      bench: max(delay, Self.longestWait(from: last.bench, to: sample.bench)),
      peer: Self.longestWait(from: last.peer, to: sample.peer))
    self.last = sample
    worst = worst.union(beat)
    calmBeats = beat.isCalm ? calmBeats + 1 : 0
  }

  /// The longest wait of one thread between two samples. A new thread has waited since it started.
  static func longestWait(from earlier: [Int32: UInt64], to later: [Int32: UInt64]) -> Duration {
    let waits = later.lazy.map { thread, total in
      let before = earlier[thread] ?? 0
      // An id that was reused for another thread starts again.
      return total >= before ? total - before : total
    }
    return .nanoseconds(Int64(clamping: waits.max() ?? 0))
  }
}

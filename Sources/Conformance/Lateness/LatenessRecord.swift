/// Joins what is known about the scheduling of both ends of a line to the lateness of a window. A value: the samples
/// come from `LatenessMeter`, or from a test.
///
/// States: before the first sample of a window there is nothing to compare with; from then on each beat compares.
struct LatenessRecord: Equatable {
  /// For how long each thread of both ends has waited for a processor since it started, in nanoseconds, by its id.
  struct Sample: Equatable {
    var bench: [Int32: UInt64] = [:]
    var peer: [Int32: UInt64] = [:]
  }

  private var last: Sample?
  /// The worst of the window so far.
  private(set) var worst = Lateness()
  /// Beats in a row in which nobody was late.
  private(set) var calmBeats = 0

  /// Begins a window. What happened until now does not count.
  mutating func begin(with sample: Sample) {
    self = LatenessRecord()
    last = sample
  }

  /// Notes a beat.
  ///
  /// - Parameters:
  ///   - delay: by how much the beat came too late.
  ///   - sample: the times waited by now.
  mutating func noteBeat(delay: Duration, _ sample: Sample) {
    guard let last else { return begin(with: sample) }
    let beat = Lateness(
      bench: max(delay, Self.longestWait(from: last.bench, to: sample.bench)),
      peer: Self.longestWait(from: last.peer, to: sample.peer))
    self.last = sample
    worst = worst.union(beat)
    calmBeats = beat.isCalm ? calmBeats + 1 : 0
  }

  /// The most that one thread has waited between two samples. A thread that is new has waited since it started.
  private static func longestWait(from earlier: [Int32: UInt64], to later: [Int32: UInt64]) -> Duration {
    let waits = later.map { thread, total in
      let before = earlier[thread] ?? 0
      // An id that was given to another thread begins anew.
      return total >= before ? total - before : total
    }
    return .nanoseconds(Int64(clamping: waits.max() ?? 0))
  }
}

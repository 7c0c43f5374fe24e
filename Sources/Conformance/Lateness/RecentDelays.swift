import Synchronization

/// The scheduling delays of processes, read once for all boards: with a hundred boards, each with a
/// beat of 10 ms, the reading alone would make a computer late.
final class RecentDelays: Sendable {
  private struct Reading {
    var at: ContinuousClock.Instant
    var waits: [Int32: UInt64]
  }

  /// The one that all meters of this process share.
  static let ofProcess = RecentDelays(SchedulingDelays())
  /// Half of a beat: each beat has a reading of its own if there is one board.
  static let ageLimit = Duration.milliseconds(5)
  /// Processes that are remembered.
  private static let processesLimit = 512

  private let delays: SchedulingDelays
  private let readings = Mutex<[Int32: Reading]>([:])

  init(_ delays: SchedulingDelays) {
    self.delays = delays
  }

  /// How long each thread of a process has waited for a processor, in nanoseconds, by its id.
  ///
  /// - Parameter isNow: whether an earlier reading is not good enough.
  func waits(of process: Int32, isNow: Bool) -> [Int32: UInt64] {
    readings.withLock { readings in
      let now = ContinuousClock.now
      if !isNow, let known = readings[process], now - known.at < Self.ageLimit { return known.waits }
      let waits = delays.waits(of: process)
      if readings.count >= Self.processesLimit { readings = [:] }
      readings[process] = Reading(at: now, waits: waits)
      return waits
    }
  }
}

import Conformance
import Foundation
import Synchronization

/// How late this process is during a soak, and time limits that take it into account.
final class SoakPatience: Sendable {
  /// A process that is late for this share of the time is too slow to blame a device.
  private static let lateShareLimit = 0.2
  /// Lateness is measured, and limits are counted, in steps of this length.
  private static let step = Duration.milliseconds(500)

  private struct State {
    var total = Duration.zero
    var late = Duration.zero
  }

  private let state = Mutex(State())
  private let clock = ContinuousClock()

  /// What prevents a verdict about the device; `nil`: this process was on time.
  var reasonAgainstVerdict: String? {
    state.withLock { state in
      guard state.late > state.total * Self.lateShareLimit else { return nil }
      let (late, total) = (state.late.inSeconds, state.total.inSeconds)
      return String(format: "this computer was late for %.1f of %.1f s", late, total)
    }
  }

  /// Measures until this task is cancelled: how late it is woken after each step, or how long a
  /// thread has waited for a processor, because a busy computer wakes a process sooner than it lets
  /// it finish its work.
  func measure() async {
    var waits = ProcessorWaits()
    while !Task.isCancelled {
      let start = clock.now
      // The step of a cancelled task is measured as well, and is its last.
      try? await clock.sleep(for: Self.step, tolerance: .zero)
      let elapsed = clock.now - start
      let late = max(elapsed - Self.step, min(waits.next(), elapsed))
      state.withLock { state in
        state.total += elapsed
        state.late += late
      }
    }
  }

  /// Forgets what was measured so far.
  func restart() { state.withLock { $0 = State() } }

  /// Returns when `limit` has passed without progress. Each step counts only for the time that it
  /// should have taken, so that a busy computer extends the limit.
  ///
  /// - Parameter progress: a number that changes when there is progress.
  func wait(_ limit: Duration, withoutProgress progress: () -> Int = { 0 }) async throws {
    var (left, seen) = (limit, progress())
    while left > .zero {
      try await clock.sleep(for: min(left, Self.step), tolerance: .zero)
      left -= Self.step
      let current = progress()
      if current != seen { (left, seen) = (limit, current) }
    }
  }
}

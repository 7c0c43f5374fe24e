import Foundation
import Synchronization

/// Kills the process at the N-th step of its journal (NOTIBOT_KILL_AT_STEP), for tests of recovery.
final class KillStep: Sendable {
  private let remaining: Atomic<Int>

  /// `nil` when the variable does not hold a number from 1.
  init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
    guard let count = environment["NOTIBOT_KILL_AT_STEP"].flatMap(Int.init), count > 0 else { return nil }
    remaining = Atomic(count)
  }

  /// Counts one step.
  func pass() {
    if remaining.subtract(1, ordering: .relaxed).newValue == 0 { kill(getpid(), SIGKILL) }
  }
}

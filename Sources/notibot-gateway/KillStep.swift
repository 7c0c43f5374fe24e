#if Gateway
import Foundation
import Synchronization

/// Kills the process at the N-th step of its commits (NOTIBOT_KILL_AT_STEP), for tests of recovery.
final class KillStep: Sendable {
  /// Steps left; nil: not armed.
  private let remaining = Mutex<Int?>(nil)
  private let count: Int

  /// `nil` when the variable does not hold a number from 1.
  init?() {
    let text = ProcessInfo.processInfo.environment["NOTIBOT_KILL_AT_STEP"]
    guard let count = text.flatMap(Int.init), count > 0 else { return nil }
    self.count = count
  }

  /// From now on steps count.
  func arm() { remaining.withLock { $0 = count } }

  /// Counts one step.
  func pass() {
    let left = remaining.withLock { remaining -> Int? in
      remaining = remaining.map { $0 - 1 }
      return remaining
    }
    if left == 0 { kill(getpid(), SIGKILL) }
  }
}
#endif

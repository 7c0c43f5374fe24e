#if Gateway
import Foundation
import SerialLink
import Synchronization

/// Cancels the running command on a signal that asks it to end. A second signal after half a second ends the
/// process.
enum Termination {
  struct Ended: Error {
    var number: Int32
  }

  private struct State {
    var number: Int32?
    var at: ContinuousClock.Instant?
    var cancel: (@Sendable () -> Void)?
  }

  private static let state = Mutex(State())
  private static let watched = Mutex<Signals?>(nil)

  static func begin() {
    guard let signals = Signals.watchEndings() else { return }
    watched.withLock { $0 = signals }
    Thread.detachNewThread {
      while true { signals.wait(limitMs: -1).forEach(take) }
    }
  }

  /// Restores the default action, for a command that needs no proper end.
  static func release() {
    watched.withLock { $0?.release() }
  }

  private static func take(_ number: Int32) {
    let (cancel, isSecond) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
      if let at = state.at { return (nil, ContinuousClock.now - at > .milliseconds(500)) }
      state.number = number
      state.at = .now
      return (state.cancel, false)
    }
    cancel?()
    if isSecond { _exit(128 + number) }
  }

  /// Runs `body` and cancels it on a signal. Throws `Ended` after one.
  static func cancelling(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let task = Task { try await body() }
    let isLate = state.withLock { state in
      state.cancel = { task.cancel() }
      return state.number != nil
    }
    if isLate { task.cancel() }
    let outcome = await task.result
    if let number = state.withLock(\.number) { throw Ended(number: number) }
    try outcome.get()
  }
}
#endif

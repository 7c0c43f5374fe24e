#if Gateway
import Foundation
import NotibotHost
import SerialLink
import Synchronization

/// Cancels the running command on a signal that asks it to end. A second signal after half a second
/// ends the process.
enum Termination {
  /// Time for a proper end. A gateway that serves has 5 s for the answers that are due.
  private static let graceLimit = (starting: Duration.milliseconds(1500), serving: Duration.seconds(8))

  private struct State {
    var number: Int32?
    var at: ContinuousClock.Instant?
    var isServing = false
    var cancel: (@Sendable () -> Void)?
  }

  private static let state = Mutex(State())
  private static let watched = Mutex<Signals?>(nil)

  static func begin() {
    guard let signals = Signals.watchEndings() else { return }
    watched.withLock { $0 = signals }
    Thread.detachNewThread {
      while true {
        let isEnding = state.withLock { $0.number != nil }
        signals.wait(limitMs: isEnding ? 100 : -1).forEach(handleSignal)
        endIfLate()
      }
    }
  }

  /// From now on there are senders to answer at the end.
  static func markServing() { state.withLock { $0.isServing = true } }

  /// Ends the process if something keeps it from ending properly, such as a file system that does
  /// not answer.
  private static func endIfLate() {
    let number = state.withLock { state -> Int32? in
      guard let at = state.at else { return nil }
      let limit = state.isServing ? graceLimit.serving : graceLimit.starting
      return ContinuousClock.now - at > limit ? state.number : nil
    }
    guard let number else { return }
    GatewayProgram.note("ended before everything was closed")
    OutputQueue.errors.finish()
    _exit(128 + number)
  }

  /// Restores the default action, for a command that needs no proper end.
  static func release() {
    watched.withLock { $0?.release() }
  }

  private static func handleSignal(_ number: Int32) {
    let (cancel, isSecond) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
      if let at = state.at { return (nil, ContinuousClock.now - at > .milliseconds(500)) }
      state.number = number
      state.at = .now
      return (state.cancel, false)
    }
    cancel?()
    if isSecond { _exit(128 + number) }
  }

  /// Runs `body` and cancels it on a signal. Throws a `Failure` of its kind after one.
  static func cancelling(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let task = Task { try await body() }
    let isLate = state.withLock { state in
      state.cancel = { task.cancel() }
      return state.number != nil
    }
    if isLate { task.cancel() }
    let outcome = await task.result
    // A signal does not hide that promises are lost.
    if case .failure(let error as NotibotError) = outcome, error.isOutboxDisplaced { throw error }
    if let number = state.withLock(\.number) {
      let kind = FailureKind(signal: number)
      throw Failure(kind, kind.meaning.components(separatedBy: " (")[0])
    }
    try outcome.get()
  }
}
#endif

import ArgumentParser
import Dispatch
import Foundation
import NotibotHost
package import SerialLink
import Synchronization

/// Cancels a command on SIGINT, SIGTERM, SIGHUP, SIGQUIT or the loss of stdout, so that it closes
/// its port and writes its reports. If it does not end within `graceTicks`, a separate thread that
/// nothing can block writes its reports and ends the process (docs/DECISIONS.md).
package enum Interruption {
  /// A second signal within this time is a copy of the first: `timeout` and `make` signal the
  /// process and its group.
  package static let sameSignalLimit = Duration.milliseconds(500)
  /// Interval of the checks whether a cancelled command has ended.
  package static let tickMs: Int32 = 100
  /// Ticks that a command has to end after a signal. A tick in which its threads waited for a
  /// processor for half of the time is not counted, nor one at whose end a thread waits for a disk.
  package static let graceTicks = 12
  /// All ticks, counted or not.
  package static let ticksLimit = 60
  /// Time limit for the reports of a command that is ended.
  package static let lastWordsLimitMs = 600

  /// The remaining time of a command that should end.
  private struct Grace {
    private var countedTicks = 0
    private var ticks = 0
    private var waitedNanoseconds = ProcessorWait.nanoseconds()

    /// Counts a tick. Returns whether it was the last one.
    mutating func tick() -> Bool {
      let waited = ProcessorWait.nanoseconds()
      let isFair = waited < waitedNanoseconds + UInt64(tickMs) * 500_000 && !DiskWait.isNow()
      waitedNanoseconds = waited
      ticks += 1
      if isFair { countedTicks += 1 }
      return countedTicks >= graceTicks || ticks >= ticksLimit
    }
  }

  private struct State {
    var signal: (number: Int32, at: ContinuousClock.Instant)?
    /// Whether an end after the signal is a success.
    var isSuccess = false
    var cancel: (@Sendable () -> Void)?
    /// Since the signal.
    var grace: Grace?
    /// The deadlines of sections that must not be interrupted.
    var mustFinishUntil: [UInt64: ContinuousClock.Instant] = [:]
    var lastWords: [UInt64: @Sendable () -> Void] = [:]
    var nextKey: UInt64 = 0
  }

  private static let state = Mutex(State())
  private static let watched = Mutex<Signals?>(nil)

  /// Waits until this task is cancelled.
  package static func untilCancelled() async {
    // This stream has no elements; it ends with the task.
    let (never, continuation) = AsyncStream<Never>.makeStream()
    for await _ in never {}
    continuation.finish()
  }

  /// Installs the signal handlers. Called once, before anything else: a signal that arrives before
  /// the command has begun is not lost, and its reports are written.
  package static func begin() {
    guard let signals = Signals.watchEndings() else { return }
    watched.withLock { $0 = signals }
    Thread.detachNewThread {
      while true {
        let isWaiting = state.withLock { $0.signal != nil }
        let numbers = signals.wait(limitMs: isWaiting ? tickMs : -1)
        numbers.forEach(handleSignal)
        if numbers.isEmpty { tick() }
      }
    }
  }

  /// Restores the default effect of the signals, for a command that has no port to close.
  package static func release() {
    watched.withLock { $0?.release() }
    if let number = state.withLock({ $0.signal?.number }) { raise(number) }
  }

  /// Runs `body` and cancels it on a signal, or when stdout cannot be written to.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`; after a signal a `Failure` of its kind; `Output.loss`.
  package static func cancelling<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let task = Task { try await body() }
    let isLate = state.withLock { state in
      state.cancel = { task.cancel() }
      return state.signal != nil
    }
    if isLate { task.cancel() }
    let outcome = await task.result
    let (number, isSuccess) = state.withLock { state in
      state.cancel = nil
      return (state.signal?.number, state.isSuccess)
    }
    // A signal does not hide that promises are lost.
    if case .failure(let error as NotibotError) = outcome, error.isOutboxDisplaced { throw error }
    if isSuccess { throw ArgumentParser.ExitCode.success }
    if let number { throw failure(of: number) }
    try Output.checkTaken()
    return try outcome.get()
  }

  /// Cancels the running command, if there is one.
  package static func cancel() {
    state.withLock(\.cancel)?()
  }

  /// Ends the command as SIGTERM does, but with exit code 0; nothing after a signal.
  package static func end() {
    let isFirst = state.withLock { state in
      if state.signal == nil { state.isSuccess = true }
      return state.isSuccess
    }
    if isFirst { kill(getpid(), SIGTERM) }
  }

  // MARK: The end of a command that does not end

  /// Registers `words`, which write the reports if the command does not end on its own. They run on
  /// another thread, at most once, and must not wait for the command.
  ///
  /// - Returns: a closure that removes them.
  package static func addLastWords(_ words: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let key = state.withLock { state in
      state.nextKey += 1
      state.lastWords[state.nextKey] = words
      return state.nextKey
    }
    return { state.withLock { $0.lastWords[key] = nil } }
  }

  /// Runs a section that a signal must not interrupt, for at most `limit`, because it releases a
  /// shared resource.
  package static func finishing<Result>(
    within limit: Duration, _ body: () async throws -> Result
  ) async rethrows -> Result {
    let key = state.withLock { state in
      state.nextKey += 1
      state.mustFinishUntil[state.nextKey] = .now + limit
      return state.nextKey
    }
    defer { state.withLock { $0.mustFinishUntil[key] = nil } }
    return try await body()
  }

  /// Ends the process with `failure`, or because its output is lost, when `limit` is exceeded by
  /// more than the grace time: for a command with a time limit that is blocked elsewhere, for
  /// example by an output that is not read.
  package static func end(after limit: Duration, with failure: Failure?) {
    let end = ContinuousClock.now + limit
    Thread.detachNewThread {
      while ContinuousClock.now < end {
        let left = (end - ContinuousClock.now) / .milliseconds(1)
        _ = poll(nil, 0, Int32(min(max(1, left), 60_000)))
      }
      var grace = Grace()
      repeat { _ = poll(nil, 0, tickMs) } while state.withLock({ mustFinish(&$0) }) || !grace.tick()
      abandon(
        with: failure
          ?? Failure(
            .unfitEnvironment, "the time limit was reached, and the output could not be written"))
    }
  }

  private static func handleSignal(_ number: Int32) {
    let (isFirst, isAgain, cancel) = state.withLock { state in
      guard let first = state.signal else {
        state.signal = (number, .now)
        state.grace = Grace()
        return (true, false, state.cancel)
      }
      return (false, ContinuousClock.now - first.at > sameSignalLimit, nil)
    }
    if isFirst { cancel?() }
    if isAgain { abandon(with: failure(of: number, "ended by the second signal")) }
  }

  /// Whether a section that must not be interrupted is running.
  private static func mustFinish(_ state: inout State) -> Bool {
    state.mustFinishUntil.values.contains { ContinuousClock.now < $0 }
  }

  private static func tick() {
    let number = state.withLock { state -> Int32? in
      guard let signal = state.signal, !mustFinish(&state) else { return nil }
      return state.grace?.tick() == true ? signal.number : nil
    }
    if let number { abandon(with: failure(of: number, "ended before everything was closed")) }
  }

  /// Why the running command was cancelled; `nil`: by no signal.
  static var failure: Failure? { state.withLock { $0.signal?.number }.map { failure(of: $0) } }

  private static func failure(of number: Int32, _ words: String = "") -> Failure {
    let kind = FailureKind(signal: number)
    return Failure(kind, kind.meaning.components(separatedBy: " (")[0], remedy: words)
  }

  /// Writes the reports within their time limit, and ends the process. They run on their own
  /// thread, because they can block.
  private static func abandon(with failure: Failure) -> Never {
    let words = state.withLock { state in
      defer { state.lastWords = [:] }
      return state.lastWords.sorted { $0.key < $1.key }.map(\.value)
    }
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      words.forEach { $0() }
      Output.note("notibot: \(failure)")
      Output.finish()
      done.signal()
    }
    _ = done.wait(timeout: .now() + .milliseconds(lastWordsLimitMs))
    KeyTerminal.leave()
    _exit(failure.kind.rawValue)
  }
}

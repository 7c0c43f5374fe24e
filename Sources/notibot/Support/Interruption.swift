import Dispatch
import Foundation
import SerialLink
import Synchronization

/// Turns SIGINT and SIGTERM, and the loss of stdout, into cancellation of a command, so that it closes its port and writes
/// its reports on the way out. A command that does not end within `graceTicks` is ended all the same, by a thread of its
/// own that nothing else can hold: its reports are written first (docs/DECISIONS.md).
enum Interruption {
  /// A second signal within this time is the first one again: `timeout` and `make` send it to the process and to its group.
  static let sameSignalLimit = Duration.milliseconds(500)
  /// How often a command that is to end is looked at.
  static let tickMs: Int32 = 100
  /// Ticks that a command has to end after a signal. One in which its threads waited for a processor for half of the time
  /// is not counted.
  static let graceTicks = 12
  /// All ticks, counted or not.
  static let ticksLimit = 60
  /// How long the reports of a command that is ended may take.
  static let lastWordsLimitMs = 600

  /// The time that a command has to end once it should.
  private struct Grace {
    private var countedTicks = 0
    private var ticks = 0
    private var waitedNanoseconds = ProcessorWait.nanoseconds()

    /// Counts a tick. Returns whether it was the last one.
    mutating func tick() -> Bool {
      let waited = ProcessorWait.nanoseconds()
      let isFair = waited < waitedNanoseconds + UInt64(tickMs) * 500_000
      waitedNanoseconds = waited
      ticks += 1
      if isFair { countedTicks += 1 }
      return countedTicks >= graceTicks || ticks >= ticksLimit
    }
  }

  private struct State {
    var signal: (number: Int32, at: ContinuousClock.Instant)?
    var cancel: (@Sendable () -> Void)?
    /// Since the signal.
    var grace: Grace?
    /// Until when something that must not be cut off may go on.
    var mustFinishUntil: ContinuousClock.Instant?
    var lastWords: [UInt64: @Sendable () -> Void] = [:]
    var nextKey: UInt64 = 0
  }

  private static let state = Mutex(State())
  private static let watched = Mutex<Signals?>(nil)

  /// Waits until this task is cancelled.
  static func untilCancelled() async {
    // Nothing comes on this stream; it ends with the task.
    let (never, continuation) = AsyncStream<Never>.makeStream()
    for await _ in never {}
    continuation.finish()
  }

  /// Takes the signals. Called once, first of all: one that comes before the command has begun is not lost, and its
  /// reports are written.
  static func begin() {
    guard let signals = Signals.watch([SIGINT, SIGTERM]) else { return }
    watched.withLock { $0 = signals }
    Thread.detachNewThread {
      while true {
        let isWaiting = state.withLock { $0.signal != nil }
        let numbers = signals.wait(limitMs: isWaiting ? tickMs : -1)
        numbers.forEach(take)
        if numbers.isEmpty { tick() }
      }
    }
  }

  /// Gives signals their usual effect back, for a command that has nothing to close.
  static func release() {
    watched.withLock { $0?.release() }
    if let number = state.withLock({ $0.signal?.number }) { raise(number) }
  }

  /// Runs `body` and cancels it when a signal comes, or when stdout takes no more.
  ///
  /// - Returns: what `body` returned.
  /// - Throws: what `body` threw; after a signal `CommandFailure` with `interrupted` or `terminated`; `Output.Loss`.
  static func cancelling<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let task = Task { try await body() }
    let isLate = state.withLock { state in
      state.cancel = { task.cancel() }
      return state.signal != nil
    }
    if isLate { task.cancel() }
    let outcome = await task.result
    let number = state.withLock { state in
      state.cancel = nil
      return state.signal?.number
    }
    switch number {
    case SIGINT?: throw CommandFailure(.interrupted, "interrupted")
    case SIGTERM?: throw CommandFailure(.terminated, "terminated")
    case _:
      try Output.checkTaken()
      return try outcome.get()
    }
  }

  /// Cancels what runs, if anything does.
  static func cancel() {
    state.withLock(\.cancel)?()
  }

  // MARK: The end of a command that does not end

  /// Keeps `words` for the case that the command does not end on its own: they write its reports. They run on another
  /// thread, at most once, and must not wait for the command.
  ///
  /// - Returns: what removes them.
  static func addLastWords(_ words: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let key = state.withLock { state in
      state.nextKey += 1
      state.lastWords[state.nextKey] = words
      return state.nextKey
    }
    return { state.withLock { $0.lastWords[key] = nil } }
  }

  /// Runs what must not be cut off by a signal, for at most `limit`: others wait for what it gives back.
  static func finishing<Result>(
    within limit: Duration, _ body: () async throws -> Result
  ) async rethrows -> Result {
    state.withLock { $0.mustFinishUntil = .now + limit }
    defer { state.withLock { $0.mustFinishUntil = nil } }
    return try await body()
  }

  /// Ends the process with `failure`, or with 0, when `limit` is over by more than the grace: for a command with a time
  /// limit that is held where the limit does not reach it, as by an output that nobody reads.
  static func end(after limit: Duration, with failure: CommandFailure?) {
    let end = ContinuousClock.now + limit
    Thread.detachNewThread {
      while ContinuousClock.now < end {
        let left = (end - ContinuousClock.now) / .milliseconds(1)
        _ = poll(nil, 0, Int32(min(max(1, left), 60_000)))
      }
      var grace = Grace()
      repeat { _ = poll(nil, 0, tickMs) } while state.withLock(mustFinish) || !grace.tick()
      abandon(with: failure ?? CommandFailure(.success, "its time is over, and its output was not taken"))
    }
  }

  private static func take(_ number: Int32) {
    let (isFirst, isAgain, cancel) = state.withLock { state in
      guard let first = state.signal else {
        state.signal = (number, .now)
        state.grace = Grace()
        return (true, false, state.cancel)
      }
      return (false, ContinuousClock.now - first.at > sameSignalLimit, nil)
    }
    if isFirst { cancel?() }
    if isAgain { abandon(with: failure(of: number, "ended at the second signal")) }
  }

  /// Whether something goes on that must not be cut off.
  private static func mustFinish(_ state: inout State) -> Bool {
    state.mustFinishUntil.map { ContinuousClock.now < $0 } ?? false
  }

  private static func tick() {
    let number = state.withLock { state -> Int32? in
      guard let signal = state.signal, !mustFinish(&state) else { return nil }
      return state.grace?.tick() == true ? signal.number : nil
    }
    if let number { abandon(with: failure(of: number, "ended before all was closed")) }
  }

  private static func failure(of number: Int32, _ words: String) -> CommandFailure {
    number == SIGINT
      ? CommandFailure(.interrupted, "interrupted; \(words)")
      : CommandFailure(.terminated, "terminated; \(words)")
  }

  /// Writes the reports, as far as that goes in time, and ends the process. What they wait for may hold only their thread.
  private static func abandon(with failure: CommandFailure) -> Never {
    let words = state.withLock { state in
      defer { state.lastWords = [:] }
      return state.lastWords.sorted { $0.key < $1.key }.map(\.value)
    }
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      words.forEach { $0() }
      Output.note("notibot: \(failure)")
      done.signal()
    }
    _ = done.wait(timeout: .now() + .milliseconds(lastWordsLimitMs))
    KeyTerminal.leave()
    _exit(failure.status.rawValue)
  }
}

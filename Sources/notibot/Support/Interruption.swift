import Dispatch
import Foundation
import SerialLink
import Synchronization

/// Turns SIGINT and SIGTERM, and the loss of stdout, into cancellation of a command, so that it closes its port on the
/// way out. A second signal ends the process at once.
enum Interruption {
  /// Waits until this task is cancelled.
  static func untilCancelled() async {
    // Nothing comes on this stream; it ends with the task.
    let (never, continuation) = AsyncStream<Never>.makeStream()
    for await _ in never {}
    continuation.finish()
  }

  private static let work = Mutex<(@Sendable () -> Void)?>(nil)

  /// Runs `body` and cancels it when a signal comes, or when stdout takes no more.
  ///
  /// - Returns: what `body` returned.
  /// - Throws: what `body` threw; after a signal `CommandFailure` with `interrupted` or `terminated`; `Output.Loss`.
  static func cancelling<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let task = Task { try await body() }
    work.withLock { $0 = { task.cancel() } }
    let received = Mutex<Int32?>(nil)
    let sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        let isFirst = received.withLock { seen in
          defer { seen = seen ?? number }
          return seen == nil
        }
        if !isFirst {
          KeyTerminal.leave()
          _exit(128 + number)
        }
        task.cancel()
      }
      source.resume()
      return source
    }
    defer { sources.forEach { $0.cancel() } }
    let outcome = await task.result
    work.withLock { $0 = nil }
    switch received.withLock({ $0 }) {
    case SIGINT?: throw CommandFailure(.interrupted, "interrupted")
    case SIGTERM?: throw CommandFailure(.terminated, "terminated")
    case _:
      try Output.checkTaken()
      return try outcome.get()
    }
  }

  /// Cancels what runs, if anything does.
  static func cancel() {
    work.withLock { $0 }?()
  }
}

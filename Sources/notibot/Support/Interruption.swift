import Dispatch
import Foundation
import Synchronization

/// Turns SIGINT and SIGTERM into cancellation of a command, so that it closes its port on the way out.
/// A second signal ends the process at once.
enum Interruption {
  /// Runs `body` and cancels it when a signal comes.
  ///
  /// - Returns: what `body` returned.
  /// - Throws: what `body` threw, or `CommandFailure` with `interrupted` or `terminated` after a signal.
  static func cancelling<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let work = Task { try await body() }
    let received = Mutex<Int32?>(nil)
    let sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        let isFirst = received.withLock { seen in
          defer { seen = seen ?? number }
          return seen == nil
        }
        if !isFirst { _exit(128 + number) }
        work.cancel()
      }
      source.resume()
      return source
    }
    defer { sources.forEach { $0.cancel() } }
    let outcome = await work.result
    switch received.withLock({ $0 }) {
    case SIGINT?: throw CommandFailure(.interrupted, "interrupted")
    case SIGTERM?: throw CommandFailure(.terminated, "terminated")
    case _: return try outcome.get()
    }
  }
}

import Dispatch
import Glibc
import Synchronization

/// Writes text to a descriptor on a thread of its own, so that a reader that is stalled does not
/// block the callers: for servers. Text that the queue has no room for is dropped, and a line
/// reports how much as soon as there is room again.
package final class OutputQueue: Sendable {
  /// Standard error of a server.
  package static let errors = OutputQueue(STDERR_FILENO) {
    "\($0) lines were dropped, because standard error was not read\n"
  }

  /// Bytes of one write, at most.
  private static let writeBytes = 65_536

  private struct State {
    var waiting: [UInt8] = []
    /// Bytes that are being written.
    var leavingCount = 0
    var droppedLines = 0
    var isWriting = false
    var hasFailed = false

    var count: Int { waiting.count + leavingCount }
  }

  private let descriptor: Int32
  private let limitBytes: Int
  private let failure: @Sendable (Int32) -> Void
  private let dropped: @Sendable (Int) -> String
  private let writer = DispatchQueue(label: "notibot.output")
  private let state = Mutex(State())

  /// - Parameters:
  ///   - limitBytes: bytes that wait for the reader, at most.
  ///   - failure: called once, on the queue's thread, with the error's number when a write fails;
  ///     nothing is written after that.
  ///   - dropped: the text that reports dropped lines, with its line end.
  package init(
    _ descriptor: Int32, limitBytes: Int = 262_144, failure: @escaping @Sendable (Int32) -> Void = { _ in },
    dropped: @escaping @Sendable (Int) -> String
  ) {
    self.descriptor = descriptor
    self.limitBytes = limitBytes
    self.failure = failure
    self.dropped = dropped
  }

  /// Writes whole lines as soon as the reader takes them; does not wait.
  package func put(_ text: String) {
    let mustStart = state.withLock { state -> Bool in
      guard !state.hasFailed else { return false }
      guard state.count + text.utf8.count <= limitBytes else {
        state.droppedLines += text.utf8.count { $0 == UInt8(ascii: "\n") }
        return false
      }
      state.waiting += text.utf8
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if mustStart { writer.async { self.write() } }
  }

  /// Waits until everything is written, or the reader takes nothing for `stallLimitMs`.
  package func finish(stallLimitMs: Int = 500) {
    let end = DispatchSemaphore(value: 0)
    writer.async { end.signal() }
    var count = Int.max
    while end.wait(timeout: .now() + .milliseconds(stallLimitMs)) == .timedOut {
      let left = state.withLock(\.count)
      guard left < count else { return }
      count = left
    }
  }

  private func write() {
    while let next = next() {
      for start in stride(from: 0, to: next.count, by: Self.writeBytes) {
        let part = Array(next[start..<min(start + Self.writeBytes, next.count)])
        if let number = StandardStream.write(part, to: descriptor) {
          state.withLock { $0.hasFailed = true }
          return failure(number)
        }
        state.withLock { $0.leavingCount -= part.count }
      }
    }
  }

  /// What to write next; nil if there is nothing.
  private func next() -> [UInt8]? {
    state.withLock { state in
      if state.droppedLines > 0 {
        state.waiting += dropped(state.droppedLines).utf8
        state.droppedLines = 0
      }
      state.isWriting = !state.waiting.isEmpty
      guard state.isWriting else { return nil }
      let next = state.waiting
      (state.waiting, state.leavingCount) = ([], next.count)
      return next
    }
  }
}

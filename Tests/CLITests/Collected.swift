import Foundation
import Glibc
import Synchronization

/// The output of a stream so far, read on a separate thread.
final class Collected: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var hasEnded = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  /// More than any test's program prints.
  private static let limitBytes = 1 << 24

  private let state = Mutex(State())
  private let wake: Descriptor?

  /// - Parameters:
  ///   - source: nil for a stream that has already ended.
  ///   - onRead: called with the bytes of each read, on the reading thread.
  init(reading source: Descriptor?, onRead: @escaping @Sendable ([UInt8]) -> Void = { _ in }) {
    guard let source, let ends = try? Descriptor.pipe() else {
      wake = nil
      state.withLock { $0.hasEnded = true }
      return
    }
    wake = ends.write
    Thread.detachNewThread { [self] in
      while let bytes = source.read(unless: ends.read), !bytes.isEmpty {
        change { $0.bytes += bytes.prefix(Self.limitBytes - $0.bytes.count) }
        onRead(bytes)
      }
      source.close()
      change { $0.hasEnded = true }
    }
  }

  /// The output so far.
  func soFar() -> [UInt8] { state.withLock(\.bytes) }

  /// The complete output, when the stream has ended.
  func all() async -> String {
    await wait { $0.hasEnded ? String(decoding: $0.bytes, as: UTF8.self) : nil }
  }

  /// Returns when the output contains the text that often, or has ended.
  func contains(_ text: String, times: Int = 1) async -> Bool {
    await wait { state in
      let parts = String(decoding: state.bytes, as: UTF8.self).components(separatedBy: text)
      if parts.count > times { return true }
      return state.hasEnded ? false : nil
    }
  }

  /// The line with this number, from 0, when it is complete. Throws if the stream ends before.
  func line(_ index: Int) async throws -> String {
    let lines = await wait { state -> [Substring]? in
      let lines = String(decoding: state.bytes, as: UTF8.self).split(
        separator: "\n", omittingEmptySubsequences: false
      ).dropLast()
      return lines.count > index || state.hasEnded ? Array(lines) : nil
    }
    guard lines.count > index else {
      throw EndedEarly(expected: "line \(index + 1)", seen: lines.joined(separator: "\n"))
    }
    return String(lines[index])
  }

  /// Ends the reading and closes the stream.
  func stop() async {
    wake?.write([1])
    _ = await all()
  }

  struct EndedEarly: Error {
    var expected: String
    var seen: String
  }

  private func change(_ body: (inout State) -> Void) {
    let waiters = state.withLock { state in
      body(&state)
      defer { state.waiters = [] }
      return state.waiters
    }
    waiters.forEach { $0.resume() }
  }

  private func wait<Value: Sendable>(_ condition: @Sendable (State) -> Value?) async -> Value {
    while true {
      if let value = state.withLock({ condition($0) }) { return value }
      await withCheckedContinuation { continuation in
        // Do not miss output between the check above and this one.
        let isDue = state.withLock { state in
          if condition(state) != nil { return true }
          state.waiters.append(continuation)
          return false
        }
        if isDue { continuation.resume() }
      }
    }
  }
}

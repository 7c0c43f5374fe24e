import Foundation
import Glibc
import Synchronization

/// What a stream has brought so far, read on a thread of its own.
final class Collected: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var hasEnded = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  /// No test makes a program say more.
  private static let limitBytes = 1 << 24

  private let state = Mutex(State())
  private let wake: Descriptor?

  /// - Parameters:
  ///   - source: nil is a stream that has ended already.
  ///   - onRead: called with what each read brought, on the thread that reads.
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

  /// What has come until now.
  func soFar() -> [UInt8] { state.withLock(\.bytes) }

  /// The whole of it, when it has ended.
  func all() async -> String {
    await wait { $0.hasEnded ? String(decoding: $0.bytes, as: UTF8.self) : nil }
  }

  /// The line of this number, from 0, when it is there. Throws when the stream ends before.
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
        // What came between the look above and this one must not be slept through.
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

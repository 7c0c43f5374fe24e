import Synchronization

/// Limits the results that wait for a client of `forward --listen`: while there are many, its input
/// is not read. So a client that sends much at once waits for itself, and for nobody else.
package final class ForwardPace: Sendable {
  /// Results that are due or not taken yet, at most, when further input is read.
  private static let limit = 1024

  private struct State {
    var count = 0
    var hasEnded = false
    var waiting: CheckedContinuation<Void, Never>?

    var isOpen: Bool { hasEnded || count <= limit }
  }

  private let state = Mutex(State())

  package init() {}

  /// One more result is due.
  package func add() { state.withLock { $0.count += 1 } }

  /// One was taken, or is not due any more.
  package func remove() { change { $0.count -= 1 } }

  /// Nothing is written any more: `untilOpen` returns.
  package func end() { change { $0.hasEnded = true } }

  /// Waits until further input can be read. For one caller.
  package func untilOpen() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting = continuation }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  private func change(_ change: (inout State) -> Void) {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      change(&state)
      guard state.isOpen else { return nil }
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }
}

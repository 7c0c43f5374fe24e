import Synchronization
import Testing

/// Limits how many tests run processes in parallel: the limits of a session are real time, and too
/// many processes on few cores would miss them.
struct CrowdLimit: TestTrait, SuiteTrait, TestScoping {
  /// Enough to keep two cores busy while most tests wait.
  private static let gate = Gate(places: 6)

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    await Self.gate.enter()
    defer { Self.gate.leave() }
    try await function()
  }

  private final class Gate: Sendable {
    private struct State {
      var free: Int
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(places: Int) {
      state = Mutex(State(free: places))
    }

    func enter() async {
      await withCheckedContinuation { continuation in
        let isFree = state.withLock { state in
          if state.free == 0 {
            state.waiting.append(continuation)
            return false
          }
          state.free -= 1
          return true
        }
        if isFree { continuation.resume() }
      }
    }

    func leave() {
      let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
        if state.waiting.isEmpty {
          state.free += 1
          return nil
        }
        return state.waiting.removeFirst()
      }
      next?.resume()
    }
  }
}

extension Trait where Self == CrowdLimit {
  /// Waits for its turn.
  static var inTurn: CrowdLimit { CrowdLimit() }
}

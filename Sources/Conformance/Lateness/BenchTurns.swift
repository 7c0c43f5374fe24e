/// Decides how many cases run at once on the boards of one computer.
///
/// Each board has cases of its own, and all need the same processors. If the computer is too slow
/// for all of them, each case is late, runs again, and makes the others late: so a repetition runs
/// alone, and after a late run fewer cases run at once. States: open → limited, with fewer after
/// each late run and one more after as many calm ones as the limit.
package actor BenchTurns {
  /// The permission for one run.
  package struct Turn: Sendable {
    var isAlone: Bool
    /// Counts the changes of the limit.
    var generation: Int
  }

  private struct Waiter {
    var isAlone: Bool
    var continuation: CheckedContinuation<Turn, Never>
  }

  /// The one that all runners of this process share.
  package static let ofProcess = BenchTurns()

  /// Cases at once, at most; nil: any number.
  package private(set) var limit: Int?
  private(set) var running = 0
  private var isOneAlone = false
  private var waiters: [Waiter] = []
  private var generation = 0
  private var calmCount = 0

  package init() {}

  /// Waits for the permission to run; those who wait get it in turn. The caller ends it.
  package func begin(alone isAlone: Bool) async -> Turn {
    if waiters.isEmpty, hasRoom(isAlone) { return acquire(isAlone) }
    return await withCheckedContinuation { continuation in
      waiters.append(Waiter(isAlone: isAlone, continuation: continuation))
    }
  }

  /// A run has ended; `isLate`: it was late, and did not decide its case.
  package func end(_ turn: Turn, isLate: Bool) {
    record(turn, isLate)
    running -= 1
    if turn.isAlone { isOneAlone = false }
    while let next = waiters.first, hasRoom(next.isAlone) {
      waiters.removeFirst()
      next.continuation.resume(returning: acquire(next.isAlone))
    }
  }

  /// Whether a run could begin now, if nobody waited.
  func hasRoom(_ isAlone: Bool) -> Bool {
    !isOneAlone && (isAlone ? running == 0 : running < limit ?? .max)
  }

  private func acquire(_ isAlone: Bool) -> Turn {
    running += 1
    isOneAlone = isAlone
    return Turn(isAlone: isAlone, generation: generation)
  }

  /// A run that was alone says nothing about the limit, nor does one that began before the limit
  /// changed.
  private func record(_ turn: Turn, _ isLate: Bool) {
    guard !turn.isAlone, turn.generation == generation else { return }
    if isLate {
      guard running > 1 else { return }
      set(running / 2)
    } else if let limit {
      calmCount += 1
      if calmCount >= limit { set(limit + 1) }
    }
  }

  private func set(_ newLimit: Int) {
    limit = newLimit
    generation += 1
    calmCount = 0
  }
}

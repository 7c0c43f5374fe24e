package import NotibotHost
import NotibotProtocol
import Synchronization

/// Journals of which one bit changes while they are not in use. Each run is decided by its seed
/// alone.
///
/// A journal goes through commits, kills, power failures and full disks. Then a bit of the database
/// or of its log is flipped, in one of eight runs none, and the journal is opened. Either it has
/// everything that was committed, or it is refused as damaged, its files are unchanged, and the
/// salvaged contents are what was committed.
package enum RotSimulation {
  /// The result of opening.
  package enum Result: String, Equatable, Sendable {
    /// It contains what was committed.
    case equal
    /// It was refused, and not changed.
    case detected
    /// A rule was broken.
    case broken
  }

  /// The result of one run.
  package struct Outcome: Equatable, Sendable {
    package var seed: UInt64
    /// The file of which a bit was flipped; nil if none was.
    package var file: RotDisk.File?
    package var bit: UInt64?
    package var access: Journal.Access
    package var result: Result
    /// The rule that was broken, or the observation.
    package var detail: String
    package var commits: Int
    /// Notifications in the refused journal, and how many of them were salvaged.
    package var refusedEntries = 0
    package var salvagedEntries = 0
    /// Whether the salvage claims to be complete, or nothing was refused.
    package var isSalvageComplete = true
  }

  /// The results of many runs.
  package struct Summary: Equatable, Sendable {
    package var runs = 0
    package var commits = 0
    package var controls = 0
    package var databaseFlips = 0
    package var logFlips = 0
    package var equal = 0
    package var detectedInDatabase = 0
    package var detectedInLog = 0
    package var refusedEntries = 0
    package var salvagedEntries = 0
    package var completeSalvages = 0
    package var brokenCount = 0
    /// The first ones, in the order of their seeds.
    package var broken: [Outcome] = []

    package init() {}

    mutating func add(_ outcome: Outcome) {
      runs += 1
      commits += outcome.commits
      switch outcome.file {
      case nil: controls += 1
      case .database: databaseFlips += 1
      case .log: logFlips += 1
      }
      switch outcome.result {
      case .equal: equal += 1
      case .detected:
        if outcome.file == .log { detectedInLog += 1 } else { detectedInDatabase += 1 }
        if outcome.isSalvageComplete { completeSalvages += 1 }
        refusedEntries += outcome.refusedEntries
        salvagedEntries += outcome.salvagedEntries
      case .broken:
        brokenCount += 1
        broken = Array((broken + [outcome]).sorted { $0.seed < $1.seed }.prefix(20))
      }
    }
  }

  /// Runs one seed.
  package static func run(seed: UInt64) -> Outcome {
    var life = RotLife(seed: seed)
    return life.outcome()
  }

  /// Runs many seeds, several in parallel; the summary is the same for any `jobs`.
  /// - Parameters:
  ///   - jobs: the number of parallel runs, 1 or more.
  ///   - progress: called with the number of completed runs, by any of the jobs.
  package static func run(
    _ seeds: ClosedRange<UInt64>, jobs: Int, progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async -> Summary {
    let work = Work(seeds)
    await withTaskGroup { group in
      for _ in 0..<max(1, jobs) {
        group.addTask {
          while !Task.isCancelled, let seed = work.next() { progress(work.finish(run(seed: seed))) }
        }
      }
    }
    return work.summary
  }

  /// The shared state of the jobs.
  private final class Work: Sendable {
    private struct State {
      var next: UInt64?
      var summary = Summary()
    }

    private let last: UInt64
    private let state: Mutex<State>

    init(_ seeds: ClosedRange<UInt64>) {
      last = seeds.upperBound
      state = Mutex(State(next: seeds.lowerBound))
    }

    func next() -> UInt64? {
      state.withLock { state in
        let seed = state.next
        state.next = seed.flatMap { $0 < last ? $0 + 1 : nil }
        return seed
      }
    }

    /// Returns the number of completed runs.
    func finish(_ outcome: Outcome) -> Int {
      state.withLock { state in
        state.summary.add(outcome)
        return state.summary.runs
      }
    }

    var summary: Summary { state.withLock { $0.summary } }
  }
}

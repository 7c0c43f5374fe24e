package import DeviceEmulator
import NotibotProtocol
import Synchronization

/// Simulated runs, each decided by its seed alone.
package enum Simulation {
  /// The result of one run.
  package struct Outcome: Equatable, Sendable {
    package var seed: UInt64
    package var profile: String
    package var variant: Scenario.Variant
    /// The first rule that was broken; nil if all held.
    package var violation: Violation?
    /// How many steps of the scenario had begun by then.
    package var step: Int
    package var counts: SimulationCounts
    /// The trace, if it was requested.
    package var trace: [String]
  }

  /// The selected runs.
  package struct Selection: Equatable, Sendable {
    package var seeds: ClosedRange<UInt64>
    /// The only profile; drawn from each seed if nil.
    package var profile: DeviceProfile?
    /// The only variant; drawn from each seed if nil.
    package var variant: Scenario.Variant?

    package init(
      seeds: ClosedRange<UInt64>, profile: DeviceProfile? = nil, variant: Scenario.Variant? = nil
    ) {
      self.seeds = seeds
      self.profile = profile
      self.variant = variant
    }
  }

  /// The results of many runs.
  package struct Summary: Equatable, Sendable {
    /// The maximum number of failures that are kept individually.
    package static let failuresLimit = 100

    package var counts = SimulationCounts()
    package var failuresCount = 0
    /// Ordered by seed, the first ones.
    package var failures: [Outcome] = []

    package init() {}

    mutating func add(_ outcome: Outcome) {
      counts.add(outcome.counts)
      guard outcome.violation != nil else { return }
      failuresCount += 1
      failures.append(outcome)
      failures.sort { $0.seed < $1.seed }
      failures = Array(failures.prefix(Self.failuresLimit))
    }
  }

  /// Runs one seed.
  package static func run(
    seed: UInt64, profile: DeviceProfile? = nil, variant: Scenario.Variant? = nil, mutant: WorldMutant? = nil,
    isTraced: Bool = false
  ) -> Outcome {
    run(Scenario(seed: seed, profile: profile, variant: variant), mutant: mutant, isTraced: isTraced)
  }

  /// Runs a scenario.
  package static func run(
    _ scenario: Scenario, mutant: WorldMutant? = nil, isTraced: Bool = false
  ) -> Outcome {
    let world = SimulatedWorld(scenario: scenario, mutant: mutant, isTraced: isTraced)
    var violation: Violation?
    do {
      try world.run()
    } catch {
      violation = error
    }
    var counts = world.counts
    counts.runs = 1
    counts.virtualTime = world.now - .zero
    return Outcome(
      seed: scenario.seed, profile: scenario.profile.name, variant: scenario.variant, violation: violation,
      step: world.nextStep, counts: counts, trace: world.trace.text)
  }

  /// Runs many seeds, several in parallel; the summary is the same for any `jobs`.
  /// - Parameters:
  ///   - jobs: the number of parallel runs. 1 or more.
  ///   - isOver: called before each run; true ends the work early.
  ///   - progress: called with the number of completed runs, by one caller at a time.
  package static func run(
    _ selection: Selection, jobs: Int, unless isOver: @escaping @Sendable () -> Bool = { false },
    progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async -> Summary {
    let work = Work(selection: selection, progress: progress)
    await withTaskGroup { group in
      for _ in 0..<max(1, jobs) {
        group.addTask {
          while !Task.isCancelled, !isOver(), let seed = work.next() {
            work.finish(run(seed: seed, profile: selection.profile, variant: selection.variant))
          }
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
    private let progress: @Sendable (Int) -> Void

    init(selection: Selection, progress: @escaping @Sendable (Int) -> Void) {
      last = selection.seeds.upperBound
      state = Mutex(State(next: selection.seeds.lowerBound))
      self.progress = progress
    }

    func next() -> UInt64? {
      state.withLock { state in
        let seed = state.next
        state.next = seed.flatMap { $0 < last ? $0 + 1 : nil }
        return seed
      }
    }

    func finish(_ outcome: Outcome) {
      state.withLock { state in
        state.summary.add(outcome)
        progress(state.summary.counts.runs)
      }
    }

    var summary: Summary { state.withLock { $0.summary } }
  }
}

import ArgumentParser
import Commands
import DeviceEmulator
import Foundation
import SerialLink
import Simulation
import Synchronization

/// `notibot-dev simulate`: host, line, device and disk in virtual time, with injected faults of
/// every kind.
struct SimulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Search simulated runs for lost and duplicated notifications.",
    discussion: """
      Each seed is one run in virtual time: notifications are submitted while line, device, plug, host and disk fail; \
      then all faults stop, and the display must show exactly the expected notifications. For a run that breaks a rule \
      the command to reproduce it is printed.
      """)

  @Option(
    help: ArgumentHelp(
      "Seeds, one run each: a range, or a count from 1.", valueName: "first..last|number"))
  var seeds = "1..1000"

  @Option(
    help: ArgumentHelp("Run only one of N equal parts of the seeds, such as 2/8.", valueName: "part/N"))
  var shard: String?

  @Option(help: ArgumentHelp("Run only this seed.", valueName: "number"))
  var seed: UInt64?

  @Flag(help: "With --seed: print the events of the run, one per line.")
  var trace = false

  @Option(
    help: ArgumentHelp("Time to run, ignoring the last seed of --seeds, 0.01-100000.", valueName: "minutes"))
  var minutes: Double?

  @Option(
    help: ArgumentHelp("Device profile (default: chosen by the seed).", valueName: "name"),
    completion: .list(DeviceProfile.all.map(\.name)))
  var profile: String?

  @Option(help: ArgumentHelp("Variant (default: chosen by the seed).", valueName: "name"))
  var variant: Scenario.Variant?

  @Option(
    help: ArgumentHelp("Runs in parallel, 1-256 (default: one per processor).", valueName: "number"))
  var jobs: Int?

  @Flag(
    help: ArgumentHelp(
      "Test outbox files with a flipped bit instead.",
      discussion: """
        Each seed is one outbox that commits, is killed and loses power; then one bit of the database or its log is \
        flipped. The outbox must hold every committed change, or be refused and left unchanged.
        """))
  var rot = false

  @Flag(help: "Print one JSON document.")
  var json = false

  func run() async throws {
    guard seed != nil || !trace else {
      throw Failure(.usage, "--trace requires one run", remedy: "choose it with --seed N")
    }
    if rot { return try await flipBits() }
    if trace { return try showRun() }
    var selection = Simulation.Selection(
      seeds: try chosenSeeds(), profile: try chosenProfile(), variant: variant)
    let jobs = try chosenJobs()
    var end: ContinuousClock.Instant?
    if let minutes {
      guard (0.01...100_000).contains(minutes) else {
        throw Failure(.usage, "--minutes must be 0.01 to 100000", remedy: "choose another time")
      }
      selection.seeds = selection.seeds.lowerBound...UInt64.max
      end = .now + .seconds(minutes * 60)
    }
    try await perform(selection, jobs: jobs, until: end)
  }

  private func perform(
    _ selection: Simulation.Selection, jobs: Int, until end: ContinuousClock.Instant?
  ) async throws {
    let start = ContinuousClock.now
    let total = end == nil ? count(of: selection.seeds) : 1000
    let length = minutes.map { $0 * 60 }
    let progress = Mutex(Progress("simulate", total: total, unit: end == nil ? "runs" : nil))
    let summary = try await Interruption.cancelling {
      await Simulation.run(selection, jobs: jobs, unless: { end.map { ContinuousClock.now >= $0 } ?? false })
      {
        done in
        let passed = length.map { Int((ContinuousClock.now - start) / .seconds(1) / $0 * 1000) }
        progress.withLock { $0.update(min(total, passed ?? done)) }
      }
    }
    let report = SimulationReport(
      summary, selection: selection, jobs: jobs, seconds: (ContinuousClock.now - start) / .seconds(1))
    try report.show(asJSON: json)
    try conclude(summary)
  }

  private func flipBits() async throws {
    guard !trace, minutes == nil, profile == nil, variant == nil else {
      throw Failure(
        .usage, "--rot can be combined only with --seeds, --seed, --jobs and --json",
        remedy: "omit the other options")
    }
    let (seeds, jobs, start) = (try chosenSeeds(), try chosenJobs(), ContinuousClock.now)
    let total = count(of: seeds)
    let progress = Mutex(Progress("simulate", total: total, unit: "runs"))
    let summary = try await Interruption.cancelling {
      await RotSimulation.run(seeds, jobs: jobs) { done in progress.withLock { $0.update(min(total, done)) } }
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try RotReport(summary, seeds: seeds, seconds: seconds).show(asJSON: json)
    guard let first = summary.broken.first else { return }
    throw Failure(
      .testFailed, "\(summary.brokenCount) of \(summary.runs) runs broke a rule",
      remedy: "reproduce the first with: notibot-dev simulate --rot --seed \(first.seed)")
  }

  private func conclude(_ summary: Simulation.Summary) throws {
    guard let first = summary.failures.first else { return }
    throw Failure(
      .testFailed, "\(summary.failuresCount) of \(summary.counts.runs) runs broke a rule",
      remedy: "reproduce the first with: \(replay(of: first.seed))")
  }

  private func showRun() throws {
    let outcome = Simulation.run(
      seed: seed ?? 0, profile: try chosenProfile(), variant: variant, isTraced: true)
    for line in outcome.trace { Output.data(line.printable) }
    guard let violation = outcome.violation else {
      return Output.note(
        "seed \(outcome.seed), \(outcome.profile), \(outcome.variant.rawValue): all rules held")
    }
    throw Failure(.testFailed, SimulationReport.line(for: outcome, violation).printable)
  }

  private func replay(of seed: UInt64) -> String {
    "notibot-dev simulate --seed \(seed) --trace" + (profile.map { " --profile \($0)" } ?? "")
      + (variant.map { " --variant \($0.rawValue)" } ?? "")
  }

  // MARK: Options

  private func chosenSeeds() throws -> ClosedRange<UInt64> {
    if let seed { return seed...seed }
    let all = try allSeeds()
    guard let shard else { return all }
    let numbers = shard.split(separator: "/", omittingEmptySubsequences: false).map { UInt64($0) }
    let last = all.upperBound - all.lowerBound
    guard numbers.count == 2, let part = numbers[0], let parts = numbers[1], (1...10_000).contains(parts),
      (1...parts).contains(part), last >= parts - 1, last < 1 << 48, all.upperBound < .max, minutes == nil
    else {
      throw Failure(
        .usage, "'\(shard.printable)' is not a part of the seeds",
        remedy: "use I/N with I from 1 to N, at least N seeds, and no --minutes, for example --shard 2/8")
    }
    // Bounds that differ by at most one seed in size.
    let bound = { (part: UInt64) in all.lowerBound + (last + 1) * part / parts }
    return bound(part - 1)...bound(part) - 1
  }

  private func allSeeds() throws -> ClosedRange<UInt64> {
    if let count = UInt64(seeds), count > 0 { return 1...count }
    let parts = seeds.split(separator: "..", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let first = UInt64(parts[0]), let last = UInt64(parts[1]), first <= last else {
      throw Failure(
        .usage, "'\(seeds.printable)' is not a range of seeds",
        remedy: "use a range or a count, for example --seeds 1..1000 or --seeds 1000")
    }
    return first...last
  }

  /// How many runs that is; at most `Int.max`.
  private func count(of seeds: ClosedRange<UInt64>) -> Int {
    min(Int.max - 1, Int(clamping: seeds.upperBound - seeds.lowerBound)) + 1
  }

  private func chosenProfile() throws -> DeviceProfile? {
    guard let profile else { return nil }
    guard let named = DeviceProfile.named(profile) else {
      let names = Scenario.profiles.map(\.name).joined(separator: ", ")
      throw Failure(
        .usage, "unknown profile '\(profile.printable)'", remedy: "choose one of: \(names)")
    }
    return named
  }

  private func chosenJobs() throws -> Int {
    let wanted = jobs ?? ProcessInfo.processInfo.activeProcessorCount
    guard (1...256).contains(wanted) else {
      throw Failure(.usage, "--jobs must be 1 to 256", remedy: "omit it for one per processor")
    }
    return wanted
  }
}

extension Scenario.Variant: ExpressibleByArgument {}

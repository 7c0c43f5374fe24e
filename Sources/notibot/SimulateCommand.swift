import ArgumentParser
import Conformance
import DeviceEmulator
import Foundation
import SerialLink
import Synchronization

/// `notibot simulate`: host, wire, device and disk in virtual time, with everything going wrong that can.
struct SimulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Looks for lost and doubled notifications in simulated runs.",
    discussion: """
      Each seed is one run in virtual time: notifications are submitted while wire, device, plug, host and disk fail, \
      then all faults stop, and what the display shows must be what it should. A run that breaks a rule is named, with \
      the command that shows it again.

      \(ExitStatus.helpTable)
      """)

  @Option(
    help: ArgumentHelp(
      "The seeds, one run each: a range, or how many, counted from 1.", valueName: "first..last|number"))
  var seeds = "1..1000"

  @Option(help: ArgumentHelp("Only this seed.", valueName: "number"))
  var seed: UInt64?

  @Flag(help: "Print what happens in the run, line by line. With --seed.")
  var trace = false

  @Option(
    help: ArgumentHelp("Go on for so long, whatever the last seed of --seeds.", valueName: "number"))
  var minutes: Double?

  @Option(help: ArgumentHelp("Only this device; drawn from the seed without it.", valueName: "name"))
  var profile: String?

  @Option(help: ArgumentHelp("Only this variant; drawn from the seed without it.", valueName: "name"))
  var variant: Scenario.Variant?

  @Option(
    help: ArgumentHelp("How many runs at once; one for each processor without it.", valueName: "number"))
  var jobs: Int?

  @Flag(
    help: ArgumentHelp(
      "Flip a bit in the outbox's file instead, and open it.",
      discussion: """
        Each seed is one journal that commits, is killed and loses its power; then one bit of the database or its log \
        flips. It has to hold all that was committed, or to be refused and left as it is.
        """))
  var rot = false

  @Flag(help: "Print one JSON document.")
  var json = false

  func run() async throws {
    guard seed != nil || !trace else {
      throw CommandFailure(.usage, "--trace shows one run", remedy: "say which with --seed N")
    }
    if rot { return try await flipBits() }
    if trace { return try showRun() }
    var selection = Simulation.Selection(
      seeds: try chosenSeeds(), profile: try chosenProfile(), variant: variant)
    let jobs = try chosenJobs()
    var end: ContinuousClock.Instant?
    if let minutes {
      guard (0.01...100_000).contains(minutes) else {
        throw CommandFailure(.usage, "--minutes is 0.01 to 100000", remedy: "choose another time")
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
    let total = end == nil ? Int(clamping: selection.seeds.upperBound - selection.seeds.lowerBound) + 1 : 1000
    let length = minutes.map { $0 * 60 }
    let progress = Mutex(Progress("simulate", total: total))
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
      throw CommandFailure(
        .usage, "--rot goes with --seeds, --seed, --jobs and --json", remedy: "leave the others out")
    }
    let (seeds, jobs, start) = (try chosenSeeds(), try chosenJobs(), ContinuousClock.now)
    let total = Int(clamping: seeds.upperBound - seeds.lowerBound) + 1
    let progress = Mutex(Progress("simulate", total: total))
    let summary = try await Interruption.cancelling {
      await RotSimulation.run(seeds, jobs: jobs) { done in progress.withLock { $0.update(min(total, done)) } }
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try RotReport(summary, seeds: seeds, seconds: seconds).show(asJSON: json)
    guard let first = summary.broken.first else { return }
    throw CommandFailure(
      .testFailed, "\(summary.brokenCount) of \(summary.runs) runs broke a rule",
      remedy: "see the first one with: notibot simulate --rot --seed \(first.seed)")
  }

  private func conclude(_ summary: Simulation.Summary) throws {
    guard let first = summary.failures.first else { return }
    throw CommandFailure(
      .testFailed, "\(summary.failuresCount) of \(summary.counts.runs) runs broke a rule",
      remedy: "see the first one with: \(replay(of: first.seed))")
  }

  private func showRun() throws {
    let outcome = Simulation.run(
      seed: seed ?? 0, profile: try chosenProfile(), variant: variant, isTraced: true)
    for line in outcome.trace { Output.data(line.printable) }
    guard let violation = outcome.violation else {
      return Output.note(
        "seed \(outcome.seed), \(outcome.profile), \(outcome.variant.rawValue): all rules held")
    }
    throw CommandFailure(.testFailed, SimulationReport.line(for: outcome, violation).printable)
  }

  private func replay(of seed: UInt64) -> String {
    "notibot simulate --seed \(seed) --trace" + (profile.map { " --profile \($0)" } ?? "")
      + (variant.map { " --variant \($0.rawValue)" } ?? "")
  }

  // MARK: Options

  private func chosenSeeds() throws -> ClosedRange<UInt64> {
    if let seed { return seed...seed }
    if let count = UInt64(seeds), count > 0 { return 1...count }
    let parts = seeds.split(separator: "..", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let first = UInt64(parts[0]), let last = UInt64(parts[1]), first <= last else {
      throw CommandFailure(
        .usage, "'\(seeds.printable)' is not a range of seeds",
        remedy: "write it as --seeds 1..1000 or --seeds 1000")
    }
    return first...last
  }

  private func chosenProfile() throws -> DeviceProfile? {
    guard let profile else { return nil }
    guard let named = DeviceProfile.named(profile) else {
      let names = Scenario.profiles.map(\.name).joined(separator: ", ")
      throw CommandFailure(
        .usage, "there is no profile '\(profile.printable)'", remedy: "choose one of: \(names)")
    }
    return named
  }

  private func chosenJobs() throws -> Int {
    let wanted = jobs ?? ProcessInfo.processInfo.activeProcessorCount
    guard (1...256).contains(wanted) else {
      throw CommandFailure(.usage, "--jobs is 1 to 256", remedy: "leave it out for one on each processor")
    }
    return wanted
  }
}

extension Scenario.Variant: ExpressibleByArgument {}

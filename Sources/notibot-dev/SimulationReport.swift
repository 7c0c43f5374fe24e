import Commands
import Foundation
import NotibotProtocol
import SerialLink
import Simulation

/// The report of `notibot-dev simulate`.
struct SimulationReport: Encodable {
  private struct Failure: Encodable {
    var seed: UInt64
    var profile: String
    var variant: String
    var step: Int
    var seconds: Double
    var rule: String
    var detail: String
  }

  private var schema = "notibot.simulation"
  private var version = 1
  private var firstSeed: UInt64
  private var lastSeed: UInt64
  private var jobs: Int
  private var runs: Int
  private var wallSeconds: Double
  private var virtualSeconds: Double
  private var notifications: Int
  private var updates: Int
  private var removals: Int
  private var repeated: Int
  private var duplicates: Int
  private var expired: Int
  private var presses: Int
  private var actions: Int
  private var staleActions: Int
  private var delivered: Int
  private var shown: Int
  private var shownAgain: Int
  private var sessions: Int
  private var resends: Int
  private var reboots: Int
  private var unplugs: Int
  private var badOpenings: Int
  private var hostKills: Int
  private var powerLosses: Int
  private var commits: Int
  private var commitsFailed: Int
  private var lost: Int
  private var doubled: Int
  private var stuck: Int
  private var failures: Int
  private var failed: [Failure]

  init(_ summary: Simulation.Summary, selection: Simulation.Selection, jobs: Int, seconds: Double) {
    let counts = summary.counts
    self.jobs = jobs
    firstSeed = selection.seeds.lowerBound
    // With a time limit the last seed is the one that was reached.
    lastSeed = firstSeed + min(selection.seeds.upperBound - firstSeed, UInt64(max(1, counts.runs)) - 1)
    runs = counts.runs
    wallSeconds = seconds
    virtualSeconds = counts.virtualTime / .seconds(1)
    notifications = counts.notifications
    updates = counts.updates
    removals = counts.removals
    repeated = counts.repeated
    duplicates = counts.duplicates
    expired = counts.expired
    presses = counts.presses
    actions = counts.actions
    staleActions = counts.staleActions
    delivered = counts.delivered
    shown = counts.shown
    shownAgain = counts.shown - counts.announced
    sessions = counts.sessions
    resends = counts.resends
    reboots = counts.reboots
    unplugs = counts.unplugs
    badOpenings = counts.badOpenings
    hostKills = counts.kills
    powerLosses = counts.powerLosses
    commits = counts.commits
    commitsFailed = counts.failedCommits
    lost = summary.failures.count { $0.violation?.rule == .nothingLost }
    doubled = summary.failures.count {
      $0.violation?.rule == .storedOnce || $0.violation?.rule == .announcedOnce
    }
    stuck = summary.failures.count {
      [.neverStuck, .noBusyLoop, .outboxIdle].contains($0.violation?.rule)
    }
    failures = summary.failuresCount
    failed = summary.failures.compactMap { outcome in
      outcome.violation.map {
        Failure(
          seed: outcome.seed, profile: outcome.profile, variant: outcome.variant.rawValue, step: outcome.step,
          seconds: Double($0.time.nanoseconds) / 1e9, rule: $0.rule.rawValue, detail: $0.detail)
      }
    }
  }

  func show(asJSON: Bool) throws {
    if asJSON { return try Output.json(self) }
    let speed = wallSeconds > 0 ? virtualSeconds / wallSeconds : 0
    let rows: [(String, String)] = [
      ("seeds", "\(firstSeed)..\(lastSeed) (\(runs) runs, \(jobs) in parallel)"),
      (
        "time",
        String(
          format: "%.0f s for %.0f s of virtual time, %.0f times as fast", wallSeconds, virtualSeconds, speed)
      ),
      ("notifications", "\(notifications), \(updates) updates, \(removals) removals"),
      ("repeated", "\(repeated) with a key, \(duplicates) of them accepted before"),
      ("expired", "\(expired) before the device had them"),
      ("delivered", "\(delivered)"),
      ("presses", "\(presses), of them reported as actions \(actions), \(staleActions) as stale"),
      ("shown", "\(shown), \(shownAgain) of them again or silently"),
      ("sessions", "\(sessions)"),
      ("retransmissions", "\(resends)"),
      ("reboots", "\(reboots)"),
      ("unplugs", "\(unplugs)"),
      ("bad openings", "\(badOpenings)"),
      ("host kills", "\(hostKills)"),
      ("power losses", "\(powerLosses)"),
      ("commits", "\(commits), \(commitsFailed) failed"),
      ("lost", "\(lost)"),
      ("doubled", "\(doubled)"),
      ("stuck", "\(stuck)"),
      ("failures", "\(failures)"),
    ]
    for (name, value) in rows {
      Output.data(name.padding(toLength: 15, withPad: " ", startingAt: 0) + value)
    }
    for failure in failed.prefix(20) { Output.data(Self.line(for: failure).printable) }
  }

  /// One line about a run that broke a rule.
  static func line(for outcome: Simulation.Outcome, _ violation: Violation) -> String {
    line(
      for: Failure(
        seed: outcome.seed, profile: outcome.profile, variant: outcome.variant.rawValue, step: outcome.step,
        seconds: Double(violation.time.nanoseconds) / 1e9, rule: violation.rule.rawValue,
        detail: violation.detail))
  }

  private static func line(for failure: Failure) -> String {
    "seed \(failure.seed), \(failure.profile), \(failure.variant), step \(failure.step), "
      + String(format: "%.3f s", failure.seconds) + ": broken: \(failure.rule) (\(failure.detail))"
  }
}

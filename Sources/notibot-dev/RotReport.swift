import Commands
import Foundation
import SerialLink
import Simulation

/// The report of `notibot-dev simulate --rot`.
struct RotReport: Encodable {
  struct Failure: Encodable {
    var seed: UInt64
    var file: String?
    var bit: UInt64?
    var detail: String

    init(_ outcome: RotSimulation.Outcome) {
      seed = outcome.seed
      file = outcome.file?.rawValue
      bit = outcome.bit
      detail = outcome.detail
    }
  }

  private let schema = "notibot.simulation.rot"
  private let version = 1
  private var firstSeed: UInt64
  private var lastSeed: UInt64
  private var runs: Int
  private var wallSeconds: Double
  private var commits: Int
  private var controls: Int
  private var databaseFlips: Int
  private var logFlips: Int
  private var equal: Int
  private var detectedInDatabase: Int
  private var detectedInLog: Int
  private var completeSalvages: Int
  private var salvaged: Int
  private var refused: Int
  private var failures: Int
  private var failed: [Failure]

  init(_ summary: RotSimulation.Summary, seeds: ClosedRange<UInt64>, seconds: Double) {
    firstSeed = seeds.lowerBound
    lastSeed = seeds.upperBound
    runs = summary.runs
    wallSeconds = seconds
    commits = summary.commits
    controls = summary.controls
    databaseFlips = summary.databaseFlips
    logFlips = summary.logFlips
    equal = summary.equal
    detectedInDatabase = summary.detectedInDatabase
    detectedInLog = summary.detectedInLog
    completeSalvages = summary.completeSalvages
    salvaged = summary.salvagedEntries
    refused = summary.refusedEntries
    failures = summary.brokenCount
    failed = summary.broken.map(Failure.init)
  }

  func show(asJSON: Bool) throws {
    if asJSON { return try Output.json(self) }
    let detected = detectedInDatabase + detectedInLog
    let rows: [(String, String)] = [
      ("seeds", "\(firstSeed)..\(lastSeed) (\(runs) runs in \(Int(wallSeconds)) s)"),
      ("commits", "\(commits)"),
      ("flipped bits", "\(databaseFlips) in the database, \(logFlips) in the log, none in \(controls) runs"),
      ("equal", "\(equal)"),
      ("refused", "\(detected): \(detectedInDatabase) for the database, \(detectedInLog) for the log"),
      (
        "salvaged",
        "\(salvaged) of \(refused) notifications; all of them in \(completeSalvages) of \(detected) runs"
      ),
      ("failures", "\(failures)"),
    ]
    for (name, value) in rows {
      Output.data(name.padding(toLength: 15, withPad: " ", startingAt: 0) + value)
    }
    for failure in failed { Output.data(Self.line(for: failure).printable) }
  }

  /// One line about a run that broke a rule.
  static func line(for failure: Failure) -> String {
    let place = failure.file.map { ", bit \(failure.bit ?? 0) of \($0)" } ?? ", no bit flipped"
    return "seed \(failure.seed)\(place): broken: \(failure.detail)"
  }
}

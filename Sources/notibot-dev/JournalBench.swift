import Commands
import CSimulatedDisk
import Foundation
import NotibotHost
import SerialLink

/// Measures an outbox file.
struct JournalBench {
  /// The results.
  struct Report: Encodable, Sendable {
    struct Row: Encodable, Sendable {
      var batchSize: Int
      var commits: Int
      /// Of the file and its log, as SQLite asks for them.
      var syncs: Int
      var microsecondsPerNotification: Double
      var cpuMicrosecondsPerNotification: Double
      /// The same with a key for each notification, in turns with those without.
      var keyedMicrosecondsPerNotification: Double
      /// Throughput with keys, as a share of that without.
      var keyedThroughput: Double
    }

    let schema = "notibot.bench.journal"
    let version = 1
    var count: Int
    var textBytes: Int
    var batches: [Row]
    /// Time to open an empty journal, commit once and close it, on a disk without latency.
    var emptyLifeMicroseconds: Double

    /// As text.
    var text: String {
      let rows = batches.map { row in
        String(
          format: "%6d %9d %9d %17.1f %13.1f %14.1f %8.2f", row.batchSize, row.commits, row.syncs,
          row.microsecondsPerNotification, row.cpuMicrosecondsPerNotification,
          row.keyedMicrosecondsPerNotification, row.keyedThroughput)
      }
      return
        (["batch   commits     syncs  us/notification  CPU us/notif.  us with a key    ratio"] + rows + [
          String(format: "open, commit and close without a disk: %.0f us", emptyLifeMicroseconds)
        ]).joined(separator: "\n")
    }
  }

  private static let batchSizes = [1, 16, 256]
  private static let emptyLives = 200
  /// Turns with and without keys, of which the faster half counts.
  private static let turns = 4

  /// A file that does not exist yet; it is removed at the end.
  let path: String
  /// Notifications per batch size.
  let count: Int
  let textBytes: Int

  func run() throws -> Report {
    guard access(path, F_OK) != 0 else {
      throw Failure(
        .usage, "\(path.printable) already exists; a measurement would fill it with test notifications",
        remedy: "name a file that does not exist yet, on the disk to be measured")
    }
    let rows = try Self.batchSizes.map { try measure(batchSize: $0) }
    return Report(
      count: count, textBytes: textBytes, batches: rows, emptyLifeMicroseconds: try measureEmptyLife())
  }

  private func measure(batchSize: Int) throws -> Report.Row {
    let part = max(1, count / Self.turns)
    let plain = JournalLoad(count: part, batchSize: batchSize, textBytes: textBytes)
    let keyed = JournalLoad(count: part, batchSize: batchSize, textBytes: textBytes, hasKeys: true)
    var (plainCosts, keyedCosts): ([Cost], [Cost]) = ([], [])
    for turn in 0..<Self.turns {
      // Who begins alternates, too.
      if turn % 2 == 0 {
        plainCosts.append(try cost(of: plain))
        keyedCosts.append(try cost(of: keyed))
      } else {
        keyedCosts.append(try cost(of: keyed))
        plainCosts.append(try cost(of: plain))
      }
    }
    let load = JournalLoad(count: count, batchSize: batchSize, textBytes: textBytes)
    let batches = (count + batchSize - 1) / batchSize
    let (usual, withKeys) = (Cost.typical(of: plainCosts), Cost.typical(of: keyedCosts))
    return Report.Row(
      batchSize: batchSize, commits: batches * JournalLoad.commitsPerBatch, syncs: try syncs(of: load),
      microsecondsPerNotification: usual.microseconds, cpuMicrosecondsPerNotification: usual.cpuMicroseconds,
      keyedMicrosecondsPerNotification: withKeys.microseconds,
      keyedThroughput: withKeys.microseconds > 0 ? usual.microseconds / withKeys.microseconds : 0)
  }

  /// What a notification costs.
  private struct Cost {
    var microseconds: Double
    var cpuMicroseconds: Double

    /// The mean of the faster half: the rest was disturbed by other programs.
    static func typical(of costs: [Cost]) -> Cost {
      let best = costs.sorted { $0.microseconds < $1.microseconds }.prefix(max(1, costs.count / 2))
      return Cost(
        microseconds: best.reduce(0) { $0 + $1.microseconds } / Double(max(1, best.count)),
        cpuMicroseconds: best.reduce(0) { $0 + $1.cpuMicroseconds } / Double(max(1, best.count)))
    }
  }

  private func cost(of load: JournalLoad) throws -> Cost {
    let journal = try Journal(path: path, access: .forwarding)
    defer {
      journal.close()
      unlink(path)
    }
    let cpu = try CPUMeter(peer: nil)
    let start = ContinuousClock.now
    try load.run(through: journal)
    let seconds = (ContinuousClock.now - start).inSeconds
    return Cost(
      microseconds: seconds * 1e6 / Double(load.count),
      cpuMicroseconds: try cpu.seconds().own * 1e6 / Double(load.count))
  }

  /// A real disk does not report how often it was synced, so the same load runs on a simulated one.
  private func syncs(of load: JournalLoad) throws -> Int {
    let disk = try MeasuredDisk()
    let journal = try disk.open()
    let before = disk.syncs
    try load.run(through: journal)
    return disk.syncs - before
  }

  private func measureEmptyLife() throws -> Double {
    let load = JournalLoad(count: 1, batchSize: 1)
    let disk = try MeasuredDisk()
    try load.run(through: try disk.open())
    let start = ContinuousClock.now
    for _ in 0..<Self.emptyLives {
      let journal = try disk.open()
      try journal.apply([.header(JournalHeader(source: 1))])
      journal.close()
    }
    return (ContinuousClock.now - start).inSeconds * 1e6 / Double(Self.emptyLives)
  }
}

/// A simulated disk with the lifetime of this value.
private final class MeasuredDisk {
  private let id = UInt64.random(in: 1 << 32...UInt64.max >> 1)

  init() throws {
    let result = sd_create(id, 0)
    guard result == 0 else {
      throw Failure(.unfitEnvironment, "cannot simulate a disk (error \(-result))")
    }
  }

  deinit { sd_destroy(id) }

  var syncs: Int {
    var counters = sd_counters_t()
    return sd_counters(id, &counters) == 0 ? Int(counters.syncs) : 0
  }

  func open() throws -> Journal {
    try Journal(path: "/simulated/\(id)/outbox", access: .forwarding, sharing: .exclusive)
  }
}

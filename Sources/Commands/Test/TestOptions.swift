import ArgumentParser
import Conformance
import Foundation
import SerialLink

/// The options of `test` that select cases, repetitions and output.
struct TestOptions: ParsableArguments {
  /// A report is a few hundred kilobytes; of many boards some megabytes.
  private static let reportLimitBytes = 64 << 20
  private static let repetitionsRange = 1...100_000

  @Option(
    help: ArgumentHelp("Run only cases whose id, title, chapter or rule matches.", valueName: "regex"))
  var filter: String?

  @Option(
    help: ArgumentHelp("Skip cases whose id, title, chapter or rule matches.", valueName: "regex"))
  var exclude: String?

  @Option(
    help: ArgumentHelp(
      "Run only cases that did not pass in this JSON report of an earlier run, with its seed.",
      valueName: "file"),
    completion: .file())
  var rerunFailed: String?

  @Option(
    name: .customLong("repeat"),
    help: ArgumentHelp(
      "Runs of each case, 1-100000; stops at the first run that does not pass.",
      valueName: "number"))
  var repetitions = 1

  @Flag(help: "Also run the cases that wait for a long time; about 10 minutes longer on a board.")
  var slow = false

  @Flag(help: "Stop after the first case that does not pass.")
  var failFast = false

  @Flag(name: .shortAndLong, help: "Print only what does not pass, and the result.")
  var quiet = false

  @Flag(name: .shortAndLong, help: "Print a line per case.")
  var verbose = false

  @Flag(help: "Run the cases that detect most faults in 20 s on a board. It does not replace a whole run.")
  var quick = false

  @Option(
    help: ArgumentHelp(
      "Write the bytes of each case to this folder, also as captures for Wireshark.", valueName: "folder"),
    completion: .directory)
  var trace: String?

  func validate() throws {
    guard !(quiet && verbose) else { throw ValidationError("--quiet and --verbose exclude each other") }
    guard Self.repetitionsRange.contains(repetitions) else {
      throw ValidationError("--repeat must be 1 to 100000")
    }
  }

  var policy: RunPolicy { RunPolicy(repetitions: repetitions, endsAtFailure: failFast, waitsLong: slow) }

  /// What a run with `--quick` is called; nil without it.
  func part(_ cases: [Case], of suite: [Case]) -> String? {
    quick ? "--quick: \(cases.count) of \(suite.count) cases" : nil
  }

  /// The folder of `--trace`, of one board if there are several. Throws `Failure` if it
  /// cannot be written.
  func traceFolder(board: String? = nil) throws -> TraceFolder? {
    guard let trace else { return nil }
    do throws(Failure) {
      let folder = try TraceFolder(trace)
      guard let board else { return folder }
      return try TraceFolder("\(trace)/\(board.replacing("/", with: "_"))")
    } catch {
      throw Failure(.unfitEnvironment, error.message, remedy: error.remedy)
    }
  }

  /// What `--rerun-failed` repeats: as in its report, so that a fault that depends on the seed
  /// shows again.
  struct EarlierRun {
    var failedIDs: Set<String>
    var seed: UInt64?
    /// Enough to get to the round that failed.
    var repetitions: Int
  }

  /// `nil` without `--rerun-failed`. Throws `Failure` for an unusable report.
  func earlier() throws -> EarlierRun? {
    try rerunFailed.map { path in
      let report = try Self.report(in: path)
      let failed = report.failed
      return EarlierRun(
        failedIDs: Set(failed.map(\.id)), seed: report.seed ?? report.boards?.first?.seed,
        repetitions: min(failed.compactMap(\.runs).max() ?? 1, Self.repetitionsRange.upperBound))
    }
  }

  /// The selected cases of a suite. Throws `Failure` when no case is selected.
  func cases(of suite: [Case], _ earlier: EarlierRun?) throws -> [Case] {
    var cases: [Case]
    do {
      cases = try Selection.cases(matching: filter, in: suite)
      if let exclude { cases = try Selection.cases(cases, excluding: exclude) }
    } catch {
      throw Failure(.usage, error.message.printable, remedy: error.remedy)
    }
    guard !cases.isEmpty else {
      let what = exclude.map { "no case is left by --exclude '\($0.printable)'" }
      throw Failure(
        .usage, what ?? "no case matches '\((filter ?? "").printable)'",
        remedy: "list them all with: notibot test --list")
    }
    if let earlier, let rerunFailed {
      cases = cases.filter { earlier.failedIDs.contains($0.id) }
      guard !cases.isEmpty else {
        throw Failure(
          .usage, "\(rerunFailed.printable) has no selected case that did not pass",
          remedy: "omit --rerun-failed to run all cases")
      }
    }
    if quick {
      cases = FaultMatrix.measured.quick(cases)
      guard !cases.isEmpty else {
        throw Failure(
          .usage, "no case of --quick is selected", remedy: "omit --quick, or select other cases")
      }
    }
    return cases
  }

  private struct Earlier: Decodable {
    struct Entry: Decodable {
      var id: String
      var outcome: String
      var runs: Int?
    }

    var schema: String
    var seed: UInt64?
    var cases: [Entry]?
    var boards: [Earlier]?

    /// The cases that did not pass, on all boards.
    var failed: [Entry] {
      (cases ?? []).filter { $0.outcome == "failed" || $0.outcome == "errored" }
        + (boards ?? []).flatMap(\.failed)
    }
  }

  private static func report(in path: String) throws -> Earlier {
    func failure(_ reason: String) -> Failure {
      Failure(
        .usage, "cannot read \(path.printable): \(reason)",
        remedy: "use a report that was written by: notibot test --json FILE")
    }
    let bytes: [UInt8]
    do throws(Failure) {
      bytes = try RegularFile.read(path, limitBytes: reportLimitBytes)
    } catch {
      throw failure(error.message)
    }
    guard let report = try? JSONDecoder().decode(Earlier.self, from: Data(bytes)) else {
      throw failure("not a report of 'notibot test'")
    }
    guard report.schema.hasPrefix(JSONReport.schema) else {
      throw failure("its schema is '\(report.schema.printable)'")
    }
    return report
  }
}

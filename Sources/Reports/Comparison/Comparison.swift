package import SerialLink

/// What became better or worse between two sets of runs, beyond the noise of their repetitions.
///
/// A figure has changed if its medians differ by more than each of: 3 standard deviations of the
/// runs (both sets together; 2 if at least 5 runs on each side do not overlap), 5 % of the old
/// median, and what is too small to matter (`FigureRule`). With a single run on either side the
/// noise is unknown; then 20 % takes the place of both.
package struct Comparison: Equatable, Sendable {
  package static let deviationsLimit = 3.0
  /// The same if each new run is beyond all old ones, of `runsToSeparate` at least.
  package static let separateDeviationsLimit = 2.0
  package static let runsToSeparate = 5
  package static let leastShare = 0.05
  package static let unknownNoiseShare = 0.2

  package enum Verdict: String, Sendable, Codable {
    case better, worse, same
    /// Neither more nor less of it is better.
    case different
  }

  package struct Figure: Equatable, Sendable {
    package var name: String
    package var old: Double
    package var new: Double
    /// The difference from which on it would be a change.
    package var noise: Double
    package var runs: (old: Int, new: Int)
    package var verdict: Verdict

    /// The change relative to the old value; nil if that was 0.
    package var share: Double? { old == 0 ? nil : (new - old) / abs(old) }

    package static func == (left: Figure, right: Figure) -> Bool {
      left.name == right.name && left.old == right.old && left.new == right.new && left.noise == right.noise
        && left.runs == right.runs && left.verdict == right.verdict
    }
  }

  package struct CaseChange: Equatable, Sendable {
    package var id: String
    /// Runs that did not pass, of how many that were decided; in words.
    package var old: String
    package var new: String
    package var verdict: Verdict
  }

  package var kind: String
  package var figures: [Figure]
  package var cases: [CaseChange]
  /// Reasons not to trust it: other computers, single runs, incomplete runs.
  package var warnings: [String]
  /// New runs that were incomplete, while no old one was.
  package var isNewlyIncomplete: Bool

  package var isRegression: Bool {
    isNewlyIncomplete || !worse.isEmpty || cases.contains { $0.verdict == .worse }
  }
  package var worse: [Figure] { figures.filter { $0.verdict == .worse } }
  package var better: [Figure] { figures.filter { $0.verdict == .better } }

  /// - Throws: `Failure` if the two are of different kinds.
  package init(old: RunSet, new: RunSet) throws(Failure) {
    guard old.kind == new.kind else {
      throw Failure(
        .usage, "reports of \(old.kind) and of \(new.kind) cannot be compared",
        remedy: "compare reports of the same command")
    }
    guard old.parts == new.parts else {
      throw Failure(
        .usage, "a part of the suite (--quick) cannot be compared with another or a whole run",
        remedy: "run both with --quick, or both without it")
    }
    kind = old.kind
    figures = Set(old.figures.keys).intersection(new.figures.keys).sorted().compactMap { name in
      Self.figure(name, old.figures[name] ?? [], new.figures[name] ?? [])
    }
    cases = Set(old.outcomes.keys).union(new.outcomes.keys).sorted().compactMap { id in
      Self.change(of: id, old.outcomes[id] ?? [], new.outcomes[id] ?? [])
    }
    isNewlyIncomplete = old.troubles.isEmpty && !new.troubles.isEmpty
    warnings = Self.warnings(old, new, figures)
  }

  private static func warnings(_ old: RunSet, _ new: RunSet, _ figures: [Figure]) -> [String] {
    var warnings: [String] = []
    if old.places != new.places {
      let before = old.places.sorted().joined(separator: "; ")
      let after = new.places.sorted().joined(separator: "; ")
      warnings.append("the runs were made in different places: \(before) and \(after)")
    }
    if figures.contains(where: { min($0.runs.old, $0.runs.new) < 2 }) {
      warnings.append(
        "a single run on one side: its noise is unknown, \(Int(unknownNoiseShare * 100)) % is assumed")
    }
    warnings += old.troubles.map { "an old run is incomplete: \($0)" }
    return warnings + new.troubles.map { "a new run is incomplete: \($0)" }
  }

  // MARK: Figures

  static func figure(_ name: String, _ old: [Double], _ new: [Double]) -> Figure? {
    guard let before = median(old), let after = median(new) else { return nil }
    let rule = FigureRule(name: name)
    let noise: Double
    if old.count > 1, new.count > 1 {
      let deviation = (variance(old) + variance(new)).squareRoot()
      let limit = areSeparate(old, new) ? separateDeviationsLimit : deviationsLimit
      noise = max(limit * deviation, leastShare * abs(before), rule.least)
    } else {
      noise = max(unknownNoiseShare * abs(before), rule.least)
    }
    let verdict: Verdict
    if abs(after - before) <= noise {
      verdict = .same
    } else {
      switch rule.direction {
      case .higherIsBetter: verdict = after > before ? .better : .worse
      case .lowerIsBetter: verdict = after < before ? .better : .worse
      case .neither: verdict = .different
      }
    }
    return Figure(
      name: name, old: before, new: after, noise: noise, runs: (old.count, new.count), verdict: verdict)
  }

  /// Whether the runs do not overlap, and are too many for that to be chance.
  private static func areSeparate(_ old: [Double], _ new: [Double]) -> Bool {
    guard min(old.count, new.count) >= runsToSeparate, let oldLow = old.min(), let oldHigh = old.max(),
      let newLow = new.min(), let newHigh = new.max()
    else { return false }
    return oldHigh < newLow || newHigh < oldLow
  }

  static func median(_ values: [Double]) -> Double? {
    let sorted = values.filter(\.isFinite).sorted()
    guard !sorted.isEmpty else { return nil }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  private static func variance(_ values: [Double]) -> Double {
    let finite = values.filter(\.isFinite)
    guard finite.count > 1 else { return 0 }
    let mean = finite.reduce(0, +) / Double(finite.count)
    return finite.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(finite.count - 1)
  }

  // MARK: Cases

  /// A case that never failed before is worse with its first failure. One that failed in some runs
  /// already is noise of its own: it is worse only if it now fails in all runs and failed in less
  /// than half of them before; and the same the other way round.
  static func change(of id: String, _ old: [String], _ new: [String]) -> CaseChange? {
    let (before, after) = (Tally(old), Tally(new))
    guard before.words != after.words else { return nil }
    let verdict: Verdict
    if before.decided == 0 || after.decided == 0 {
      verdict = before.decided == 0 && after.bad > 0 ? .worse : .different
    } else if before.bad == 0 {
      verdict = after.bad > 0 ? .worse : .same
    } else if after.bad == 0 {
      verdict = before.bad * 2 > before.decided ? .better : .same
    } else {
      verdict = after.bad == after.decided && before.bad * 2 < before.decided ? .worse : .same
    }
    return verdict == .same
      ? nil : CaseChange(id: id, old: before.words, new: after.words, verdict: verdict)
  }

  private struct Tally {
    var bad: Int
    var decided: Int
    var words: String

    init(_ outcomes: [String]) {
      bad = outcomes.count { $0 == "failed" || $0 == "errored" }
      decided = outcomes.count { $0 != "skipped" }
      if outcomes.isEmpty {
        words = "not run"
      } else if decided == 0 {
        words = "skipped"
      } else if bad == 0 {
        words = outcomes.contains("differs") ? "stack: differs" : "passed"
      } else if bad == decided {
        words = outcomes.contains("failed") ? "failed" : "errored"
      } else {
        words = "not passed in \(bad) of \(decided) runs"
      }
    }
  }
}

import Foundation
import SerialLink

/// The report for users: what does not pass as it ends, totals, and where to begin; or a line per
/// case. Text from outside is made printable.
package struct TextReport {
  /// Cases that did not pass, explained at the end.
  static let explainedCases = 3
  /// Lines about cases that do not pass, while others still run.
  static let soonLimit = 10
  /// Skipped cases of one reason that are named; a report names all.
  static let namedSkips = 4
  /// Steps of the wire shown of a case.
  static let stepsLimit = 16

  private let usesColor: Bool
  private let isVerbose: Bool
  private let identifierWidth: Int
  private let again: @Sendable (CaseResult) -> String?
  private var soonCount = 0

  /// - Parameters:
  ///   - cases: the cases that will be run; decides the columns.
  ///   - isVerbose: whether each case has a line, and each that does not pass all its details.
  ///   - again: how to repeat a case that did not pass, in one line.
  package init(
    cases: [Case], usesColor: Bool, isVerbose: Bool = false,
    again: @escaping @Sendable (CaseResult) -> String? = { _ in nil }
  ) {
    self.usesColor = usesColor
    self.isVerbose = isVerbose
    self.again = again
    identifierWidth = cases.map(\.id.count).max() ?? 0
  }

  /// The lines above the first case.
  package static func heading(_ identity: RunIdentity) -> [String] {
    ["Device  \(identity.deviceLine.printable)", "Bench   \(identity.benchLine.printable)", ""]
  }

  /// The lines for one result, as soon as it is there.
  package mutating func lines(for result: CaseResult) -> [String] {
    if isVerbose {
      return [line(for: result)] + result.notes.map { "      (\($0.printable))" }
        + (result.outcome.isBad ? explained(result) : [])
    }
    guard result.outcome.isBad else { return [] }
    soonCount += 1
    return soonCount <= Self.soonLimit ? [line(for: result)] : []
  }

  /// What was found, the rule's words, the wire, and how to repeat it.
  private func explained(_ result: CaseResult) -> [String] {
    let steps = result.transcript
    let omitted = isVerbose ? 0 : max(0, steps.count - Self.stepsLimit)
    let note = omitted > 0 ? ["      (\(omitted) earlier steps: --verbose, --html or --json)"] : []
    return result.outcome.findings.map { "      \($0.printable)" }
      + explanation(of: result).flatMap { wrapped($0.split(separator: " ").map(String.init), indent: 6) }
      + note
      + steps.dropFirst(omitted).map { "      | \($0.printable)" }
      + [again(result)].compactMap { $0.map { "      \($0)" } }
  }

  /// Where to begin: the most specific cases that did not pass, explained, and the others by name.
  private func begin(_ report: Report) -> [String] {
    let (bad, found) = report.diagnosis
    guard let first = bad.first else { return [] }
    var lines = [emphasised("Start with: \(first.testCase.id)")]
    if !found.faults.isEmpty {
      let these = found.faults.count == 1 ? "this fault" : "each of these faults"
      lines.append(
        "  Much the same cases fail with \(these): \(found.faults.map(\.what).joined(separator: "; "))")
    }
    if let missing = found.missing {
      lines.append("  Its case was not run; select it with: --filter '^\(missing)$'")
    }
    if !isVerbose {
      for result in bad.prefix(Self.explainedCases) {
        lines += ["", "  \(mark(result.outcome)) \(result.testCase.id)  \(result.testCase.title)"]
        lines += explained(result)
      }
    }
    let others = bad.dropFirst(isVerbose ? 0 : Self.explainedCases)
    if !others.isEmpty {
      lines += ["", isVerbose ? "Not passed:" : "Not passed either: \(others.count)"]
      lines += wrapped(others.map(\.testCase.id))
    }
    return lines + [""]
  }

  /// What did not pass, and the totals.
  package func result(of report: Report) -> [String] { begin(report) + [total(of: report)] }

  /// The lines below the last case.
  package func summary(of report: Report) -> [String] {
    var lines: [String] = isVerbose ? [""] : []
    lines += differences(in: report) + skips(in: report)
    if let trouble = report.rigTrouble { lines.append("The run is incomplete: \(trouble.printable)") }
    lines += begin(report)
    let repeated = report.results.filter { !$0.notes.isEmpty }
    if !repeated.isEmpty {
      lines.append("Repeated:")
      lines += repeated.map { result in
        let notes = result.notes.joined(separator: "; ").printable
        return "  \(result.testCase.id) (\(result.outcome.word), \(result.runs) runs): \(notes)"
      }
      lines.append("")
    }
    if !report.line.isClean { lines += ["Line: \(report.line.summary)", ""] }
    if let recovery = report.recovery, !recovery.steps.isEmpty {
      lines.append("Recovery (\(recovery.climbs) \(recovery.climbs == 1 ? "attempt" : "attempts")):")
      lines += recovery.steps.map { "  \($0.step): \($0.summary.printable)" }
      lines.append("")
    }
    for (chapter, results) in report.chapters {
      let part = Report.Totals(results)
      lines.append("  \(padded(chapter.rawValue, 14)) \(part.sentence)")
    }
    return lines + [total(of: report)]
  }

  private func total(of report: Report) -> String {
    let seconds = String(format: "%.1f", report.duration.inSeconds)
    let part = report.part.map { "; \($0), which does not replace a whole run" } ?? ""
    return
      "\(report.rig) (\(report.port.printable)), seed \(report.seed): \(report.totals.sentence), in \(seconds) s"
      + part
  }

  /// How the device's Bluetooth stack differs from a server by PROTOCOL.md, a line per case.
  private func differences(in report: Report) -> [String] {
    let differing = report.results.filter { $0.outcome.word == "differs" }
    guard !differing.isEmpty else { return [] }
    let width = differing.map(\.testCase.id.count).max() ?? 0
    return ["Stack: differs, which the protocol permits (†): \(differing.count)"]
      + differing.map { result in
        "  \(padded(result.testCase.id, width))  \(result.outcome.findings.first?.printable ?? "")"
      } + [""]
  }

  /// The skipped cases by their reason, each one named if that is short.
  private func skips(in report: Report) -> [String] {
    let skipped = report.results.filter { $0.outcome.word == "skipped" }
    let byReason = Dictionary(grouping: skipped) { $0.outcome.details.joined().printable }
    let lines = byReason.sorted { $0.key < $1.key }.flatMap { reason, results -> [String] in
      let names = results.map(\.testCase.id)
      let isNamed = isVerbose || names.count <= Self.namedSkips
      return ["Skipped, \(reason): \(names.count)" + (isNamed ? "" : " (see --verbose)")]
        + (isNamed ? wrapped(names) : [])
    }
    return lines.isEmpty ? [] : lines + [""]
  }

  /// The rule in its own words.
  private func explanation(of result: CaseResult) -> [String] {
    guard case .failed = result.outcome else { return [] }
    let rule = result.testCase.rules[0]
    return [
      RuleWords.words(of: rule).map { "\(rule), docs/PROTOCOL.md: \($0)" } ?? "\(rule), docs/PROTOCOL.md"
    ]
  }

  /// Words in lines of at most 110 columns.
  private func wrapped(_ words: [String], indent: Int = 2) -> [String] {
    words.reduce(into: [String]()) { lines, word in
      if let last = lines.last, last.count + word.count < 110 {
        lines[lines.count - 1] += " \(word)"
      } else {
        lines.append(String(repeating: " ", count: indent) + word)
      }
    }
  }

  private func line(for result: CaseResult) -> String {
    let milliseconds = String(format: "%7.1f ms", result.duration.inMilliseconds)
    let rules = result.testCase.rules.dropFirst()
    let also = rules.isEmpty ? "" : " [also \(rules.joined(separator: ", "))]"
    let time = result.outcome.word == "skipped" ? "          " : milliseconds
    return "  \(mark(result.outcome)) \(time)  \(padded(result.testCase.id, identifierWidth))  "
      + "\(result.testCase.title)\(also)"
  }

  private func mark(_ outcome: Outcome) -> String {
    switch outcome {
    case .passed: colored("ok  ", "32")
    case .failed: colored("FAIL", "31")
    case .errored: colored("RIG ", "35")
    case .skipped: colored("skip", "33")
    case .differs: colored("diff", "36")
    }
  }

  private func emphasised(_ text: String) -> String { colored(text, "1") }

  private func colored(_ text: String, _ code: String) -> String {
    usesColor ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }

  private func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}

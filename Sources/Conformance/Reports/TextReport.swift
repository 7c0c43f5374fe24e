import Foundation
import SerialLink

/// The report for users: one line per case as it ends, one heading per chapter, totals. Text from
/// outside is made printable.
package struct TextReport {
  private let usesColor: Bool
  private let identifierWidth: Int
  private let again: @Sendable (CaseResult) -> String?
  private var chapter: Chapter?

  /// - Parameters:
  ///   - cases: the cases that will be run; decides the columns.
  ///   - again: how to repeat a case that did not pass, in one line.
  package init(
    cases: [Case], usesColor: Bool, again: @escaping @Sendable (CaseResult) -> String? = { _ in nil }
  ) {
    self.usesColor = usesColor
    self.again = again
    identifierWidth = cases.map(\.id.count).max() ?? 0
  }

  /// The lines above the first case.
  package static func heading(_ identity: RunIdentity) -> [String] {
    ["Device  \(identity.deviceLine.printable)", "Bench   \(identity.benchLine.printable)", ""]
  }

  /// The lines for one result, a chapter's heading before its first.
  package mutating func lines(for result: CaseResult) -> [String] {
    var lines: [String] = []
    if result.testCase.chapter != chapter {
      if chapter != nil { lines.append("") }
      chapter = result.testCase.chapter
      lines.append(emphasised(result.testCase.chapter.rawValue))
    }
    lines.append(line(for: result))
    lines += result.notes.map { "      (\($0.printable))" }
    switch result.outcome {
    case .passed, .skipped: break
    case .failed, .errored:
      lines += result.outcome.findings.map { "      \($0.printable)" }
      lines += explanation(of: result).flatMap {
        wrapped($0.split(separator: " ").map(String.init), indent: 6)
      }
      lines += result.transcript.map { "      | \($0.printable)" }
      lines += [again(result)].compactMap { $0.map { "      \($0)" } }
    }
    return lines
  }

  /// The lines below the last case.
  package func summary(of report: Report) -> [String] {
    let totals = report.totals
    var lines = [""]
    lines += skips(in: report)
    if let trouble = report.rigTrouble { lines.append("The run is incomplete: \(trouble.printable)") }
    let bad = report.results.filter { $0.outcome.word == "failed" || $0.outcome.word == "errored" }
    if !bad.isEmpty {
      lines.append("Not passed:")
      lines += bad.map { "  \($0.testCase.id) (\($0.outcome.word)): \($0.testCase.title)" }
      lines.append("")
    }
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
    let seconds = String(format: "%.1f", report.duration.inSeconds)
    lines.append(
      "\(report.rig) (\(report.port.printable)), seed \(report.seed): \(totals.sentence), in \(seconds) s")
    return lines
  }

  /// The skipped cases by their reason, each one named.
  private func skips(in report: Report) -> [String] {
    let skipped = report.results.filter { $0.outcome.word == "skipped" }
    let byReason = Dictionary(grouping: skipped) { $0.outcome.details.joined().printable }
    return byReason.sorted { $0.key < $1.key }.flatMap { reason, results in
      ["Skipped, \(reason): \(results.count)"] + wrapped(results.map(\.testCase.id)) + [""]
    }
  }

  /// The rule in its own words, and what such a failure usually means.
  private func explanation(of result: CaseResult) -> [String] {
    guard case .failed = result.outcome else { return [] }
    let rule = result.testCase.rules[0]
    return [
      RuleWords.words(of: rule).map { "\(rule), docs/PROTOCOL.md: \($0)" } ?? "\(rule), docs/PROTOCOL.md",
      UsualCause.of(result.testCase.id).map { "Usually: \($0)" },
    ].compactMap(\.self)
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

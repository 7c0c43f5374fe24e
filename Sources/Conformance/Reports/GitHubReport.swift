import Foundation
import SerialLink

/// Reports for a GitHub workflow: annotations, and Markdown for the summary of a step. Text from a
/// device is made printable, and cannot be a command to the runner. Source: GitHub Actions
/// documentation, "Workflow commands".
package enum GitHubReport {
  /// The number of annotations of one kind that GitHub shows for a step.
  package static let annotationsLimit = 10
  /// GitHub drops a summary above 1 MiB altogether.
  package static let summaryLimitBytes = 1_000_000
  /// The maximum number of characters of one message, and of one detail in the summary.
  static let messageLimit = 1000

  /// One line per finding, the most severe first: boards that could not be tested, cases that
  /// failed, cases that errored.
  package static func annotations(of reports: [Report]) -> [String] {
    let troubles = reports.compactMap { report in
      report.rigTrouble.map { annotation("\(report.port): run incomplete", $0) }
    }
    let cases = reports.flatMap { report in
      report.diagnosis.results.map { result in
        annotation(
          "\(result.testCase.id) \(result.outcome.word) on \(report.port)",
          ([result.testCase.title] + result.outcome.details).joined(separator: "\n"))
      }
    }
    let all = troubles + cases
    guard all.count > annotationsLimit else { return all }
    let shown = annotationsLimit - 1
    return all.prefix(shown) + [
      annotation("and \(all.count - shown) more", "The summary and the reports have them.")
    ]
  }

  /// The command that opens the group of a board's lines; `groupEnd` closes it.
  package static func groupStart(_ name: String) -> String { "::group::\(data(name))" }
  package static let groupEnd = "::endgroup::"

  /// Markdown: a table of the boards, then the cases that did not pass. Never longer than
  /// `limitBytes`; contains a note if it is cut.
  package static func summary(of reports: [Report], limitBytes: Int = summaryLimitBytes) -> String {
    let cut = "\n… cut: the reports have the rest\n"
    var result = ""
    for line in summaryLines(of: reports) {
      guard result.utf8.count + line.utf8.count + 1 + cut.utf8.count <= limitBytes else {
        return cut.utf8.count <= limitBytes - result.utf8.count ? result + cut : result
      }
      result += line + "\n"
    }
    return result
  }

  private static func summaryLines(of reports: [Report]) -> [String] {
    var lines = [
      "## Notibot conformance", "", "| | board | passed | failed | errored | skipped | seconds |",
      "|---|---|---|---|---|---|---|",
    ]
    for report in reports {
      let totals = report.totals
      let isGood = totals.failed == 0 && totals.errored == 0 && report.rigTrouble == nil
      lines.append(
        "| \(isGood ? "✅" : "❌") | \(markdown(report.port)) | \(totals.passed) | \(totals.failed) | \(totals.errored) "
          + "| \(totals.skipped) | \(String(format: "%.1f", report.duration.inSeconds)) |")
    }
    if let part = reports.compactMap(\.part).first { lines += ["", "This was a part: \(markdown(part))."] }
    for report in reports {
      guard let identity = report.identity else { continue }
      let words = "\(report.port): \(identity.deviceLine); \(identity.benchLine)"
      lines += ["", markdown(words)]
    }
    for report in reports {
      let differing = report.results.filter { $0.outcome.word == "differs" }.map(\.testCase.id)
      guard !differing.isEmpty else { continue }
      let words = "\(report.port): stack: differs: \(differing.count): \(differing.joined(separator: " "))"
      lines += ["", markdown(words)]
    }
    for report in reports {
      let bad = report.diagnosis.results
      let noted = report.results.filter { !$0.notes.isEmpty }
      guard !bad.isEmpty || !noted.isEmpty || report.rigTrouble != nil else { continue }
      lines += ["", "### \(markdown(report.port))", ""]
      if let trouble = report.rigTrouble { lines.append("- \(markdown(trouble))") }
      for result in bad {
        lines.append(
          "- **\(markdown(result.testCase.id))** \(result.outcome.word): \(markdown(result.testCase.title))")
        lines += result.outcome.details.map { "  - \(markdown($0))" }
      }
      for result in noted {
        let notes = result.notes.joined(separator: "; ")
        lines.append(
          "- **\(markdown(result.testCase.id))** \(result.outcome.word) in \(result.runs) runs: \(markdown(notes))"
        )
      }
    }
    return lines
  }

  private static func annotation(_ title: String, _ message: String) -> String {
    let lines = message.prefix(messageLimit).split(separator: "\n").map { String($0).printable }
    return "::error title=\(property(title.printable))::\(data(lines.joined(separator: "\n")))"
  }

  /// The text of a command.
  static func data(_ text: String) -> String {
    text.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
  }

  /// A property of a command.
  static func property(_ text: String) -> String {
    data(text).replacing(":", with: "%3A").replacing(",", with: "%2C")
  }

  /// Text without Markdown mark-up and HTML elements.
  static func markdown(_ text: String) -> String {
    MarkdownText.escaped(text.prefix(messageLimit))
  }
}

import Foundation
import SerialLink

/// The report for a CI server: `failure` means that the device is wrong, `error` that the rig is.
/// It has only elements and attributes that Jenkins, GitHub and GitLab accept; Jenkins's
/// junit-10.xsd is the strictest.
package enum JUnitReport {
  /// The XML document. Without a rig it contains one case that errored, never none.
  package static func document(of report: Report) -> String {
    let totals = report.totals
    let troubles = report.rigTrouble == nil ? 0 : 1
    var lines = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>"]
    lines.append(
      "<testsuites name=\"\(name(of: [report]))\" tests=\"\(totals.count + troubles)\" "
        + "failures=\"\(totals.failed)\" errors=\"\(totals.errored + troubles)\" "
        + "time=\"\(seconds(report.duration))\">")
    for (chapter, results) in report.chapters { lines += suite(chapter.rawValue, results, report) }
    if let trouble = report.rigTrouble { lines += rigSuite(trouble, report) }
    lines.append("</testsuites>")
    return lines.joined(separator: "\n") + "\n"
  }

  /// The XML document of several boards: a suite for each, and the board in each class name,
  /// because a server takes equal names for one case. A board that could not be tested completely
  /// has an error.
  ///
  /// - Parameter comparison: if they are the two bearers of one board: its suite comes first.
  package static func document(of reports: [Report], comparison: BearerComparison? = nil) -> String {
    let totals = Report.Totals(reports.flatMap(\.results))
    let troubles = reports.count { $0.rigTrouble != nil }
    let time = reports.map(\.duration).max() ?? .zero
    let differences = comparison?.differences.count ?? 0
    let compared = comparison == nil ? 0 : max(1, differences)
    var lines = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>"]
    lines.append(
      "<testsuites name=\"\(name(of: reports))\" tests=\"\(totals.count + troubles + compared)\" "
        + "failures=\"\(totals.failed + differences)\" errors=\"\(totals.errored + troubles)\" "
        + "time=\"\(seconds(time))\">")
    if let comparison, let report = reports.first { lines += suite(comparison, report) }
    for report in reports {
      let totals = report.totals
      let troubles = report.rigTrouble == nil ? 0 : 1
      lines.append(
        opening(
          report.port, tests: totals.count + troubles, failures: totals.failed,
          errors: totals.errored + troubles,
          totals.skipped + totals.differing, report.duration, report))
      lines += properties(of: report)
      let package = "\(report.rig).\(report.port)"
      for result in report.results { lines += testCase(result, package) }
      if let trouble = report.rigTrouble { lines += rigCase(trouble, package, report) }
      lines.append("  </testsuite>")
    }
    lines.append("</testsuites>")
    return lines.joined(separator: "\n") + "\n"
  }

  /// It says so if cases were left out.
  private static func name(of reports: [Report]) -> String {
    "notibot conformance" + (reports.compactMap(\.part).first.map { ", \(escaped(line: $0))" } ?? "")
  }

  private static func suite(_ name: String, _ results: [CaseResult], _ report: Report) -> [String] {
    let totals = Report.Totals(results)
    let time = results.reduce(Duration.zero) { $0 + $1.duration }
    var lines = [
      opening(
        name, tests: totals.count, failures: totals.failed, errors: totals.errored,
        totals.skipped + totals.differing, time,
        report)
    ]
    lines += properties(of: report)
    for result in results { lines += testCase(result, report.rig) }
    lines.append("  </testsuite>")
    return lines
  }

  /// A case per difference; one that passes if there is none.
  private static func suite(_ comparison: BearerComparison, _ report: Report) -> [String] {
    let differences = comparison.differences
    let cases = differences.map { difference in
      let texts = escaped(lines: zip(comparison.bearers, difference.columns).map { "\($0): \($1.text)" })
      return [
        "    <testcase classname=\"bearers\" name=\"\(escaped(line: "\(difference.id): \(difference.title)"))\" "
          + "time=\"0.000\">",
        "      <failure message=\"\(texts)\" type=\"device\">\(texts)</failure>", "    </testcase>",
      ]
    }
    let alike = escaped(line: "both bearers answer alike in \(comparison.compared) cases")
    return [
      opening(
        "Bearers", tests: max(1, differences.count), failures: differences.count, errors: 0, 0, .zero, report)
    ]
      + (cases.isEmpty
        ? ["    <testcase classname=\"bearers\" name=\"\(alike)\" time=\"0.000\"/>"] : cases.flatMap(\.self))
      + ["  </testsuite>"]
  }

  private static func rigSuite(_ trouble: String, _ report: Report) -> [String] {
    [opening("Rig", tests: 1, failures: 0, errors: 1, 0, report.duration, report)] + properties(of: report)
      + rigCase(trouble, report.rig, report) + ["  </testsuite>"]
  }

  private static func rigCase(_ trouble: String, _ package: String, _ report: Report) -> [String] {
    [
      "    <testcase classname=\"\(escaped(line: package)).Rig\" name=\"the rig is there\" "
        + "time=\"\(seconds(report.duration))\">",
      "      <error message=\"\(escaped(line: trouble))\" type=\"rig\">\(escaped(line: trouble))</error>",
      "    </testcase>",
    ]
  }

  private static func opening(
    _ name: String, tests: Int, failures: Int, errors: Int, _ skipped: Int, _ time: Duration, _ report: Report
  ) -> String {
    "  <testsuite name=\"\(escaped(line: name))\" tests=\"\(tests)\" failures=\"\(failures)\" "
      + "errors=\"\(errors)\" skipped=\"\(skipped)\" time=\"\(seconds(time))\" timestamp=\"\(timestamp(report))\">"
  }

  private static func properties(of report: Report) -> [String] {
    var values = [("rig", report.rig), ("port", report.port), ("seed", "\(report.seed)")]
    if let part = report.part { values.append(("part", part)) }
    if let bootID = report.bootID { values.append(("bootID", bootID)) }
    if !report.line.isClean { values.append(("line", report.line.summary)) }
    values += (report.identity?.facts ?? []).map { ($0.name, $0.value) }
    values += (report.recovery?.steps ?? []).map { ("recovery.\($0.step)", $0.summary) }
    return ["    <properties>"]
      + values.map { "      <property name=\"\($0.0)\" value=\"\(escaped(line: $0.1))\"/>" }
      + ["    </properties>"]
  }

  private static func testCase(_ result: CaseResult, _ package: String) -> [String] {
    let testCase = result.testCase
    let name = "\(testCase.id): \(testCase.title)"
    var lines = [
      "    <testcase classname=\"\(escaped(line: package)).\(escaped(line: testCase.chapter.rawValue))\" "
        + "name=\"\(escaped(line: name))\" time=\"\(seconds(result.duration))\">"
    ]
    let details = escaped(lines: result.outcome.details)
    let message = escaped(line: result.outcome.details.first ?? "")
    switch result.outcome {
    case .passed: break
    case .failed: lines.append("      <failure message=\"\(message)\" type=\"device\">\(details)</failure>")
    case .errored: lines.append("      <error message=\"\(message)\" type=\"rig\">\(details)</error>")
    // Neither passed nor failed; JUnit has no other word.
    case .differs: lines.append("      <skipped message=\"stack: differs: \(message)\"/>")
    case .skipped: lines.append("      <skipped message=\"\(message)\"/>")
    }
    let output = ["rules: \(testCase.rules.joined(separator: ", "))"] + result.notes.map { "note: \($0)" }
    lines.append("      <system-out>\(escaped(lines: output + result.transcript))</system-out>")
    return lines + ["    </testcase>"]
  }

  private static func seconds(_ duration: Duration) -> String { String(format: "%.3f", duration.inSeconds) }

  private static func timestamp(_ report: Report) -> String {
    report.startedAt.formatted(.iso8601)
  }

  /// Text from anywhere that is one line whatever is in it.
  private static func escaped(line: String) -> String { escaped(line.printable) }

  private static func escaped(lines: [String]) -> String {
    lines.map { escaped(line: $0) }.joined(separator: "&#10;")
  }

  /// The text with its markup escaped, hidden characters as `printable` shows them, and without
  /// what XML 1.0 does not allow even escaped.
  package static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\n": result += "&#10;"
      case "\t": result += "&#9;"
      case "\u{FFFE}"..."\u{FFFF}": result += "\u{FFFD}"
      case let hidden where hidden.isHidden: result += String(hidden).printable
      case _: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

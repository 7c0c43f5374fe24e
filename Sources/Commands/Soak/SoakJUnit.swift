import ArgumentParser
import Conformance
import Foundation
import SerialLink

/// The JUnit report of a soak: `failure` is a fault of the device, `error` a fault of the rig.
enum SoakJUnit {
  /// The result of one claim of a soak.
  private enum Outcome {
    case held
    case failed(String)
    case errored(String)
  }

  /// The XML document; it has at least one case.
  ///
  /// - Parameters:
  ///   - report: the results; `nil` if the soak did not start.
  ///   - trouble: why it did not start, or ended early; `nil` if it was completed.
  ///   - isDeviceWrong: whether the trouble is a fault of the device.
  static func document(
    of report: SoakReport?, port: String, trouble: String?, isDeviceWrong: Bool, startedAt: Date
  ) -> String {
    var cases: [(String, Outcome)] = []
    if let trouble {
      cases.append(("it runs to its end", isDeviceWrong ? .failed(trouble) : .errored(trouble)))
    }
    if let report, report.sessions > 0 { cases += claims(of: report) }
    let failures = cases.count { if case .failed = $0.1 { true } else { false } }
    let errors = cases.count { if case .errored = $0.1 { true } else { false } }
    let totals =
      "tests=\"\(cases.count)\" failures=\"\(failures)\" errors=\"\(errors)\" "
      + "time=\"\(String(format: "%.3f", report?.seconds ?? 0))\""
    var lines = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>"]
    lines.append("<testsuites name=\"notibot soak\" \(totals)>")
    lines.append(
      "  <testsuite name=\"Soak\" \(totals) skipped=\"0\" timestamp=\"\(startedAt.formatted(.iso8601))\">")
    lines.append("    <properties>")
    lines.append("      <property name=\"port\" value=\"\(JUnitReport.escaped(port))\"/>")
    for fact in RunIdentity(bench: .init(notibot: Notibot.configuration.version)).facts {
      lines.append("      <property name=\"\(fact.name)\" value=\"\(JUnitReport.escaped(fact.value))\"/>")
    }
    for step in report?.recovery?.steps ?? [] {
      let value = JUnitReport.escaped(step.summary)
      lines.append("      <property name=\"recovery.\(step.step)\" value=\"\(value)\"/>")
    }
    lines.append("    </properties>")
    for (name, outcome) in cases { lines += testCase(name, outcome) }
    if let report { lines.append("    <system-out>\(JUnitReport.escaped(report.text))</system-out>") }
    return (lines + ["  </testsuite>", "</testsuites>"]).joined(separator: "\n") + "\n"
  }

  private static func claims(of report: SoakReport) -> [(String, Outcome)] {
    func claim(_ name: String, _ count: Int, _ what: String) -> (String, Outcome) {
      (name, count == 0 ? .held : .failed("\(count) \(what)"))
    }
    let undelivered =
      report.isUndecided
      ? ("everything is delivered", .errored("\(report.undelivered) not delivered; \(report.lateness ?? "")"))
      : claim("everything is delivered", report.undelivered, "not delivered")
    return [
      claim("nothing is lost", report.lost, "lost"),
      claim("nothing is doubled", report.doubled, "doubled"),
      undelivered,
      claim("host and device agree", report.differences, "differences"),
      claim("nothing is refused", report.refused, "refused"),
    ]
  }

  private static func testCase(_ name: String, _ outcome: Outcome) -> [String] {
    let opening = "    <testcase classname=\"soak\" name=\"\(JUnitReport.escaped(name))\""
    func lines(_ element: String, _ type: String, _ message: String) -> [String] {
      let message = JUnitReport.escaped(message)
      return [
        opening + ">", "      <\(element) message=\"\(message)\" type=\"\(type)\">\(message)</\(element)>",
        "    </testcase>",
      ]
    }
    switch outcome {
    case .held: return [opening + "/>"]
    case .failed(let message): return lines("failure", "device", message)
    case .errored(let message): return lines("error", "rig", message)
    }
  }
}

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

  /// The XML document, with a suite for each board; it has at least one case.
  static func document(of endings: [SoakEnding]) -> String {
    let suites = endings.map { (ending: $0, cases: cases(of: $0)) }
    let seconds = endings.compactMap(\.report?.seconds).max() ?? 0
    let isOne = suites.count == 1
    var lines = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>"]
    lines.append("<testsuites name=\"notibot soak\" \(totals(of: suites.flatMap(\.cases), seconds))>")
    for (ending, cases) in suites {
      // A server takes equal names for one case.
      lines += suite(of: ending, cases, isOne ? "Soak" : ending.port, isOne ? "soak" : "soak.\(ending.port)")
    }
    return (lines + ["</testsuites>"]).joined(separator: "\n") + "\n"
  }

  private static func cases(of ending: SoakEnding) -> [(String, Outcome)] {
    var cases: [(String, Outcome)] = []
    if let trouble = ending.trouble {
      let text = trouble.description
      cases.append(("it runs to its end", trouble.kind == .refused ? .failed(text) : .errored(text)))
    }
    if let report = ending.report, report.sessions > 0 { cases += claims(of: report) }
    return cases
  }

  private static func totals(of cases: [(String, Outcome)], _ seconds: Double) -> String {
    let failures = cases.count { if case .failed = $0.1 { true } else { false } }
    let errors = cases.count { if case .errored = $0.1 { true } else { false } }
    return "tests=\"\(cases.count)\" failures=\"\(failures)\" errors=\"\(errors)\" "
      + "time=\"\(String(format: "%.3f", seconds))\""
  }

  private static func suite(
    of ending: SoakEnding, _ cases: [(String, Outcome)], _ name: String, _ package: String
  ) -> [String] {
    let report = ending.report
    var lines = [
      "  <testsuite name=\"\(JUnitReport.escaped(name))\" \(totals(of: cases, report?.seconds ?? 0)) "
        + "skipped=\"0\" timestamp=\"\(ending.startedAt.formatted(.iso8601))\">"
    ]
    lines.append("    <properties>")
    lines.append("      <property name=\"port\" value=\"\(JUnitReport.escaped(ending.port))\"/>")
    for fact in RunIdentity(bench: .init(notibot: Notibot.configuration.version)).facts {
      lines.append("      <property name=\"\(fact.name)\" value=\"\(JUnitReport.escaped(fact.value))\"/>")
    }
    for step in report?.recovery?.steps ?? [] {
      let value = JUnitReport.escaped(step.summary)
      lines.append("      <property name=\"recovery.\(step.step)\" value=\"\(value)\"/>")
    }
    lines.append("    </properties>")
    for (name, outcome) in cases { lines += testCase(name, outcome, package) }
    if let report { lines.append("    <system-out>\(JUnitReport.escaped(report.text))</system-out>") }
    return lines + ["  </testsuite>"]
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

  private static func testCase(_ name: String, _ outcome: Outcome, _ package: String) -> [String] {
    let names = (JUnitReport.escaped(package), JUnitReport.escaped(name))
    let opening = "    <testcase classname=\"\(names.0)\" name=\"\(names.1)\""
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

import Foundation
import Testing

@testable import Conformance

/// The report for GitHub, with devices that send hostile text.
struct GitHubReportTests {
  private func makeReport(_ outcomes: [Outcome], port: String = "/dev/ttyACM0", trouble: String? = nil)
    -> Report
  {
    let results = zip(Suite.cases, outcomes).map {
      CaseResult(testCase: $0, outcome: $1, duration: .milliseconds(5), transcript: [])
    }
    return Report(
      rig: "port", port: port, seed: 7, startedAt: Date(timeIntervalSince1970: 0), duration: .seconds(1),
      results: results, rigTrouble: trouble)
  }

  private func failure(_ text: String) -> Outcome { .failed([Finding(text, file: "f", line: 1)]) }

  @Test func `there are at most ten annotations, those of missing boards first, then failures`() {
    let many = makeReport([Outcome.errored("rig")] + Array(repeating: failure("wrong"), count: 20))
    let gone = makeReport([], port: "usb:303a:1001", trouble: "no such port")
    let lines = GitHubReport.annotations(of: [many, gone])
    #expect(lines.count == 10)
    #expect(lines[0] == "::error title=usb%3A303a%3A1001%3A run incomplete::no such port")
    #expect(lines[1..<9].allSatisfy { $0.contains(" failed on /dev/ttyACM0::") })
    #expect(lines[9].hasPrefix("::error title=and 13 more::"))
    #expect(GitHubReport.annotations(of: [makeReport([.passed, .skipped("x")])]).isEmpty)
  }

  @Test func `bytes from a device end no command and begin none`() throws {
    let line = try #require(
      GitHubReport.annotations(of: [
        makeReport([failure("100 %\n::set-env x\r\u{1B}[2J\u{202E}")], port: "a,b:c\n::d")
      ])
      .first)
    #expect(line.hasPrefix("::error title="))
    #expect(line.contains("on a%2Cb%3Ac\\u{a}%3A%3Ad::"))
    #expect(line.hasSuffix(#"100 %25%0A::set-env x\u{d}\u{1b}[2J\u{202e} (checked at f:1)"#))
    #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E })
  }

  @Test func `a combining mark hides no mark-up`() {
    #expect(GitHubReport.markdown("|\u{301} <\u{301}b>") == "\\|\u{301} \\<\u{301}b\\>")
  }

  @Test
  func `the summary has one row per board and the cases that did not pass, without mark-up from outside`() {
    let summary = GitHubReport.summary(of: [
      makeReport([.passed, failure("<img src=x> | [a](b) `c` **d**\n# e")]),
      makeReport([.passed], port: "/dev/ttyACM1"),
    ])
    let lines = summary.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[4] == #"| ❌ | \/dev\/ttyACM0 | 1 | 1 | 0 | 0 | 1.0 |"#)
    #expect(lines[5] == #"| ✅ | \/dev\/ttyACM1 | 1 | 0 | 0 | 0 | 1.0 |"#)
    #expect(summary.contains(##"\<img src\=x\> \| \[a\]\(b\) \`c\` \*\*d\*\*\\u\{a\}\# e"##))
    #expect(!summary.contains("### \\/dev\\/ttyACM1"))
  }

  @Test func `the summary is cut below its limit, and says so`() {
    let long = makeReport(Array(repeating: failure(String(repeating: "x", count: 5000)), count: 200))
    let whole = GitHubReport.summary(of: [long])
    let cut = GitHubReport.summary(of: [long], limitBytes: 10_000)
    #expect(cut.utf8.count <= 10_000 && cut.hasSuffix("… cut: the reports have the rest\n"))
    #expect(whole.utf8.count > 100_000 && whole.utf8.count < GitHubReport.summaryLimitBytes)
    #expect(GitHubReport.summary(of: [long], limitBytes: 0).isEmpty)
  }
}

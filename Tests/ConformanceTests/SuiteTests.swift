import Conformance
import HostSuite
import DeviceEmulator
import Foundation
import Rigs
import Testing

/// The suite itself.
@Suite struct SuiteTests {
  /// The cases of devices and of the host.
  private static let all = Suite.cases + HostSuite.cases
  private static let covered = Set(all.flatMap(\.rules))

  /// The rules without a case, each with its reason.
  private static let uncovered = [
    "FRM-17": "a rate is a setting of the port below the line that a case has",
    "FRM-18":
      "modem lines and pending input are below the line that a case has; SerialLinkTests check them",
  ]

  /// Every rule that docs/PROTOCOL.md numbers.
  private static func rules() throws -> Set<String> {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../docs/PROTOCOL.md").standardizedFileURL
    let text = try String(contentsOf: page, encoding: .utf8)
    return Set(text.matches(of: /\*\*((?:FRM|LNK|ATT|NTF)-[0-9]+)\*\*/).map { String($0.1) })
  }

  @Test func `every rule of the protocol is checked by a case`() throws {
    let rules = try Self.rules()
    #expect(rules.count > 60)
    #expect(rules.subtracting(Self.covered).subtracting(Self.uncovered.keys) == [])
  }

  @Test func `a rule that is listed without a case has none, and is one of the protocol`() throws {
    #expect(Self.covered.intersection(Self.uncovered.keys) == [])
    #expect(try Set(Self.uncovered.keys).subtracting(Self.rules()) == [])
  }

  @Test func `every case names rules that the protocol has`() throws {
    let rules = try Self.rules()
    #expect(Self.covered.subtracting(rules) == [])
  }

  /// The last line of a whole run names its rig, and counts every case: passed or skipped.
  @Test func `a whole run that the tour shows is at most a tenth older than the suite`() throws {
    let page = "docs/TOUR.md"
    let text = try String(
      contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../\(page)").standardizedFileURL, encoding: .utf8)
    let totals = text.matches(
      of: /^(port|ble|qemu) \(.*: (\d+) of \d+ passed(?:, (\d+) skipped)?, in/.anchorsMatchLineEndings())
    #expect(!totals.isEmpty)
    for total in totals {
      let shown = try #require(Int(total.2)) + (total.3.flatMap { Int($0) } ?? 0)
      let count = Suite.cases.count
      #expect(abs(count - shown) * 10 <= count, "\(page): \(total.0): the suite has \(count) cases")
    }
  }

  @Test func `ids are unique and titles are not empty`() {
    #expect(Set(Self.all.map(\.id)).count == Self.all.count)
    for testCase in Self.all {
      #expect(testCase.id.contains("/") && !testCase.id.contains(" "), "\(testCase.id)")
      #expect(testCase.title.contains(" "), "\(testCase.id)")
    }
  }

  @Test func `there are enough cases, in every chapter`() {
    #expect(Suite.cases.count >= 80 && HostSuite.cases.count > 90)
    for chapter in Chapter.allCases { #expect(Suite.cases.contains { $0.chapter == chapter }, "\(chapter)") }
  }

  @Test func `a filter matches ids, titles, chapters and rules, whatever the case of letters`() throws {
    #expect(try Selection.cases(matching: nil).count == Suite.cases.count)
    #expect(try Selection.cases(matching: "^ntf-8/store-").map(\.id) == ["NTF-8/store-full"])
    #expect(try Selection.cases(matching: "reconnection").allSatisfy { $0.chapter == .reconnection })
    #expect(try Selection.cases(matching: "no such case").isEmpty)
    #expect(throws: RigTrouble.self) { try Selection.cases(matching: "(") }
  }

  @Test(arguments: ["default", "firmware", "wide", "devkit", "quiet", "mtu23", "tiny", "bench"])
  func `no profile of the emulator fails a case`(profile: String) async throws {
    let rig = EmulatorRig(profile: try #require(.named(profile)))
    let results = await Runner(rig: rig, seed: 99).run(Suite.cases) { _ in }
    let bad = results.filter { ["failed", "errored"].contains($0.outcome.word) }
    #expect(bad.map { "\($0.testCase.id): \($0.outcome.details)" } == [])
  }
}

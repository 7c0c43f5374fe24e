import Conformance
import DeviceEmulator
import Foundation
import Rigs
import Testing

/// The suite itself.
@Suite struct SuiteTests {
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
    #expect(rules.subtracting(Suite.coverage.keys).subtracting(Suite.uncovered.keys) == [])
  }

  @Test func `a rule that is listed without a case has none, and is one of the protocol`() throws {
    #expect(Set(Suite.uncovered.keys).intersection(Suite.coverage.keys) == [])
    #expect(try Set(Suite.uncovered.keys).subtracting(Self.rules()) == [])
  }

  @Test func `every case names rules that the protocol has`() throws {
    let rules = try Self.rules()
    #expect(Set(Suite.coverage.keys).subtracting(rules) == [])
  }

  /// The last line of a whole run names its rig, and counts every case: passed or skipped.
  @Test(arguments: ["docs/TOUR.md", "docs/CLI.md"])
  func `a whole run that a page shows is at most a tenth older than the suite`(page: String) throws {
    let text = try String(
      contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../\(page)").standardizedFileURL, encoding: .utf8)
    let totals = text.matches(
      of: /^(port|self|ble|qemu) \(.*: (\d+) of \d+ passed(?:, (\d+) skipped)?, in/.anchorsMatchLineEndings())
    #expect(!totals.isEmpty)
    for total in totals {
      let shown = try #require(Int(total.2)) + (total.3.flatMap { Int($0) } ?? 0)
      let count = (total.1 == "self" ? Suite.hostCases : Suite.cases).count
      #expect(abs(count - shown) * 10 <= count, "\(page): \(total.0): the suite has \(count) cases")
    }
  }

  @Test func `ids are unique and titles are not empty`() {
    #expect(Set(Suite.all.map(\.id)).count == Suite.all.count)
    for testCase in Suite.all {
      #expect(testCase.id.contains("/") && !testCase.id.contains(" "), "\(testCase.id)")
      #expect(testCase.title.contains(" "), "\(testCase.id)")
    }
  }

  @Test func `there are enough cases, in every chapter`() {
    #expect(Suite.cases.count >= 80)
    for chapter in Chapter.allCases { #expect(Suite.cases.contains { $0.chapter == chapter }, "\(chapter)") }
  }

  @Test func `a case is about a device or about the host, and the host's cases do not count for devices`() {
    #expect(Suite.cases.count + Suite.hostCases.count == Suite.all.count)
    #expect(Suite.cases.allSatisfy { !$0.needs.contains(.host) })
    #expect(Suite.hostCases.count > 90)
    // A host case needs nothing from a device.
    for testCase in Suite.hostCases {
      #expect(testCase.needs.isSubset(of: [.host, .virtualTime]), "\(testCase.id)")
    }
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

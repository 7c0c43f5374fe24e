import Foundation
import Glibc
import Testing

/// `notibot test` on several boards, and in a workflow of GitHub.
@Suite(.inTurn) struct BoardsTests {
  private static let filter = "^(FRM-1|ATT-5)/"

  @Test func `several boards are tested in parallel, with one report`() async throws {
    try await withEmulator("--profile", "quiet") { one in
      try await withEmulator("--profile", "quiet") { two in
        let directory = try TemporaryDirectory()
        let ending = try await run(
          "test", "-p", one.port, "-p", two.port, "--filter", Self.filter, "--verbose", "--junit",
          directory.file("j.xml"), "--json", directory.file("j.json"))
        #expect(ending.status == .exited(0), "\(ending.output)\(ending.errors)")
        #expect(ending.lines.contains { $0.hasPrefix("[\(one.port)]   ok ") })
        #expect(ending.lines.contains { $0.hasPrefix("[\(two.port)]   ok ") })
        let document = try JSON(parsing: try directory.contents(of: "j.json"))
        #expect(document["schema"] == "notibot.conformance.boards" && document["version"] == 1)
        #expect(document["boards"].elements.map { $0["port"] } == [.string(one.port), .string(two.port)])
        let junit = try directory.contents(of: "j.xml")
        let counts = try JUnit(parsing: junit)
        #expect(counts.failures == 0 && counts.errors == 0)
        #expect(document["totals"]["cases"] == .number(Double(counts.cases)))
        #expect(
          junit.contains("classname=\"port.\(one.port).") && junit.contains("classname=\"port.\(two.port)."))
        #expect(
          junit.contains("<testsuite name=\"\(one.port)\"")
            && junit.contains("<testsuite name=\"\(two.port)\""))
      }
    }
  }

  @Test func `a missing board has its own error, also without parallel runs`() async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      let directory = try TemporaryDirectory()
      let ending = try await run(
        "test", "-p", "/dev/no-such-port", "-p", emulator.port, "-j", "1", "--filter", Self.filter, "--junit",
        directory.file("j.xml"), "--json", directory.file("j.json"))
      #expect(ending.status == .exited(10))
      #expect(ending.errorLines.count == 1 && ending.errors.contains("1 of 2 boards did not pass"))
      let counts = try JUnit(parsing: try directory.contents(of: "j.xml"))
      #expect(counts.errors == 1 && counts.failures == 0 && counts.cases > 3)
      let boards = try JSON(parsing: try directory.contents(of: "j.json"))["boards"].elements
      #expect(boards[0]["rigTrouble"].string?.contains("no such port") == true)
      #expect(boards[1]["rigTrouble"] == .null && (boards[1]["totals"]["passed"].number ?? 0) > 2)
    }
  }

  @Test func `no matching board is an error with its reports`() async throws {
    let directory = try TemporaryDirectory()
    let ending = try await run(
      "test", "--all", "-p", "usb:0001:0002", "--junit", directory.file("j.xml"), "--filter", Self.filter)
    #expect(ending.status == .exited(10))
    #expect(try JUnit(parsing: try directory.contents(of: "j.xml")).errors == 1)
    #expect(try await run("test", "--all", "--rig", "pty").status == .exited(2))
    #expect(try await run("test", "--all", "-j", "0").status == .exited(2))
  }

  @Test func `in a workflow each board is a group, failures are annotations and the summary is appended`()
    async throws
  {
    try await withEmulator("--profile", "quiet") { emulator in
      let directory = try TemporaryDirectory()
      let summary = try directory.write("before\n", to: "summary")
      let ending = try await Program(
        ["test", "-p", "/dev/no-such-port", "-p", emulator.port, "--filter", Self.filter],
        environment: ["GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary]
      ).ending()
      #expect(ending.status == .exited(10))
      #expect(ending.lines.filter { $0.hasPrefix("::group::") }.count == 2)
      #expect(ending.lines.filter { $0 == "::endgroup::" }.count == 2)
      let errors = ending.lines.filter { $0.hasPrefix("::error ") }
      #expect(errors.count == 1 && errors[0].hasPrefix("::error title=/dev/no-such-port%3A run incomplete::"))
      let written = try directory.contents(of: "summary")
      #expect(written.hasPrefix("before\n## Notibot conformance\n"))
      #expect(written.contains("| ❌ | \\/dev\\/no\\-such\\-port | 0 |"))
    }
  }

  @Test(arguments: [("r.xml", 0, "is the file of a report"), ("summary", 1_000_000, "is near the 1 MiB")])
  func `a summary that cannot be appended is left out with a note`(
    name: String, bytes: Int, reason: String
  ) async throws {
    let directory = try TemporaryDirectory()
    let summary = try directory.write(String(repeating: " ", count: bytes), to: name)
    let ending = try await Program(
      ["test", "--rig", "emulator", "--filter", "^FRM-1/literal-syn", "--junit", directory.file("r.xml")],
      environment: ["GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary]
    ).ending()
    #expect(ending.status == .exited(0))
    #expect(
      ending.errorLines == [
        "the summary of the step is left out: \(summary) \(reason)\(bytes > 0 ? " that GitHub accepts" : "")"
      ])
    #expect(try directory.contents(of: "r.xml").hasSuffix("</testsuites>\n"))
  }

  @Test func `outside a workflow none of this is printed`() async throws {
    let directory = try TemporaryDirectory()
    let ending = try await Program(
      ["test", "-p", "/dev/no-such-port"], environment: ["GITHUB_STEP_SUMMARY": directory.file("summary")]
    ).ending()
    #expect(ending.status == .exited(10))
    #expect(!ending.output.contains("::") && !directory.has("summary"))
  }

  @Test func `a monitor in a workflow escapes commands to the runner`() async throws {
    let terminal = try ControlledTerminal()
    let monitor = try Program(
      ["monitor", "-p", terminal.path, "--until", "end", "--timeout", "600"],
      environment: ["GITHUB_ACTIONS": "true"])
    _ = try await monitor.errors.line(0)
    terminal.write(Array("::error::x\n  ::add-mask::y\n##[group]z\nend\n".utf8))
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    #expect(ending.lines == [#":\x3Aerror::x"#, #"  :\x3Aadd-mask::y"#, #"##\x5Bgroup]z"#, "end"])
  }
}

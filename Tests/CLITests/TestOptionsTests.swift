import Foundation
import Testing

/// `notibot test`: the selection and repetition of cases, the output, and the metadata of reports.
@Suite(.inTurn) struct TestOptionsTests {
  private func test(_ arguments: String...) async throws -> Program.Ending {
    try await Program(["test", "--rig", "emulator"] + arguments).ending()
  }

  private func testBroken(_ arguments: String...) async throws -> Program.Ending {
    try await Program(["test"] + BrokenFirmware.rig() + arguments).ending()
  }

  @Test func `the list is a document with --json`() async throws {
    let ending = try await run("test", "--list", "--filter", "FRM-1/literal-syn", "--json", "-")
    let document = try JSON(parsing: ending.output)
    #expect(document["schema"] == "notibot.conformance.cases" && document["version"] == 1)
    #expect(document["cases"].elements.map { $0["id"] } == ["FRM-1/literal-syn"])
  }

  @Test func `cases can be left out, and a run without any is a usage error`() async throws {
    let all = try await run("test", "--list", "--filter", "^FRM-1/")
    let some = try await run("test", "--list", "--filter", "^FRM-1/", "--exclude", "literal-syn")
    #expect(some.lines.count == all.lines.count - 1)
    #expect(try await run("test", "--list", "--filter", "^FRM-1/", "--exclude", ".").status == .exited(2))
    #expect(try await run("test", "--list", "--exclude", "(").status == .exited(2))
  }

  @Test func `a quiet run prints failures only, and one line`() async throws {
    let good = try await test("--filter", "^FRM-1/", "-q")
    #expect(good.status == .exited(0))
    #expect(good.lines.count == 1, "\(good.output)")
    #expect(good.errors == "")
    let bad = try await testBroken("--filter", BrokenFirmware.testCase, "-q")
    #expect(bad.status == .exited(1))
    #expect(bad.output.contains("FAIL") && bad.output.contains(BrokenFirmware.testCase))
    #expect(bad.output.contains("      \(BrokenFirmware.testCase.prefix { $0 != "/" }), docs/PROTOCOL.md: "))
    #expect(!bad.output.contains("(checked at "))
  }

  @Test func `with --fail-fast the first failure is the last case`() async throws {
    let rule = String(BrokenFirmware.testCase.prefix { $0 != "/" })
    let directory = try TemporaryDirectory()
    let ending = try await testBroken(
      "--fail-fast", "--json", directory.file("r.json"), "--filter", rule)
    #expect(ending.status == .exited(1))
    let report = try JSON(parsing: try directory.contents(of: "r.json"))
    let outcomes = report["cases"].elements.map { $0["outcome"].string ?? "" }
    #expect(outcomes.last == "failed" && outcomes.count { $0 == "failed" } == 1)
    #expect(report["rigTrouble"].string == nil)
    let again = try await testBroken("--list", "--rerun-failed", directory.file("r.json"))
    #expect(again.lines.count == 1, "\(again.errors)")
    #expect(again.output.contains(report["cases"].elements.last?["id"].string ?? "?"))
  }

  @Test func `failed cases are repeated with their seed, and the line below a failure repeats it`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let first = try await testBroken(
      "--filter", BrokenFirmware.testCase, "--seed", "77", "--repeat", "3", "--json",
      directory.file("one.json"))
    #expect(first.status == .exited(1))
    let rig = try await BrokenFirmware.rig().joined(separator: " ")
    let again = "again: notibot test \(rig) --filter '^\(BrokenFirmware.testCase)$' --seed 77"
    #expect(first.lines.contains("      \(again)"), "\(first.output)")
    let second = try await testBroken(
      "--rerun-failed", directory.file("one.json"), "--json",
      directory.file("two.json"))
    #expect(second.status == .exited(1))
    #expect(try JSON(parsing: try directory.contents(of: "two.json"))["seed"] == 77)
    let command = again.dropFirst("again: notibot ".count)
    let third = try await Program(
      ["-c", "exec \"$0\" \(command)", Program.notibot], program: "/bin/sh"
    ).ending()
    #expect(third.status == .exited(1) && third.output.contains("FAIL"))
  }

  @Test(arguments: [
    ["-p", "emu:", "--rig", "pty"], ["-p", "emu:", "--rig", "firmware"], ["-p", "emu:", "--rig", "ble"],
    ["-p", "emu:", "--rig", "chip"], ["-p", "emu:", "--control", "/s"],
    ["--rig", "emulator", "--baud", "9600"],
    ["--rig", "pty", "--control", "/s"], ["--att", "unix:/s", "--baud", "9600"],
    ["--att", "unix:/s", "--rig", "emulator"], ["-p", "qemu:", "--baud", "9600"],
    ["--list", "--junit", "/tmp/x"], ["--list", "--html", "/tmp/x"], ["--list", "--trace", "/tmp/x"],
  ])
  func `an option that the device would not use is refused`(options: [String]) async throws {
    let ending = try await Program(["test", "--filter", "^FRM-1/literal-syn"] + options).ending()
    #expect(ending.status == .exited(2), "\(ending.errors)")
    #expect(ending.output == "")
  }

  @Test func `an invalid report, or one without failures, is a usage error`() async throws {
    let directory = try TemporaryDirectory()
    let passed = directory.file("passed.json")
    #expect(try await test("--filter", "FRM-1/literal-syn", "--json", passed).status == .exited(0))
    let nonsense = try directory.write("[]", to: "x")
    let pipe = directory.file("pipe")
    try #require(mkfifo(pipe, 0o600) == 0)
    for path in [passed, "/no/such/file", nonsense, "/tmp", pipe] {
      let ending = try await run("test", "--list", "--rerun-failed", path)
      #expect(ending.status == .exited(2), "\(path): \(ending.errors)")
      #expect(ending.errors.contains(path))
    }
  }

  @Test func `a case is repeated as requested, and still counts once`() async throws {
    for (options, runs) in [([], 1), (["--repeat", "50"], 50)] as [([String], Double)] {
      let ending = try await Program(
        ["test", "--rig", "emulator", "--filter", "FRM-1/literal-syn", "--json", "-"] + options
      ).ending()
      #expect(ending.status == .exited(0))
      let report = try JSON(parsing: ending.output)
      #expect(report["cases"].elements.count == 1 && report["cases"].elements[0]["runs"].number == runs)
      #expect(report["totals"]["run"].number == 1)
    }
    #expect(try await test("--repeat", "0").status == .exited(2))
  }

  @Test func `every report contains the device and the environment`() async throws {
    try await withEmulator { emulator in
      let (junit, json) = (emulator.directory.file("r.xml"), emulator.directory.file("r.json"))
      let ending = try await Program(
        ["test", "-p", emulator.port, "--filter", "FRM-1/literal-syn", "--junit", junit, "--json", json],
        environment: [
          "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": emulator.directory.file("summary.md"),
        ]
      ).ending()
      #expect(ending.status == .exited(0), "\(ending.errors)")
      let report = try JSON(parsing: try emulator.directory.contents(of: "r.json"))
      let version = try await run("--version").lines[0]
      #expect(report["device"]["id"] == "24:6F:28:AA:BB:CC")
      #expect(report["device"]["firmware"] == "notibot" && report["device"]["build"] == "deadbeef")
      #expect(report["connection"]["bitsPerSecond"] == 921_600)
      #expect(report["bench"]["notibot"] == .string(version))
      #expect(report["bench"]["kernel"].string?.hasPrefix("Linux ") == true)
      let xml = try emulator.directory.contents(of: "r.xml")
      #expect(xml.contains(#"<property name="device.id" value="24:6F:28:AA:BB:CC"/>"#))
      #expect(xml.contains(#"<property name="bench.notibot" value="\#(version)"/>"#))
      #expect(ending.output.contains("Device  24:6F:28:AA:BB:CC, notibot, 1.0.0, build deadbeef"))
      #expect(try emulator.directory.contents(of: "summary.md").contains("notibot"))
    }
  }
}

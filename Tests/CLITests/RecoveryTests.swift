import Foundation
import Testing

/// `--recover`: what is done to a device that does not answer, and that every report says so.
@Suite(.inTurn) struct RecoveryTests {
  @Test func `steps that a pseudo-terminal cannot do are skipped and named`() async throws {
    let directory = try TemporaryDirectory()
    let terminal = try ControlledTerminal()
    let ending = try await run(
      "test", "-p", terminal.path, "--filter", "FRM-1", "--timeout", "0.5", "--recover-up-to", "power",
      "--json", "-",
      "--junit", directory.file("junit.xml"))
    #expect(ending.status == .exited(13))
    #expect(ending.errorLines.last?.contains("nothing brought it back") == true, "\(ending.errors)")
    let steps = try JSON(parsing: ending.output)["recovery"]["steps"].elements
    #expect(steps.map { $0["step"].string } == ["drain", "session", "lines", "usb", "power"])
    #expect(steps.prefix(2).allSatisfy { $0["tried"] == 1 && $0["recovered"] == 0 })
    #expect(steps.dropFirst(2).allSatisfy { $0["tried"] == 0 && $0["reason"].string?.isEmpty == false })
    let junit = try directory.contents(of: "junit.xml")
    #expect(junit.contains(#"<property name="recovery.lines" value="skipped, it has no modem lines"#))
  }

  @Test func `without the option nothing is done`() async throws {
    let terminal = try ControlledTerminal()
    let ending = try await run(
      "test", "-p", terminal.path, "--filter", "FRM-1", "--timeout", "0.5", "--json", "-")
    #expect(ending.status == .exited(13))
    #expect(try JSON(parsing: ending.output)["recovery"] == .null)
  }

  @Test(arguments: [["--rig", "emulator", "--recover"], ["--rig", "pty", "--before", "default-reset"]])
  func `what needs a port is refused without one`(options: [String]) async throws {
    let ending = try await Program(["test"] + options).ending()
    #expect(ending.status == .exited(2))
  }

  @Test(.enabled(if: Umockdev.isThere, "\(Umockdev.lack ?? "")"))
  func `a board that hangs in its loader is brought back by its lines, and the run goes on`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--stuck", "--silent"], "test", "-p", "PORT", "--filter",
        "FRM-1/literal-syn",
        "--timeout", "1", "--recover", "--json", "-")
      #expect(run.ending.status == .exited(0), "\(run.ending.errors)")
      let report = try JSON(parsing: run.ending.output)
      #expect(report["recovery"]["climbs"] == 1)
      let steps = report["recovery"]["steps"].elements
      #expect(steps.map { $0["step"].string } == ["drain", "session", "lines"])
      #expect(steps.map { $0["recovered"] } == [0, 0, 1])
      #expect(report["bootID"].string?.utf8.count == 8)
      #expect(run.lines == ["01", "00"])
    }
  }

  @Test(.enabled(if: Umockdev.isThere, "\(Umockdev.lack ?? "")"))
  func `a soak brings its board back before it begins`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--stuck", "--silent"], "soak", "-p", "PORT", "--duration", "1s",
        "--rate", "20",
        "--recover", "--json")
      #expect(run.ending.status == .exited(0), "\(run.ending.errors)")
      let report = try JSON(parsing: run.ending.output)
      #expect(report["recovery"]["steps"].elements.map { $0["recovered"] } == [0, 0, 1])
      #expect(report["delivered"].number ?? 0 > 0)
    }
  }

  @Test(.enabled(if: Umockdev.isThere, "\(Umockdev.lack ?? "")"))
  func `a run may begin and end with a reset`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--silent"], "test", "-p", "PORT", "--filter", "FRM-1/literal-syn",
        "--timeout", "5",
        "--before", "default-reset", "--after", "hard-reset")
      #expect(run.ending.status == .exited(0), "\(run.ending.errors)")
      #expect(run.lines == ["01", "00", "01", "00"])
      #expect(run.steps("boot").count == 2)
    }
  }
}

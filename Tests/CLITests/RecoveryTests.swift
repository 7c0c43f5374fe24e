import Foundation
import Testing

/// `--recover`: the recovery of a device that does not answer, in every report.
@Suite(.inTurn) struct RecoveryTests {
  @Test func `steps that a pseudo-terminal does not support are skipped and reported`() async throws {
    let directory = try TemporaryDirectory()
    let terminal = try ControlledTerminal()
    let ending = try await run(
      "test", "-p", terminal.path, "--filter", "FRM-1", "--timeout", "0.5", "--recover-up-to", "power",
      "--json", "-",
      "--junit", directory.file("junit.xml"))
    #expect(ending.status == .exited(13))
    #expect(ending.errorLines.last?.contains("no recovery step helped") == true, "\(ending.errors)")
    let steps = try JSON(parsing: ending.output)["recovery"]["steps"].elements
    #expect(steps.map { $0["step"].string } == ["drain", "session", "lines", "usb", "power"])
    #expect(steps.prefix(2).allSatisfy { $0["tried"] == 1 && $0["recovered"] == 0 })
    #expect(steps.dropFirst(2).allSatisfy { $0["tried"] == 0 && $0["reason"].string?.isEmpty == false })
    let junit = try directory.contents(of: "junit.xml")
    #expect(junit.contains(#"<property name="recovery.lines" value="skipped, no modem lines"#))
  }

  @Test func `without the option nothing is done`() async throws {
    let terminal = try ControlledTerminal()
    let ending = try await run(
      "test", "-p", terminal.path, "--filter", "FRM-1", "--timeout", "0.5", "--json", "-")
    #expect(ending.status == .exited(13))
    #expect(try JSON(parsing: ending.output)["recovery"] == .null)
  }

  @Test(arguments: [["--rig", "emulator", "--recover"], ["--rig", "pty", "--before", "default-reset"]])
  func `options that need a port are refused without one`(options: [String]) async throws {
    let ending = try await Program(["test"] + options).ending()
    #expect(ending.status == .exited(2))
  }

  @Test(.enabled(if: Umockdev.isThere, "\(Umockdev.lack ?? "")"))
  func `a board that hangs in its loader is recovered by its lines, and the run continues`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--stuck", "--silent"], "test", "-p", "PORT", "--filter",
        "FRM-1/literal-syn",
        "--timeout", "5", "--recover", "--json", "-")
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
  func `a soak recovers its board before it begins`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--stuck", "--silent"], "soak", "-p", "PORT", "--duration", "5s",
        "--rate", "20",
        "--recover", "--json")
      #expect(run.ending.status == .exited(0), "\(run.ending.errors)")
      let report = try JSON(parsing: run.ending.output)
      #expect(report["recovery"]["steps"].elements.map { $0["recovered"] } == [0, 0, 1])
      #expect(report["delivered"].number ?? 0 > 0)
    }
  }

  @Test(.enabled(if: Umockdev.isThere, "\(Umockdev.lack ?? "")"))
  func `a board that restarts while it is probed is probed again`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--stuck", "--silent", "--restart-again"], "test", "-p", "PORT",
        "--filter", "FRM-1/literal-syn", "--timeout", "5", "--recover", "--json", "-")
      #expect(run.ending.status == .exited(0), "\(run.ending.errors)")
      #expect(run.steps("restart").count == 1)
      let steps = try JSON(parsing: run.ending.output)["recovery"]["steps"].elements
      #expect(steps.map { $0["recovered"] } == [0, 0, 1])
    }
  }

  @Test(.enabled(if: Umockdev.isThere, "\(Umockdev.lack ?? "")"))
  func `a soak recovers a board that hangs meanwhile, and loses nothing`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--silent", "--stick-after", "3"], "soak", "-p", "PORT", "--duration",
        "40s", "--rate", "20", "--recover", "--json")
      #expect(run.ending.status == .exited(0), "\(run.ending.errors)")
      let report = try JSON(parsing: run.ending.output)
      #expect(report["recovery"]["climbs"] == 1)
      #expect(report["recovery"]["steps"].elements.map { $0["recovered"] } == [0, 0, 1])
      #expect(report["lost"] == 0 && report["doubled"] == 0 && report["undelivered"] == 0)
      #expect(report["delivered"].number ?? 0 > 0 && report["delivered"] == report["queued"])
      #expect(run.steps("stick").count == 1 && run.lines == ["01", "00"])
    }
  }

  @Test(
    .enabled(if: Umockdev.isThere, "\(Umockdev.lack ?? "")"),
    arguments: [
      ["test", "--filter", "FRM-1/literal-syn", "--timeout", "5"],
      ["soak", "--duration", "5s", "--rate", "20"],
    ], [["--vanish-after", "0"], ["--vanish-after", "700"], ["--vanish-error"]])
  func `a board that returns under another name is used there`(
    command: [String], leaving: [String]
  ) async throws {
    try await withEmulator { emulator in
      let board = Umockdev.behind(emulator) + ["--stuck", "--silent", "--vanish", "--rename"] + leaving
      let json = command[0] == "test" ? ["--json", "-"] : ["--json"]
      let run = try await Umockdev.run(board, command + ["-p", "PORT", "--recover"] + json)
      #expect(run.ending.status == .exited(0), "\(run.ending.errors)")
      let moves = run.steps.filter { ["add", "remove"].contains($0.call) }
      #expect(moves.map(\.call) == ["add", "remove", "add"], "\(run.steps)")
      let steps = try JSON(parsing: run.ending.output)["recovery"]["steps"].elements
      #expect(steps.map { $0["recovered"] } == [0, 0, 1])
    }
  }

  @Test(
    .enabled(if: Umockdev.isThere, "\(Umockdev.lack ?? "")"),
    arguments: ["PORT", "auto", "id:24:6F:28:AA:BB:CC"])
  func `a run can begin and end with a reset, with any form of port name`(name: String) async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--silent"], "test", "-p", name, "--filter", "FRM-1/literal-syn",
        "--timeout", "5",
        "--before", "default-reset", "--after", "hard-reset")
      #expect(run.ending.status == .exited(0), "\(run.ending.errors)")
      #expect(run.lines == ["01", "00", "01", "00"])
      #expect(run.steps("boot").count == 2)
    }
  }
}

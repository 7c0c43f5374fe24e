import Foundation
import Glibc
import Testing

/// `reset` without a board or without a way to reset it.
@Suite(.inTurn) struct ResetTests {
  private func expect(
    _ ending: Program.Ending, _ code: Int32, with parts: [String],
    _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(ending.status == .exited(code), "\(ending.errors)", sourceLocation: location)
    #expect(ending.output == "", sourceLocation: location)
    #expect(ending.errorLines.count == 1, "\(ending.errors)", sourceLocation: location)
    for part in parts { #expect(ending.errors.contains(part), "\(ending.errors)", sourceLocation: location) }
    #expect(!ending.errors.hasControls, sourceLocation: location)
  }

  @Test(arguments: [
    ["--into", "moon"], ["--strategy", "nope"], ["--sequence", "D0|"], ["--sequence", "W99"],
    ["--sequence", "D0|\u{1B}[2J"], ["--strategy", "hard", "--usb"], ["--usb", "--power"],
    ["--strategy", "hard", "--into", "loader"], ["--usb", "--into", "loader"], ["--timeout", "0"],
    ["--before", "soft-reset"], ["--after", "soft-reset"],
  ])
  func `contradictory options are refused before the port is opened`(options: [String]) async throws {
    let ending = try await Program(["reset", "-p", "/dev/no-such-port"] + options).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.output == "")
    #expect(!ending.errors.hasControls)
  }

  @Test(arguments: [[], ["--usb"], ["--power"], ["--into", "loader"]])
  func `a missing port is noBoard`(options: [String]) async throws {
    let ending = try await Program(["reset", "-p", "/dev/no-such-port"] + options).ending()
    expect(ending, 10, with: ["/dev/no-such-port", "no such port"])
  }

  @Test func `a pseudo-terminal has no lines, and the hint names the alternative`() async throws {
    try await withEmulator { emulator in
      let before = try await run("count", "--json", "-p", emulator.port)
      expect(
        try await run("reset", "-p", emulator.port), 2,
        with: [emulator.port, "no modem lines", "notibot control --socket PATH reboot"])
      #expect(try await run("count", "--json", "-p", emulator.port).output == before.output)
    }
  }

  @Test(arguments: ["--usb", "--power"])
  func `USB options are refused for a port that is not on USB`(option: String) async throws {
    let terminal = try ControlledTerminal()
    expect(try await run("reset", option, "-p", terminal.path), 2, with: [terminal.path, "not a USB port"])
  }

  @Test(arguments: ["emu:", "qemu:"])
  func `a device without a port has no lines`(name: String) async throws {
    expect(try await run("reset", "-p", name), 2, with: [name, "no modem lines", "reboot"])
  }

  @Test func `a port locked by another program is busy`() async throws {
    let terminal = try ControlledTerminal()
    let holder = try Program(
      ["-n", terminal.path, "sh", "-c", "echo held; read line"], program: "/usr/bin/flock", input: nil)
    #expect(try await holder.output.line(0) == "held")
    for options in [[], ["--into", "loader"]] {
      expect(
        try await Program(["reset", "-p", terminal.path] + options).ending(), 11,
        with: [terminal.path, "in use by process \(holder.pid)"])
    }
    holder.closeInput()
    _ = await holder.ending()
  }

  @Test(
    .enabled(if: Privilege.canBeGivenUp, "setpriv cannot take the right to open everything from root here"))
  func `a port without permission has a hint how to get it`() async throws {
    let terminal = try ControlledTerminal()
    chmod(terminal.path, 0)
    expect(
      try await Privilege.run(["reset", "-p", terminal.path]), 12, with: [terminal.path, "permission denied"])
  }

  @Test func `attaching twice does not restart the device`() async throws {
    try await withEmulator { emulator in
      let first = try JSON(parsing: try await run("count", "--json", "-p", emulator.port).output)
      let second = try JSON(parsing: try await run("count", "--json", "-p", emulator.port).output)
      #expect(first["bootID"].string?.utf8.count == 8)
      #expect(first["bootID"].string == second["bootID"].string)
      try await emulator.ask(["command": "reboot"])
      let third = try JSON(
        parsing: try await run("count", "--json", "--timeout", "600", "-p", emulator.port).output)
      #expect(third["bootID"].string != first["bootID"].string)
    }
  }
}

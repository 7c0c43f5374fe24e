import Foundation
import Glibc
import Testing

/// What `reset` says where there is nothing to reset, or no way to.
@Suite(.inTurn) struct ResetTests {
  private func expect(
    _ ending: Program.Ending, _ code: Int32, says parts: [String],
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
  func `what cannot be meant is refused before the port is opened`(options: [String]) async throws {
    let ending = try await Program(["reset", "-p", "/dev/no-such-port"] + options).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.output == "")
    #expect(!ending.errors.hasControls)
  }

  @Test(arguments: [[], ["--usb"], ["--power"], ["--into", "loader"]])
  func `a port that does not exist is no board`(options: [String]) async throws {
    let ending = try await Program(["reset", "-p", "/dev/no-such-port"] + options).ending()
    expect(ending, 10, says: ["/dev/no-such-port", "no such port"])
  }

  @Test func `a pseudo-terminal has no lines, and the message says what else there is`() async throws {
    try await withEmulator { emulator in
      let before = try await run("count", "--json", "-p", emulator.port)
      expect(
        try await run("reset", "-p", emulator.port), 2,
        says: [emulator.port, "no modem lines", "notibot control --socket PATH reboot"])
      #expect(try await run("count", "--json", "-p", emulator.port).output == before.output)
    }
  }

  @Test(arguments: ["--usb", "--power"])
  func `what is below USB cannot be done to a port that is not on USB`(option: String) async throws {
    let terminal = try ControlledTerminal()
    expect(try await run("reset", option, "-p", terminal.path), 2, says: [terminal.path, "not a USB port"])
  }

  @Test(arguments: ["emu:", "qemu:"])
  func `what has no port has no lines`(name: String) async throws {
    expect(try await run("reset", "-p", name), 2, says: [name, "no modem lines", "reboot"])
  }

  @Test func `a port that another program has locked is busy`() async throws {
    let terminal = try ControlledTerminal()
    let holder = try Program(
      ["-n", terminal.path, "sh", "-c", "echo held; read line"], program: "/usr/bin/flock", input: nil)
    #expect(try await holder.output.line(0) == "held")
    for options in [[], ["--into", "loader"]] {
      expect(
        try await Program(["reset", "-p", terminal.path] + options).ending(), 11,
        says: [terminal.path, "in use by process \(holder.pid)"])
    }
    holder.closeInput()
    _ = await holder.ending()
  }

  @Test(
    .enabled(if: Privilege.canBeGivenUp, "setpriv cannot take the right to open everything from root here"))
  func `a port that the user may not open says how to get permission`() async throws {
    let terminal = try ControlledTerminal()
    chmod(terminal.path, 0)
    expect(
      try await Privilege.run(["reset", "-p", terminal.path]), 12, says: [terminal.path, "permission denied"])
  }

  @Test func `attaching twice does not restart the device`() async throws {
    try await withEmulator { emulator in
      let first = try JSON(parsing: try await run("count", "--json", "-p", emulator.port).output)
      let second = try JSON(parsing: try await run("count", "--json", "-p", emulator.port).output)
      #expect(first["bootID"].string?.utf8.count == 8)
      #expect(first["bootID"].string == second["bootID"].string)
      try await emulator.ask(["command": "reboot"])
      let third = try JSON(
        parsing: try await run("count", "--json", "--timeout", "5", "-p", emulator.port).output)
      #expect(third["bootID"].string != first["bootID"].string)
    }
  }
}

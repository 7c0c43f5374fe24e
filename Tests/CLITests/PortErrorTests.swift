import Foundation
import Glibc
import Testing

/// What is wrong with a port: the exit code, and one line that says what, which port, why, and what to do about it.
@Suite(.inTurn) struct PortErrorTests {
  /// Far more than the 2 s that a host waits for an answer, on a busy machine, too; only a hang is longer.
  static let hangGuard = Duration.seconds(60)

  /// Commands that open a port; each must fail alike.
  static let portCommands = [
    ["count"], ["count", "--json"], ["watch"], ["send", "--app", "a"], ["bench", "--count", "1"], ["test"],
  ]

  private func expect(
    _ ending: Program.Ending, _ code: Int32, says parts: [String],
    _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(ending.status == .exited(code), sourceLocation: location)
    #expect(ending.output == "", sourceLocation: location)
    #expect(ending.errorLines.count == 1, "\(ending.errors)", sourceLocation: location)
    #expect(ending.errors.hasPrefix("notibot: "), sourceLocation: location)
    for part in parts {
      #expect(ending.errors.contains(part), "\(ending.errors)", sourceLocation: location)
    }
    #expect(ending.duration < Self.hangGuard, sourceLocation: location)
  }

  @Test(arguments: portCommands)
  func `a port that does not exist is no board`(command: [String]) async throws {
    let ending = try await Program(command + ["-p", "/dev/no-such-port"]).ending()
    expect(ending, 10, says: ["/dev/no-such-port", "no such port", "present"])
  }

  @Test func `a link that leads nowhere is no board`() async throws {
    let directory = try TemporaryDirectory()
    try FileManager.default.createSymbolicLink(
      atPath: directory.file("port"), withDestinationPath: "/dev/pts/no-such-terminal")
    expect(
      try await run("count", "-p", directory.file("port")), 10,
      says: [directory.file("port"), "no such port"])
  }

  @Test(arguments: portCommands)
  func `a file is no serial port`(command: [String]) async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write("precious", to: "file")
    let ending = try await Program(command + ["-p", file]).ending()
    expect(ending, 2, says: [file, "not a serial port", "use a serial port"])
    #expect(try directory.contents(of: "file") == "precious")
  }

  @Test(arguments: ["/dev/null", "/tmp"])
  func `what is no terminal is no serial port`(path: String) async throws {
    expect(try await run("count", "-p", path), 2, says: [path, "not a serial port"])
  }

  @Test(arguments: ["bogus", "ttyUSB0", "usb:12", "socket://host", "gopher://host:1", ""])
  func `a name that is no port's is refused with the forms there are`(name: String) async throws {
    expect(try await run("count", "-p", name), 2, says: ["use one of: /dev/NAME"])
  }

  @Test func `a network port that nobody serves is no board`() async throws {
    let ending = try await run("count", "-p", "socket://127.0.0.1:1")
    expect(ending, 10, says: ["socket://127.0.0.1:1: Connection refused", "check host and port"])
  }

  @Test func `a port that another program has locked is busy, and the message names that program`()
    async throws
  {
    let terminal = try ControlledTerminal()
    let holder = try Program(
      ["-n", terminal.path, "sh", "-c", "echo held; read line"], program: "/usr/bin/flock", input: nil)
    #expect(try await holder.output.line(0) == "held")
    for command in Self.portCommands {
      let ending = try await Program(command + ["-p", terminal.path]).ending()
      expect(
        ending, 11,
        says: [terminal.path, "in use by process \(holder.pid) (/usr/bin/flock -n", "stop process"])
    }
    holder.closeInput()
    #expect(await holder.ending().status == .exited(1))
    #expect(terminal.receivedBytes() == [])
  }

  @Test func `a port that another notibot uses is busy, and is left alone`() async throws {
    try await withEmulator { emulator in
      let watch = try Program(["watch", "--json", "-p", emulator.port])
      _ = try await watch.output.line(0)
      let ending = try await run("count", "-p", emulator.port)
      expect(ending, 11, says: [emulator.port, "in use by process \(watch.pid) ", "notibot watch"])
      try await emulator.ask(["command": "fill", "count": 1])
      #expect(try await watch.output.line(1).contains(#""count":1"#))
    }
  }

  @Test(.enabled(if: Nobody.canLeaveLocks, "needs root, setpriv and a lock directory for all"))
  func `the lock file of another user's dead process locks nobody out`() async throws {
    let terminal = try ControlledTerminal()
    #expect(chown(terminal.path, 65534, 65534) == 0)
    let lock = "/var/lock/LCK..\(terminal.path.dropFirst("/dev/".count).replacing("/", with: "_"))"
    let dead = try Program([], program: "/bin/true")
    _ = await dead.ending()
    try Data("\(dead.pid)\n".utf8).write(to: URL(fileURLWithPath: lock))
    defer { unlink(lock) }
    expect(try await Nobody.run(["count", "-p", terminal.path]), 13, says: [terminal.path])
  }

  @Test(
    .enabled(if: Privilege.canBeGivenUp, "setpriv cannot take the right to open everything from root here"))
  func `a port that the user may not open says how to get permission`() async throws {
    let terminal = try ControlledTerminal()
    chmod(terminal.path, 0)
    let ending = try await Privilege.run(["count", "-p", terminal.path])
    expect(ending, 12, says: [terminal.path, "permission denied", "ls -l \(terminal.path)"])
  }

  @Test(
    .enabled(if: Privilege.canBeGivenUp, "setpriv cannot take the right to open everything from root here"))
  func `a port that a group may open says which group`() async throws {
    let terminal = try ControlledTerminal()
    // The owner's own bits come before the group's; group 5 is `tty` on Debian and Ubuntu.
    #expect(chown(terminal.path, geteuid(), geteuid() == 0 ? 5 : getegid()) == 0)
    chmod(terminal.path, 0o060)
    let ending = try await Privilege.run(["count", "-p", terminal.path])
    expect(ending, 12, says: [terminal.path, "permission denied", "sudo usermod -a -G "])
  }

  @Test(arguments: portCommands)
  func `a port where nothing answers`(command: [String]) async throws {
    let terminal = try ControlledTerminal()
    let ending = try await Program(command + ["-p", terminal.path]).ending()
    expect(ending, 13, says: [terminal.path, "check"])
    #expect(!terminal.receivedBytes().isEmpty)
  }

  @Test(arguments: portCommands)
  func `a port that prints log text only`(command: [String]) async throws {
    let terminal = try ControlledTerminal(
      printing: "I (31) boot: \u{1B}[2J\u{1B}]0;owned\u{7}\u{9B}31m text\r\n")
    let ending = try await Program(command + ["-p", terminal.path]).ending()
    expect(ending, 13, says: [terminal.path, "check that"])
    #expect(!ending.errors.hasControls)
  }

  @Test func `whoever prints log text only is told apart from whoever is silent`() async throws {
    let silent = try ControlledTerminal()
    let chatty = try ControlledTerminal(printing: "hello\r\n")
    async let first = run("count", "-p", silent.path)
    async let second = run("count", "-p", chatty.path)
    #expect(try await first.errors.contains("no answer"))
    #expect(try await second.errors.contains("no answer, only console text"))
  }

  @Test func `a loopback plug is no Notibot`() async throws {
    let plug = try ControlledTerminal { bytes, answer in answer(bytes) }
    expect(try await run("count", "-p", plug.path), 13, says: [plug.path])
  }

  @Test(.enabled(if: Boards.areAbsent, "a board is connected, and 'auto' would speak to it"))
  func `auto without a known board says which ports it did not dare to try`() async throws {
    for environment in [
      [:], ["NOTIBOT_PORT": "auto"], ["ESPPORT": "auto"], ["NOTIBOT_PORT": "", "ESPPORT": ""],
    ] {
      expect(
        try await run("count", environment: environment), 10, says: ["find auto", "no known board", "--port"])
    }
  }

  @Test func `the option wins over NOTIBOT_PORT, and that over ESPPORT`() async throws {
    let environment = ["NOTIBOT_PORT": "/dev/no-notibot", "ESPPORT": "/dev/no-esp"]
    let option = try await run("count", "-p", "/dev/no-option", environment: environment)
    expect(option, 10, says: ["/dev/no-option"])
    expect(try await run("count", environment: environment), 10, says: ["/dev/no-notibot"])
    expect(try await run("count", environment: ["ESPPORT": "/dev/no-esp"]), 10, says: ["/dev/no-esp"])
    let empty = ["NOTIBOT_PORT": "", "ESPPORT": "/dev/no-esp"]
    expect(try await run("count", environment: empty), 10, says: ["/dev/no-esp"])
  }

  @Test func `the environment's port is used`() async throws {
    let ending = try await run("count", environment: ["NOTIBOT_PORT": "emu:", "ESPPORT": "/dev/no-esp"])
    #expect(ending.status == .exited(0))
    #expect(ending.output == "0\n")
  }

  @Test(
    arguments: ["NOTIBOT_BAUD", "ESPBAUD"], ["abc", "0", "-1", "99999999999999999999", "9600 ", "\u{1B}[2J"])
  func `a rate from the environment that is none names the variable`(name: String, value: String) async throws
  {
    let ending = try await run("count", "-p", "emu:", environment: [name: value])
    expect(ending, 2, says: ["from \(name)", "--baud"])
    #expect(!ending.errors.hasControls)
  }

  @Test func `a port from the environment that is none names the variable`() async throws {
    let ending = try await run("count", environment: ["NOTIBOT_PORT": "\u{1B}[2Jx"])
    expect(ending, 2, says: ["from NOTIBOT_PORT"])
    #expect(!ending.errors.hasControls)
    expect(try await run("test", environment: ["ESPPORT": "x"]), 2, says: ["from ESPPORT"])
  }

  @Test func `a rate from the option wins over one from the environment`() async throws {
    let environment = ["NOTIBOT_BAUD": "abc", "ESPBAUD": "def"]
    #expect(
      try await run("count", "-p", "emu:", "-b", "115200", environment: environment).status == .exited(0))
    expect(
      try await run("count", "-p", "emu:", "-b", "x", environment: ["NOTIBOT_BAUD": "1"]), 2,
      says: ["from --baud"])
  }

  @Test func `a name with escape sequences reaches the terminal without them`() async throws {
    let ending = try await run("count", "-p", "/dev/\u{1B}[2J\u{9B}2J\u{7}")
    expect(ending, 10, says: ["/dev/"])
    #expect(!ending.errors.hasControls)
  }
}

import Foundation
import Glibc
import Testing

/// Port errors: the exit code, and one line with operation, port, reason and hint.
@Suite(.inTurn) struct PortErrorTests {
  /// Far more than the 2 s that a host waits for an answer, even on a busy computer; only a hang is
  /// longer.
  static let hangGuard = Duration.seconds(60)

  /// Commands that open a port; all must fail in the same way.
  static let portCommands = [
    ["count"], ["count", "--json"], ["watch"], ["send", "--app", "a"], ["bench", "--count", "1"], ["test"],
  ]

  private func expect(
    _ ending: Program.Ending, _ code: Int32, with parts: [String],
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
  func `a missing port is noBoard`(command: [String]) async throws {
    let ending = try await Program(command + ["-p", "/dev/no-such-port"]).ending()
    expect(ending, 10, with: ["/dev/no-such-port", "no such port", "present"])
  }

  @Test func `a dangling link is noBoard`() async throws {
    let directory = try TemporaryDirectory()
    try FileManager.default.createSymbolicLink(
      atPath: directory.file("port"), withDestinationPath: "/dev/pts/no-such-terminal")
    expect(
      try await run("count", "-p", directory.file("port")), 10,
      with: [directory.file("port"), "no such port"])
  }

  @Test(arguments: portCommands)
  func `a file is not a serial port`(command: [String]) async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write("precious", to: "file")
    let ending = try await Program(command + ["-p", file]).ending()
    expect(ending, 2, with: [file, "not a serial port", "use a serial port"])
    #expect(try directory.contents(of: "file") == "precious")
  }

  @Test(arguments: ["/dev/null", "/tmp"])
  func `a path other than a terminal is not a serial port`(path: String) async throws {
    expect(try await run("count", "-p", path), 2, with: [path, "not a serial port"])
  }

  @Test(arguments: ["bogus", "ttyUSB0", "usb:12", "socket://host", "gopher://host:1", ""])
  func `an invalid port name is refused with the list of forms`(name: String) async throws {
    expect(try await run("count", "-p", name), 2, with: ["/dev/NAME, auto, usb:"])
  }

  @Test func `a network port without a server is noBoard`() async throws {
    let ending = try await run("count", "-p", "socket://127.0.0.1:1")
    expect(ending, 10, with: ["socket://127.0.0.1:1: Connection refused", "check host and port"])
  }

  @Test func `a port locked by another program is busy, and the message names that program`()
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
        with: [terminal.path, "in use by process \(holder.pid) (/usr/bin/flock -n", "stop process"])
    }
    holder.closeInput()
    #expect(await holder.ending().status == .exited(1))
    #expect(terminal.receivedBytes() == [])
  }

  @Test func `a port in use by another notibot is busy, and not affected`() async throws {
    try await withEmulator { emulator in
      let watch = try Program(["watch", "--json", "-p", emulator.port])
      _ = try await watch.output.line(0)
      let ending = try await run("count", "-p", emulator.port)
      expect(ending, 11, with: [emulator.port, "in use by process \(watch.pid) ", "notibot watch"])
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
    expect(try await Nobody.run(["count", "-p", terminal.path]), 13, with: [terminal.path])
  }

  @Test(
    .enabled(if: Privilege.canBeGivenUp, "setpriv cannot take the right to open everything from root here"))
  func `a port without permission has a hint how to get it`() async throws {
    let terminal = try ControlledTerminal()
    chmod(terminal.path, 0)
    let ending = try await Privilege.run(["count", "-p", terminal.path])
    expect(ending, 12, with: [terminal.path, "permission denied", "ls -l \(terminal.path)"])
  }

  @Test(
    .enabled(if: Privilege.canBeGivenUp, "setpriv cannot take the right to open everything from root here"))
  func `a port that a group can open has the group in its hint`() async throws {
    let terminal = try ControlledTerminal()
    // The owner's own bits come before the group's; group 5 is `tty` on Debian and Ubuntu.
    #expect(chown(terminal.path, geteuid(), geteuid() == 0 ? 5 : getegid()) == 0)
    chmod(terminal.path, 0o060)
    let ending = try await Privilege.run(["count", "-p", terminal.path])
    expect(ending, 12, with: [terminal.path, "permission denied", "sudo usermod -a -G "])
  }

  @Test(arguments: portCommands)
  func `a port without an answer is noAnswer`(command: [String]) async throws {
    let terminal = try ControlledTerminal()
    let ending = try await Program(command + ["-p", terminal.path]).ending()
    expect(ending, 13, with: [terminal.path, "check"])
    #expect(!terminal.receivedBytes().isEmpty)
  }

  @Test(arguments: portCommands)
  func `a port with log text only is noAnswer`(command: [String]) async throws {
    let terminal = try ControlledTerminal(
      printing: "I (31) boot: \u{1B}[2J\u{1B}]0;owned\u{7}\u{9B}31m text\r\n")
    let ending = try await Program(command + ["-p", terminal.path]).ending()
    expect(ending, 13, with: [terminal.path, "check that"])
    #expect(!ending.errors.hasControls)
  }

  @Test func `a port with log text only is distinguished from a silent one`() async throws {
    let silent = try ControlledTerminal()
    let chatty = try ControlledTerminal(printing: "hello\r\n")
    async let first = run("count", "-p", silent.path)
    async let second = run("count", "-p", chatty.path)
    #expect(try await first.errors.contains("no answer"))
    #expect(try await second.errors.contains("no answer, only console text"))
  }

  @Test(arguments: portCommands.filter { $0 != ["test"] } + [["test", "-q"]])
  func `a loopback plug is not a Notibot`(command: [String]) async throws {
    let plug = try ControlledTerminal { bytes, answer in answer(bytes) }
    let ending = try await Program(command + ["-p", plug.path]).ending()
    #expect(ending.status == .exited(13))
    #expect(ending.errors.contains("only the frames of this host come back"), "\(ending.errors)")
  }

  @Test(
    arguments: [
      (
        "rst:0x8 (TG1WDT_SYS_RST),boot:0xc (SPI_FAST_FLASH_BOOT)\r\nI (31) boot: on\r\n", 17,
        "I (31) boot: on"
      ),
      ("rst:0x1 (POWERON),boot:0x4 (DOWNLOAD)\r\nwaiting for download\r\n", 13, "waits for a download"),
      (String(repeating: "\u{1}\u{2}\u{3}\u{81}", count: 20), 13, "not text"),
      ("I (9) app: other firmware\r\n", 13, "'I (9) app: other firmware'"),
    ] as [(String, Int32, String)], [["count"], ["send", "--app", "a"], ["test", "-q"]])
  func `what a board prints instead of an answer names the fault`(
    fault: (text: String, code: Int32, words: String), command: [String]
  ) async throws {
    let terminal = try ControlledTerminal(printing: fault.text)
    let ending = try await Program(command + ["-p", terminal.path]).ending()
    #expect(ending.status == .exited(fault.code), "\(ending.errors)")
    #expect(ending.errors.contains(fault.words) && !ending.errors.hasControls, "\(ending.errors)")
  }

  @Test(.enabled(if: Boards.areAbsent, "a board is connected, and 'auto' would speak to it"))
  func `auto without a known board lists the unknown ports`() async throws {
    for environment in [
      [:], ["NOTIBOT_PORT": "auto"], ["ESPPORT": "auto"], ["NOTIBOT_PORT": "", "ESPPORT": ""],
    ] {
      expect(
        try await run("count", environment: environment), 10, with: ["find auto", "no known board", "--port"])
    }
  }

  @Test func `the option wins over NOTIBOT_PORT, and that over ESPPORT`() async throws {
    let environment = ["NOTIBOT_PORT": "/dev/no-notibot", "ESPPORT": "/dev/no-esp"]
    let option = try await run("count", "-p", "/dev/no-option", environment: environment)
    expect(option, 10, with: ["/dev/no-option"])
    expect(try await run("count", environment: environment), 10, with: ["/dev/no-notibot"])
    expect(try await run("count", environment: ["ESPPORT": "/dev/no-esp"]), 10, with: ["/dev/no-esp"])
    let empty = ["NOTIBOT_PORT": "", "ESPPORT": "/dev/no-esp"]
    expect(try await run("count", environment: empty), 10, with: ["/dev/no-esp"])
  }

  @Test func `the environment's port is used`() async throws {
    let ending = try await run("count", environment: ["NOTIBOT_PORT": "emu:", "ESPPORT": "/dev/no-esp"])
    #expect(ending.status == .exited(0))
    #expect(ending.output == "0\n")
  }

  @Test(
    arguments: ["NOTIBOT_BAUD", "ESPBAUD"], ["abc", "0", "-1", "99999999999999999999", "9600 ", "\u{1B}[2J"])
  func `an invalid rate from the environment names the variable`(name: String, value: String) async throws {
    let ending = try await run("count", "-p", "emu:", environment: [name: value])
    expect(ending, 2, with: ["from \(name)", "--baud"])
    #expect(!ending.errors.hasControls)
  }

  @Test func `an invalid port from the environment names the variable`() async throws {
    let ending = try await run("count", environment: ["NOTIBOT_PORT": "\u{1B}[2Jx"])
    expect(ending, 2, with: ["from NOTIBOT_PORT"])
    #expect(!ending.errors.hasControls)
    expect(try await run("test", environment: ["ESPPORT": "x"]), 2, with: ["from ESPPORT"])
  }

  @Test func `a rate from the option wins over one from the environment`() async throws {
    let environment = ["NOTIBOT_BAUD": "abc", "ESPBAUD": "def"]
    #expect(
      try await run("count", "-p", "emu:", "-b", "115200", environment: environment).status == .exited(0))
    expect(
      try await run("count", "-p", "emu:", "-b", "x", environment: ["NOTIBOT_BAUD": "1"]), 2,
      with: ["from --baud"])
  }

  @Test func `a name with escape sequences reaches the terminal without them`() async throws {
    let ending = try await run("count", "-p", "/dev/\u{1B}[2J\u{9B}2J\u{7}")
    expect(ending, 10, with: ["/dev/"])
    #expect(!ending.errors.hasControls)
  }
}

import Foundation
import Glibc
import Testing

/// `notibot monitor` without a terminal, as a CI job runs it.
@Suite(.inTurn) struct MonitorTests {
  private func log(_ emulator: Emulator, _ text: String) async throws {
    try await emulator.ask(["command": "log", "text": .string(text)])
  }

  /// A monitor whose port is open.
  private func startMonitor(_ port: String, _ options: String...) async throws -> Program {
    let monitor = try Program(["monitor", "-p", port] + options)
    _ = try await monitor.errors.line(0)
    return monitor
  }

  @Test func `it ends with 0 at the expected line`() async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      let monitor = try await startMonitor(emulator.port, "--until", #"ready \d+"#, "--timeout", "600")
      try await log(emulator, "starting")
      try await log(emulator, "ready 42")
      let ending = await monitor.ending()
      #expect(ending.status == .exited(0))
      #expect(ending.output.contains("starting\n") && ending.output.hasSuffix("ready 42\n"))
      try await expectFree(emulator)
    }
  }

  @Test func `it ends with 1 at a forbidden line, even if both match`() async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      let monitor = try await startMonitor(
        emulator.port, "--until", "test", "--fail-on", "FAIL", "--json", "--timeout", "600")
      try await log(emulator, "test FAILED")
      let ending = await monitor.ending()
      #expect(ending.status == .exited(1))
      #expect(ending.errorLines.last?.contains("'FAIL' matched --fail-on") == true)
      let last = try JSON(parsing: try #require(ending.lines.last))
      #expect(last["event"] == "end" && last["reason"] == "failOn" && last["match"] == "FAIL")
    }
  }

  @Test(arguments: [(["--until", "never"], 13), ([], 0)] as [([String], Int32)])
  func `after its time limit it ends with 13 if a line was expected, otherwise with 0`(
    options: [String], code: Int32
  )
    async throws
  {
    let terminal = try ControlledTerminal()
    let monitor = try Program(["monitor", "-p", terminal.path, "--timeout", "0.3", "--json"] + options)
    let ending = await monitor.ending()
    #expect(ending.status == .exited(code))
    #expect(try JSON(parsing: try #require(ending.lines.last))["reason"] == "timeout")
    #expect(terminal.receivedBytes() == [], "a monitor sends nothing")
  }

  @Test func `a prompt without a line end is matched`() async throws {
    let terminal = try ControlledTerminal()
    let monitor = try await startMonitor(
      terminal.path, "--until", "^esp> $", "--match-prompts", "--timeout", "600")
    terminal.write(Array("hello\r\nesp> ".utf8))
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    #expect(ending.output == "hello\nesp> \n")
  }

  @Test func `the end of an unfinished line is no end`() async throws {
    let terminal = try ControlledTerminal()
    let monitor = try await startMonitor(
      terminal.path, "--until", "ok$", "--fail-on", "failed", "--json", "--timeout", "600")
    terminal.write(Array("tests 1/10 ok".utf8))
    // It was matched when it is printed.
    #expect(try await monitor.output.line(2).contains("silence"))
    terminal.write(Array(", 9 failed\r\n".utf8))
    #expect(await monitor.ending().status == .exited(1))
  }

  private static let watchdog = """
    E (9) task_wdt: Task watchdog got triggered. The following tasks/users did not reset the watchdog in time:\r
    E (9) task_wdt:  - IDLE0 (CPU 0)\r
    \r
    Backtrace: 0x400D5E6C:0x3FFB1060 0x400D5F2B:0x3FFB1080\r\n
    """

  @Test(arguments: [0, 60, 200])
  func `a warning withholds no line and decides nothing`(count: Int) async throws {
    let terminal = try ControlledTerminal()
    let monitor = try await startMonitor(terminal.path, "--until", "^done", "--json", "--timeout", "600")
    let lines = (0..<count).map { "I (10) app: still running \($0)\r\n" }
    terminal.write(Array((Self.watchdog + lines.joined() + "done\r\nlater\r\n").utf8))
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    let records = try ending.lines.map { try JSON(parsing: $0) }
    #expect(records.count { $0["event"] == "text" } == 5 + count)
    #expect(records.count { $0["event"] == "warning" && $0["kind"] == "watchdog" } == 1)
    #expect(records.last?["lines"] == .number(Double(5 + count)), "\(ending.output)")
  }

  @Test func `a line inside a crash ends it, and both are printed`() async throws {
    let terminal = try ControlledTerminal()
    let monitor = try await startMonitor(
      terminal.path, "--until", "register dump", "--json", "--timeout", "600")
    let panic = "Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.\r\n\r\n"
    terminal.write(Array((panic + "Core  0 register dump:\r\nPC      : 0x400d0001\r\nRebooting...\r\n").utf8))
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    let events = try ending.lines.map { try JSON(parsing: $0)["event"] }
    #expect(events == ["start", "opened", "text", "text", "text", "crash", "end"], "\(ending.output)")
    // What came behind it was not interpreted.
    let bytes = panic.utf8.count + "Core  0 register dump:\r".utf8.count
    #expect(try JSON(parsing: try #require(ending.lines.last))["bytes"] == .number(Double(bytes)))
  }

  @Test func `deep sleep is no reboot loop`() async throws {
    let terminal = try ControlledTerminal()
    let monitor = try await startMonitor(terminal.path, "--until", "all sent", "--timeout", "600")
    let wake = "rst:0x5 (DEEPSLEEP_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\nI (30) boot: fast\r\n"
    terminal.write(Array((String(repeating: wake, count: 5) + "all sent\r\n").utf8))
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    #expect(ending.output.contains("--- the device starts: DEEPSLEEP_RESET\n"))
  }

  @Test func `a filter hides lines of the log, which expressions still match`() async throws {
    let terminal = try ControlledTerminal()
    let monitor = try await startMonitor(
      terminal.path, "--filter", "*:W wifi:I", "--until", "ready", "--timeout", "600", "--color", "always")
    terminal.write(Array("I (1) wifi: up\r\nI (2) main: hidden\r\nE (3) main: bad\r\nplain\r\n".utf8))
    terminal.write(Array("I (4) main: ready\r\n".utf8))
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    #expect(
      ending.output
        == "\u{1B}[0;32mI (1) wifi: up\u{1B}[0m\n\u{1B}[0;31mE (3) main: bad\u{1B}[0m\nplain\n")
    #expect(ending.errors.contains("2 lines were not printed"))
  }

  @Test func `core dumps are saved under new names, and a gdb stub is announced`() async throws {
    let (terminal, directory) = (try ControlledTerminal(), try TemporaryDirectory())
    _ = try directory.write("mine", to: "core-1.bin")
    let monitor = try await startMonitor(
      terminal.path, "--core-dumps", directory.path, "--until", "Entering gdb", "--timeout", "600")
    let bar = String(repeating: "=", count: 17)
    terminal.write(Array("\(bar) CORE DUMP START \(bar)\r\nAQIDBA==\r\nBQ==\r\n".utf8))
    terminal.write(Array("\(bar) CORE DUMP END \(bar)\r\nEntering gdb stub now.\r\n".utf8))
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    #expect(try String(contentsOfFile: directory.file("core-1.bin"), encoding: .utf8) == "mine")
    let saved = directory.file("core-2.bin")
    #expect(try Data(contentsOf: URL(fileURLWithPath: saved)) == Data([1, 2, 3, 4, 5]))
    let mode = try FileManager.default.attributesOfItem(atPath: saved)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(ending.errors.contains("--core \(saved) --core-format raw"))
    #expect(ending.errors.contains("-ex 'target remote \(terminal.path)'"))
  }

  @Test(arguments: [["--filter", "*:X"], ["--core-dumps", "/nowhere"]])
  func `a wrong filter or folder is refused before the port is opened`(options: [String]) async throws {
    let ending = try await Program(["monitor", "-p", "/dev/nowhere"] + options).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.errors.contains(options[1]))
  }

  @Test func `the file has every byte unchanged`() async throws {
    let directory = try TemporaryDirectory()
    let (master, slave) = try Descriptor.terminal()
    _ = fcntl(master.number, F_SETFL, 0)
    let raw = try ControlledTerminal.openRaw(try ControlledTerminal.slavePath(of: master))
    let monitor = try await startMonitor(
      try ControlledTerminal.slavePath(of: master), "--save", directory.file("raw"), "--json", "--until",
      "^END$",
      "--timeout", "600")
    var state: UInt64 = 7
    let bytes = (0..<600_000).map { _ -> UInt8 in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33)
    }
    let sent = bytes + Array("\0\nEND\n".utf8)
    try await onThread { master.write(sent) }
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.file("raw"))) == Data(sent))
    #expect(!ending.output.hasControls)
    withExtendedLifetime((slave, raw)) {}
  }

  @Test func `an unplugged port is awaited, and its later output is matched`() async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      let monitor = try await startMonitor(emulator.port, "--json", "--until", "back", "--timeout", "600")
      try await emulator.ask(["command": "unplug"])
      // The emulator can still have reported its boot.
      var index = 2
      while try await JSON(parsing: monitor.output.line(index))["event"] != "lost" { index += 1 }
      try await emulator.ask(["command": "plug"])
      #expect(try JSON(parsing: try await monitor.output.line(index + 1))["event"] == "opened")
      try await log(emulator, "back again")
      let ending = await monitor.ending()
      #expect(ending.status == .exited(0))
      #expect(ending.errors.contains("was disconnected; waiting for it to return"))
    }
  }

  @Test func `without reconnection a lost port is a lost link`() async throws {
    try await withEmulator { emulator in
      let monitor = try await startMonitor(emulator.port, "--no-reconnect")
      try await emulator.ask(["command": "unplug"])
      let ending = await monitor.ending()
      #expect(ending.status == .exited(14))
      #expect(ending.errorLines.last?.contains("the device was disconnected") == true)
    }
  }

  @Test func `a crash is one record and ends it with 17`() async throws {
    try await withEmulator { emulator in
      let monitor = try await startMonitor(emulator.port, "--json")
      try await emulator.ask(["command": "reboot", "reason": "panic"])
      let ending = await monitor.ending()
      #expect(ending.status == .exited(17))
      let crash = try JSON(parsing: ending.lines[ending.lines.count - 2])
      #expect(crash["event"] == "crash" && crash["kind"] == "panic" && crash["reason"] == "Load access fault")
      #expect(crash["lines"].elements.count > 5)
      #expect(ending.output.contains(#""text":"Guru"#))
    }
  }

  @Test func `a permitted crash is shown, then the boot with its cause and the frames`() async throws {
    try await withEmulator { emulator in
      let monitor = try await startMonitor(
        emulator.port, "--no-fail-on-crash", "--timeout", "600", "--until", "link on UART0", "--timestamps",
        "iso")
      try await emulator.ask(["command": "reboot", "reason": "brownout"])
      let ending = await monitor.ending()
      #expect(ending.status == .exited(0), "\(ending.output)")
      #expect(ending.output.contains("--- crash (brownout): Brownout detector was triggered"))
      #expect(ending.output.contains("--- the device starts: BROWNOUT_RST"))
      let isStamped = try Regex(#"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "#)
      #expect(ending.lines.allSatisfy { $0.firstMatch(of: isStamped) != nil })
    }
  }

  @Test func `text of a malicious device is shown without terminal controls`() async throws {
    let terminal = try ControlledTerminal()
    let monitor = try await startMonitor(
      terminal.path, "--until", "end", "--color", "always", "--timeout", "600")
    terminal.write(
      Array("\u{1B}[2J\u{1B}]52;c;eA==\u{7}\u{9B}2J\u{202E}\r\u{8}\u{7F}\u{1B}[31mred\u{1B}[0m end\n".utf8)
        + [0xFF])
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    #expect(ending.output.contains("\u{1B}[31mred"))
    let rest = ending.output.replacing("\u{1B}[31m", with: "").replacing("\u{1B}[0m", with: "")
    #expect(!rest.hasControls)
  }

  @Test func `as JSON text of a malicious device is exact, without colours, and controls no terminal`()
    async throws
  {
    let terminal = try ControlledTerminal()
    let monitor = try await startMonitor(terminal.path, "--until", "end", "--json", "--timeout", "600")
    let hostile = "\u{1B}[2J\u{1B}]52;c;eA==\u{7}\u{9B}2J\u{202E}\u{8}\u{7F}"
    terminal.write(
      Array(
        "\(hostile)\n\u{1B}[31mred\u{1B}[0m \\x1B\nabort() was called at PC 0x42\u{9B}\nRebooting...\n"
          .utf8))
    let ending = await monitor.ending()
    #expect(!ending.output.hasControls)
    let records = try ending.lines.map { try JSON(parsing: $0) }
    #expect(
      records.filter { $0["event"] == "text" }.map { $0["text"] }
        == [.string(hostile), "red \\x1B", "abort() was called at PC 0x42\u{9B}", "Rebooting..."])
    let crash = try #require(records.first { $0["event"] == "crash" })
    #expect(
      crash["lines"].elements.first == "abort() was called at PC 0x42\u{9B}"
        && crash["reason"] == "abort() was called at PC 0x42\u{9B}")
  }

  @Test func `output after the expected line has no effect`() async throws {
    let terminal = try ControlledTerminal()
    let monitor = try await startMonitor(terminal.path, "--until", "ready", "--timeout", "600")
    terminal.write(Array("ready\nabort() was called at PC 0x42\nRebooting...\n".utf8))
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    #expect(ending.output == "ready\n")
  }

  @Test func `a line is sent when the port is open`() async throws {
    let terminal = try ControlledTerminal { _, answer in answer(Array("version 1\n".utf8)) }
    let ending = try await run(
      "monitor", "-p", terminal.path, "--send-line", "version", "--until", "version 1", "--timeout", "600")
    #expect(ending.status == .exited(0))
    #expect(terminal.receivedBytes() == Array("version\n".utf8))
  }

  @Test(
    arguments: [
      (["-p", "/dev/no-such-port"], 10), (["-p", "id:24:6F:28:AA:BB:CC"], 10), (["--until", "("], 2),
      (["--timeout", "0"], 2), (["-p", "emu:", "--save", "/no/such/place/x", "--timeout", "1"], 18),
    ] as [([String], Int32)])
  func `invalid options are one line and their exit code`(options: [String], code: Int32) async throws {
    let ending = try await Program(["monitor"] + options).ending()
    #expect(ending.status == .exited(code))
    #expect(code == 2 || ending.errorLines.count == 1)
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func `a signal ends it with its number and the port is free`(signal: Int32, code: Int32) async throws {
    try await withEmulator { emulator in
      let monitor = try await startMonitor(emulator.port, "--json")
      monitor.send(signal)
      let ending = await monitor.ending()
      #expect(ending.status == .exited(code))
      #expect(try JSON(parsing: try #require(ending.lines.last))["reason"] == "interrupted")
      try await expectFree(emulator)
    }
  }
}

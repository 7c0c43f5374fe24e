import Foundation
import Glibc
import Testing

/// `notibot monitor` on a user's terminal, which must be restored on every exit.
@Suite(.inTurn) struct MonitorKeysTests {
  /// The user's terminal: its settings and keys.
  private final class Keyboard: Sendable {
    let terminal: (read: Descriptor, write: Descriptor)
    private let before: [UInt32]

    init() throws {
      terminal = try Descriptor.terminal()
      before = Self.settings(of: terminal.write)
    }

    var isAsBefore: Bool { Self.settings(of: terminal.write) == before }

    /// Whether each key is read at once, without echo, and none raises a signal.
    var isRaw: Bool { Self.settings(of: terminal.write)[1] & UInt32(ICANON | ECHO | ISIG) == 0 }

    func type(_ keys: [UInt8]) { terminal.read.write(keys) }

    private static func settings(of descriptor: Descriptor) -> [UInt32] {
      var settings = termios()
      tcgetattr(descriptor.number, &settings)
      return [settings.c_iflag, settings.c_lflag, settings.c_oflag, settings.c_cflag]
    }
  }

  private func withMonitor(
    of port: String, body: (Keyboard, Program) async throws -> Void
  ) async throws {
    let keyboard = try Keyboard()
    // Otherwise Swift's runtime prompts the user at the terminal after a crash.
    let monitor = try Program(
      ["monitor", "-p", port], environment: ["SWIFT_BACKTRACE": "enable=no"], stdin: keyboard.terminal.write)
    _ = try await monitor.errors.line(0)
    #expect(keyboard.isRaw)
    try await body(keyboard, monitor)
  }

  /// Returns when the condition holds; the kernel has no event for it.
  private func wait(until condition: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while !condition() {
      guard ContinuousClock.now < end else { throw SystemError("await the condition", number: ETIMEDOUT) }
      try await Task.sleep(for: .milliseconds(2))  // poll
    }
  }

  private func isStopped(_ monitor: Program) -> Bool {
    let status = try? String(contentsOfFile: "/proc/\(monitor.pid)/stat", encoding: .utf8)
    return status?.split(separator: ")").last?.split(separator: " ").first == "T"
  }

  @Test func `keys are sent to the device unchanged, and Ctrl-] ends`() async throws {
    let (stream, sink) = AsyncStream<[UInt8]>.makeStream()
    let terminal = try ControlledTerminal { bytes, _ in sink.yield(bytes) }
    try await withMonitor(of: terminal.path) { keyboard, monitor in
      // Ctrl-C and Ctrl-Z are sent to the device as well.
      keyboard.type(Array("hi\r".utf8) + [3, 0x1A])
      for await _ in stream where terminal.receivedBytes().count == 5 { break }
      #expect(terminal.receivedBytes() == [0x68, 0x69, 0x0D, 3, 0x1A])
      keyboard.type([0x1D])
      #expect(await monitor.ending().status == .exited(0))
      #expect(keyboard.isAsBefore)
    }
  }

  @Test(
    arguments: [
      (SIGTERM, Exit.Status.exited(143)), (SIGINT, .exited(130)), (SIGHUP, .exited(129)),
      (SIGABRT, .killed(signal: SIGABRT)), (SIGSEGV, .killed(signal: SIGSEGV)),
    ] as [(Int32, Exit.Status)])
  func `the terminal is restored after a signal`(signal: Int32, status: Exit.Status) async throws {
    let terminal = try ControlledTerminal()
    try await withMonitor(of: terminal.path) { keyboard, monitor in
      monitor.send(signal)
      #expect(await monitor.ending().status == status)
      #expect(keyboard.isAsBefore)
    }
  }

  @Test func `the terminal is restored if the command fails`() async throws {
    try await withEmulator { emulator in
      let keyboard = try Keyboard()
      let monitor = try Program(
        ["monitor", "-p", emulator.port, "--no-reconnect"], stdin: keyboard.terminal.write)
      _ = try await monitor.errors.line(0)
      try await emulator.ask(["command": "unplug"])
      #expect(await monitor.ending().status == .exited(14))
      #expect(keyboard.isAsBefore)
    }
  }

  @Test func `stopped by the shell it restores the terminal, and sets key mode again when continued`()
    async throws
  {
    let terminal = try ControlledTerminal()
    try await withMonitor(of: terminal.path) { keyboard, monitor in
      monitor.send(SIGTSTP)
      try await wait { isStopped(monitor) }
      #expect(keyboard.isAsBefore)
      monitor.send(SIGCONT)
      try await wait { keyboard.isRaw }
      keyboard.type([0x1D])
      #expect(await monitor.ending().status == .exited(0))
      #expect(keyboard.isAsBefore)
    }
  }

  @Test func `on a terminal a crash does not end it`() async throws {
    try await withEmulator { emulator in
      try await withMonitor(of: emulator.port) { keyboard, monitor in
        try await emulator.ask(["command": "reboot", "reason": "panic"])
        var index = 0
        while try await !monitor.output.line(index).contains("--- crash (panic)") { index += 1 }
        keyboard.type([0x1D])
        #expect(await monitor.ending().status == .exited(0))
      }
    }
  }

  @Test func `behind Ctrl-T are commands, and the key itself`() async throws {
    let (stream, sink) = AsyncStream<[UInt8]>.makeStream()
    let terminal = try ControlledTerminal { bytes, _ in sink.yield(bytes) }
    try await withMonitor(of: terminal.path) { keyboard, monitor in
      func command(_ key: Character) { keyboard.type([0x14, key.asciiValue ?? 0]) }
      keyboard.type([0x14, 0x14, 0x14, 0x1D])
      for await _ in stream where terminal.receivedBytes().count == 2 { break }
      #expect(terminal.receivedBytes() == [0x14, 0x1D])
      command("h")
      #expect(try await monitor.errors.line(1).contains("Ctrl-T, and then:"))
      #expect(try await monitor.errors.line(3).contains("r  reset the board"))
      let last = try await monitor.errors.line(12)
      #expect(last.contains("send that key"), "\(last)")
      // Ctrl-V is the same as v.
      keyboard.type([0x14, 0x16])
      #expect(try await monitor.errors.line(13).contains("only some lines are shown"))
      terminal.write(Array("I (1) app: hidden\nE (2) app: shown\n".utf8))
      #expect(try await monitor.output.line(0).contains("E (2) app: shown"))
      command("v")
      #expect(try await monitor.errors.line(14).contains("all lines are shown"))
      command("i")
      #expect(try await monitor.errors.line(15).contains("timestamps on"))
      terminal.write(Array("at a time\n".utf8))
      #expect(try await monitor.output.line(1).wholeMatch(of: /\d\d:\d\d:\d\d\.\d{3} at a time/) != nil)
      command("y")
      #expect(try await monitor.errors.line(16).contains("printing stops"))
      command("b")
      #expect(try await monitor.errors.line(17).contains("the rate is 74880 baud"))
      command("?")
      #expect(try await monitor.errors.line(18).contains("there is no such command"))
      command("y")
      #expect(try await monitor.errors.line(19).contains("printing again; 0 lines"))
      command("x")
      #expect(await monitor.ending().status == .exited(0))
    }
  }

  @Test func `Ctrl-T r and p reset the board`() async throws {
    let emulator = try await NetworkEmulator(["--rfc2217", "127.0.0.1:0"])
    try await withMonitor(of: emulator.port) { keyboard, monitor in
      keyboard.type([0x14, UInt8(ascii: "p")])
      var index = 0
      while try await !monitor.output.line(index).contains("waiting for download") { index += 1 }
      keyboard.type([0x14, UInt8(ascii: "r")])
      while try await !monitor.output.line(index).contains("POWERON") { index += 1 }
      keyboard.type([0x1D])
      #expect(await monitor.ending().status == .exited(0))
    }
  }

  @Test func `--reset shows the boot from its first line on`() async throws {
    let emulator = try await NetworkEmulator(["--rfc2217", "127.0.0.1:0"])
    let monitor = try Program(["monitor", "-p", emulator.port, "--reset", "--until", "Calling app_main"])
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0), "\(ending.errors)")
    #expect(ending.lines.contains { $0.hasPrefix("ESP-ROM:") }, "\(ending.output)")
  }

  @Test(arguments: [[], ["--json"]]) func `--reset at a port without modem lines fails as reset does`(
    options: [String]
  ) async throws {
    let terminal = try ControlledTerminal()
    let ending = try await Program(["monitor", "-p", terminal.path, "--reset"] + options).ending()
    let reset = try await run("reset", "-p", terminal.path)
    #expect(ending.status == .exited(2) && reset.status == ending.status)
    #expect(
      ending.errorLines.last?.hasPrefix("notibot: cannot ") == true
        && ending.errorLines.last == reset.errorLines.last)
    if !options.isEmpty { #expect(try JSON(parsing: try #require(ending.lines.last))["reason"] == "reset") }
  }

  @Test func `without -b other rates are tried while the bytes are not text`() async throws {
    let garbage = (0..<256).map { index in UInt8(truncatingIfNeeded: index * 37 + 128) | 0x80 }
    let text = Array(String(repeating: "I (31) boot: ESP-IDF v5.1\r\n", count: 8).utf8)
    let terminal = try ControlledTerminal()
    let monitor = try Program(["monitor", "-p", terminal.path])
    _ = try await monitor.errors.line(0)
    terminal.write(garbage)
    #expect(try await monitor.errors.line(1).contains("not text at 921600 baud; trying 115200"))
    terminal.write(garbage)
    #expect(try await monitor.errors.line(2).contains("not text at 115200 baud; trying 74880"))
    terminal.write(text)
    #expect(try await monitor.errors.line(3).contains("continuing at 74880 baud (-b 74880)"))
    try await wait { (try? terminal.bitsPerSecond()) == 74_880 }
    monitor.send(SIGTERM)
    #expect(await monitor.ending().status == .exited(143))

    let asked = try Program(["monitor", "-p", terminal.path, "-b", "460800"])
    _ = try await asked.errors.line(0)
    terminal.write(garbage)
    #expect(try await asked.errors.line(1).contains("check the rate, now 460800 baud"))
    #expect(try terminal.bitsPerSecond() == 460_800)
    asked.send(SIGTERM)
    #expect(await asked.ending().status == .exited(143))
  }
}

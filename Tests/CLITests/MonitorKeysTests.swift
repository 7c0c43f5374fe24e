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
      (SIGTERM, Exit.Status.exited(143)), (SIGINT, .exited(130)), (SIGHUP, .killed(signal: SIGHUP)),
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
}

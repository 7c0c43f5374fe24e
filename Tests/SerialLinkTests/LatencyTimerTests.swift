import NIOCore
import Testing

@testable import SerialLink

/// On a tree of files; a pseudo-terminal represents the port, whose name is the one in the tree.
@Suite final class LatencyTimerTests {
  private let directory: TemporaryDirectory
  private let terminal: PseudoTerminal
  private let attribute: String

  init() throws {
    directory = try TemporaryDirectory()
    terminal = try PseudoTerminal.open()
    let name = terminal.slavePath.split(separator: "/").last ?? ""
    attribute = "class/tty/\(name)/device/latency_timer"
  }

  private var options: SerialOptions {
    SerialOptions(bitsPerSecond: 115_200, lockDirectory: directory.path, sysfsRoot: directory.path)
  }

  private func value() -> String? { FileSystem.line(at: directory.file(attribute)) }

  @Test func `an FTDI port's timer is 1 ms while it is open, and restored afterwards`() throws {
    try directory.write("16\n", to: attribute)
    do {
      let port = try SerialPort.open(terminal.slavePath, options: options)
      #expect(value() == "1")
      _ = consume port
    }
    #expect(value()?.hasPrefix("16") == true)
  }

  @Test func `a channel reports it while open, and restores it when closed`() async throws {
    try directory.write("16\n", to: attribute)
    let path = terminal.slavePath
    let options = options
    let host = try await Recording {
      try await SerialChannel.open(path: path, options: options, on: testLoop, initializer: $0)
    }
    #expect(value() == "1")
    #expect(await SerialChannel.latency(of: host.channel)?.milliseconds == 1)
    try await host.channel.close()
    try await waitUntil { value()?.hasPrefix("16") == true }
  }

  @Test func `a timer that is low enough is not changed`() throws {
    try directory.write("1\n", to: attribute)
    _ = try SerialPort.open(terminal.slavePath, options: options)
    #expect(value() == "1")
  }

  @Test func `a port without a latency timer has none`() throws {
    #expect(LatencyTimer.lower(-1, devicePath: terminal.slavePath, sysfsRoot: directory.path) == nil)
  }

  @Test func `if neither attribute nor flag can be set, the actual timer is reported`() throws {
    // A read-only attribute, as for users other than root.
    try directory.link(attribute, to: "/proc/sys/kernel/ngroups_max")
    let before = try #require(FileSystem.line(at: directory.file(attribute)).flatMap { Int($0) })
    let timer = LatencyTimer.lower(-1, devicePath: terminal.slavePath, sysfsRoot: directory.path)
    #expect(timer == LatencyTimer(milliseconds: before, change: .none))
  }
}

import Foundation
import Glibc
import Testing

@testable import SerialLink

/// One after the other: a program that one of them starts must not be seen by another one.
@Suite(.serialized) struct PortHolderTests {
  /// A process started or replaced by a shell script that prints its pid. Ended with this value.
  private final class Inheritor {
    let pid: pid_t
    private let process = Process()

    /// - Parameter ends: whether to wait for the shell.
    init(_ script: String, ends: Bool = false) throws {
      let output = Pipe()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", script]
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      pid = try #require(pid_t(line.prefix { $0 != "\n" }))
      guard ends else { return }
      // Foundation detects the end of a process by a descriptor that the child inherits: it would
      // wait for the child.
      var information = siginfo_t()
      #expect(waitid(P_PID, id_t(process.processIdentifier), &information, WEXITED | WNOWAIT) == 0)
    }

    deinit {
      kill(pid, SIGKILL)
      process.waitUntilExit()
    }
  }

  @Test func `a thread in an uninterruptible wait is seen, until it goes on`() async throws {
    let directory = try TemporaryDirectory()
    do {
      // posix_spawn waits like for a disk until the new program runs.
      let starting = try StartingProgram(in: directory)
      defer { starting.release() }
      try await waitUntil { DiskWait.isNow() }
    }
    try await waitUntil { !DiskWait.isNow() }
  }

  @Test func `a program that this process is just starting holds no port`() async throws {
    let directory = try TemporaryDirectory()
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let starting = try StartingProgram(in: directory, opening: path)
    defer { starting.release() }
    try await waitUntil { StartingProgram.hasOpen(path) }
    #expect(PortHolder.ofOpenDescriptor(on: path) == nil)
    #expect(PortHolder.holders(of: [path], lockDirectory: directory.path) == [:])
    _ = consume terminal
  }

  @Test func `a process that has a port open holds it, and so does a child of this one`() throws {
    let directory = try TemporaryDirectory()
    let terminal = try PseudoTerminal.open()
    let holder = try FlockHolder(path: terminal.slavePath)
    let found = try #require(
      PortHolder.holders(of: [terminal.slavePath], lockDirectory: directory.path)[terminal.slavePath])
    #expect(found.command.contains(terminal.slavePath) || found.command.contains("read line"))
    _ = consume holder
  }

  @Test func `a process that has a port open without a lock uses it, the far end does not`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    #expect(PortHolder.user(of: path) == nil)
    let user = try Inheritor("exec 3<>\(path); echo $$; exec sleep 1000")
    #expect(PortHolder.user(of: path)?.pid == user.pid)
    _ = consume terminal
  }

  @Test func `a worker of udevd that looks at a new port is no user of it`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let words = "printf '(udev-worker)' >/proc/$$/comm; echo $$; read line <&3"
    let worker = try Inheritor("exec 3<>\(path); \(words)")
    #expect(FileSystem.line(at: "/proc/\(worker.pid)/comm") == "(udev-worker)")
    #expect(PortHolder.user(of: path) == nil)
    _ = consume terminal
  }

  @Test func `an inherited lock names the process that has the port open now`() throws {
    let directory = try TemporaryDirectory()
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    // The shell takes the lock, passes it to the child and ends.
    let heir = try Inheritor("exec 3<>\(path); flock -n 3 || exit 1; sleep 1000 & echo $!", ends: true)
    let error = portError { () throws(PortError) in _ = try SerialPort.open(path, options: directory.options)
    }
    guard case .busy(let holder) = error?.code else {
      Issue.record("expected a busy port, got \(String(describing: error))")
      return
    }
    #expect(holder?.pid == heir.pid)
    #expect(holder?.command.contains("sleep 1000") == true)
    _ = consume terminal
  }

  @Test func `the owner of a lock file holds the port, unless it is dead`() throws {
    let directory = try TemporaryDirectory()
    try directory.write("", to: "port")
    let path = try #require(FileSystem.resolved(directory.file("port")))
    let lock = UUCPLock.lockPath(devicePath: path, directory: directory.path)
    try Data("         1\n".utf8).write(to: URL(fileURLWithPath: lock))
    #expect(PortHolder.holders(of: [path], lockDirectory: directory.path)[path]?.pid == 1)
    try Data("2147483647\n".utf8).write(to: URL(fileURLWithPath: lock))
    #expect(PortHolder.holders(of: [path], lockDirectory: directory.path) == [:])
  }
}

import Foundation
import Glibc
import Testing

@testable import SerialLink

struct PortHolderTests {
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

  /// A program that a thread of this process is just starting: it stays between clone and exec,
  /// because it opens a FIFO without a writer. Until then it is a copy of this process, with all
  /// descriptors.
  private struct Starting {
    let fifo: String

    init(in directory: TemporaryDirectory) throws {
      fifo = directory.file("fifo")
      #expect(mkfifo(fifo, 0o600) == 0)
      Thread.detachNewThread { [fifo] in
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, fifo, O_RDONLY, 0)
        var pid: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
        defer { free(arguments[0]) }
        guard posix_spawn(&pid, "/bin/true", &actions, nil, &arguments, environ) == 0 else { return }
        var status: Int32 = 0
        waitpid(pid, &status, 0)
      }
    }

    /// Lets it continue.
    func release() {
      close(open(fifo, O_WRONLY))
    }

    /// Whether a process other than this one has a descriptor for `path`.
    static func hasCopy(of path: String) -> Bool {
      FileSystem.names(in: "/proc").contains { name in
        guard let pid = Int32(name), pid != getpid() else { return false }
        return FileSystem.names(in: "/proc/\(name)/fd").contains {
          FileSystem.target(ofLink: "/proc/\(name)/fd/\($0)") == path
        }
      }
    }
  }

  @Test func `a program that this process is just starting holds no port`() async throws {
    let directory = try TemporaryDirectory()
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let starting = try Starting(in: directory)
    try await waitUntil { Starting.hasCopy(of: path) }
    #expect(PortHolder.ofOpenDescriptor(on: path) == nil)
    #expect(PortHolder.holders(of: [path], lockDirectory: directory.path) == [:])
    starting.release()
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

import Foundation
import Glibc

@testable import SerialLink

/// A directory of its own, removed with this value.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    var template = Array("\(NSTemporaryDirectory())/serial-link.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw POSIXError(.EIO) }
    path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ text: String, to name: String) throws {
    let url = URL(fileURLWithPath: file(name))
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  func link(_ name: String, to target: String) throws {
    let url = URL(fileURLWithPath: file(name))
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    guard symlink(target, url.path) == 0 else { throw POSIXError(.EIO) }
  }

  var options: SerialOptions { SerialOptions(bitsPerSecond: 115_200, lockDirectory: path) }
}

/// Another program that holds the flock of `path` during the lifetime of this value.
final class FlockHolder {
  private let process = Process()
  private let input = Pipe()

  /// Returns when the lock is held.
  init(path: String) throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
    process.arguments = ["-n", path, "sh", "-c", "echo held; read line"]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    guard output.fileHandleForReading.availableData == Data("held\n".utf8) else { throw POSIXError(.EBUSY) }
  }

  var pid: Int32 { process.processIdentifier }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}

/// The pid of a process that ended and was waited for.
func deadPID() throws -> Int32 {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/bin/true")
  try process.run()
  process.waitUntilExit()
  return process.processIdentifier
}

/// Runs `body` and returns the port error that it throws, or `nil`.
func portError(_ body: () throws(PortError) -> Void) -> PortError? {
  do throws(PortError) {
    try body()
    return nil
  } catch {
    return error
  }
}

/// The settings of the terminal at `descriptor`.
func settings(of descriptor: Int32) -> termios {
  var settings = termios()
  _ = tcgetattr(descriptor, &settings)
  return settings
}

/// Returns once `bytes` of input wait at the terminal `descriptor`; they cross a kernel worker on
/// their way.
func waitForInput(of descriptor: Int32, bytes: Int32) async throws {
  try await waitUntil {
    var waiting: Int32 = 0
    return ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 && waiting >= bytes
  }
}

/// Returns once `condition` holds; throws after a minute, which only a hang takes. For asynchronous
/// effects of the kernel or another thread.
func waitUntil(_ condition: () -> Bool) async throws {
  let deadline = ContinuousClock.now + .seconds(60)
  while !condition() {
    guard ContinuousClock.now < deadline else { throw POSIXError(.ETIMEDOUT) }
    try await Task.sleep(for: .milliseconds(2))  // poll
  }
}

/// A program that inherits every descriptor of this one, and runs until it is ended.
struct Heir {
  private let pid: pid_t

  init() throws {
    var pid: pid_t = 0
    let words = ["tail", "-f", "/dev/null"]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var environment: [UnsafeMutablePointer<CChar>?] = [nil]
    defer { arguments.forEach { free($0) } }
    guard posix_spawn(&pid, "/usr/bin/tail", nil, nil, &arguments, &environment) == 0 else {
      throw POSIXError(.ENOENT)
    }
    self.pid = pid
  }

  var isRunning: Bool { kill(pid, 0) == 0 }

  func end() {
    kill(pid, SIGKILL)
    waitpid(pid, nil, 0)
  }
}

/// A program that a thread of this process is just starting: it stays between clone and exec,
/// because it opens a FIFO without a writer. Until then it counts as this process.
///
/// It closes the descriptors of this process first: other tests wait until their ports are closed.
struct StartingProgram {
  private let fifo: String

  /// With `path`, it has that open, too.
  init(in directory: TemporaryDirectory, opening path: String? = nil) throws {
    fifo = directory.file("fifo")
    guard mkfifo(fifo, 0o600) == 0 else { throw POSIXError(.EEXIST) }
    Thread.detachNewThread { [fifo] in
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      for number in 3..<Int32(1024) { posix_spawn_file_actions_addclose(&actions, number) }
      if let path { posix_spawn_file_actions_addopen(&actions, 3, path, O_RDWR | O_NOCTTY, 0) }
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
    close(open(fifo, O_WRONLY | O_CLOEXEC))
  }

  /// Whether a process other than this one has a descriptor for `path`.
  static func hasOpen(_ path: String) -> Bool {
    FileSystem.names(in: "/proc").contains { name in
      guard let pid = Int32(name), pid != getpid() else { return false }
      return FileSystem.names(in: "/proc/\(name)/fd").contains {
        FileSystem.target(ofLink: "/proc/\(name)/fd/\($0)") == path
      }
    }
  }
}

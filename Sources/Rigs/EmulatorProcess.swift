import Conformance
import Foundation
import NIOCore
import NIOPosix
import SerialLink

/// A running `notibot emulate` with link and sockets in a temporary directory, which is removed
/// when it stops.
package final class EmulatorProcess: Sendable {
  /// The kind of the emulator's port; by the name of its rig.
  package enum Front: String, Sendable {
    case pty
    case rfc2217
  }

  private struct Announcement: Decodable {
    var port: String
  }

  /// A pipe without a writer, whose writing end no other program inherits.
  private final class Life: Sendable {
    let reading: FileHandle
    private let writing: FileHandle

    init() throws {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else {
        throw RigTrouble("cannot make a pipe: \(String(cString: strerror(errno)))", remedy: "close programs")
      }
      ends.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
      reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
      writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
  }

  /// The name under which the port is opened.
  package let port: String
  /// The control socket.
  package let control: String
  /// The socket that carries the attribute protocol.
  package let att: String
  package var processID: Int32 { process.processIdentifier }
  private let process: Process
  private let life: Life
  private let directory: PrivateDirectory

  /// Starts it and waits for the line with the name of its port.
  package static func start(
    program: String, profile: String, front: Front = .pty, seed: UInt64, arguments: [String] = []
  ) async throws -> EmulatorProcess {
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw RigTrouble("there is no program \(program)", remedy: "build it: swift build --product notibot")
    }
    let directory = try PrivateDirectory.make(for: "rig")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    let control = directory.path + "/control"
    let att = directory.path + "/att"
    let place =
      switch front {
      case .pty: ["--link", directory.path + "/port"]
      case .rfc2217: ["--rfc2217", "127.0.0.1:0"]
      }
    process.arguments =
      [
        "emulate", "--json", "--control", control, "--att", "unix:" + att, "--profile", profile, "--seed",
        "\(seed)", "--until-eof",
      ] + place + arguments
    let output = Pipe()
    process.standardOutput = output
    // It ends when this process ends for any reason: the kernel closes the writing end.
    let life = try Life()
    process.standardInput = life.reading
    let log = directory.path + "/log"
    try Data().write(to: URL(fileURLWithPath: log))
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
    do {
      try process.run()
      // One that prints nothing is ended, which ends the wait.
      let limit = Self.kill(process.processIdentifier, after: .seconds(60))
      defer { limit.cancel() }
      let handle = output.fileHandleForReading
      // The line is printed when the port is there; a program that fails closes the pipe.
      let line = try await NIOSingletons.posixBlockingThreadPool.runIfActive { handle.availableData }
      guard !line.isEmpty else {
        let output = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        throw RigTrouble(
          "\(program) emulate ended at once: \(output.prefix(200))",
          remedy: "run it manually and read its output")
      }
      let announcement = try JSONDecoder().decode(Announcement.self, from: line)
      return EmulatorProcess(
        process: process, life: life, port: announcement.port, control: control, att: att,
        directory: directory)
    } catch {
      if process.isRunning { process.terminate() }
      directory.remove()
      throw error
    }
  }

  private init(
    process: Process, life: Life, port: String, control: String, att: String, directory: PrivateDirectory
  ) {
    self.process = process
    self.life = life
    self.port = port
    self.control = control
    self.att = att
    self.directory = directory
  }

  /// Ends the process and removes its files, even in a cancelled task.
  package func stop() async {
    if process.isRunning { process.terminate() }
    let process = process
    let limit = Self.kill(process.processIdentifier, after: .seconds(10))
    // A separate task is not cancelled with the caller's.
    await Task { try? await NIOSingletons.posixBlockingThreadPool.runIfActive { process.waitUntilExit() } }
      .value
    limit.cancel()
    directory.remove()
  }

  private static func kill(_ pid: Int32, after limit: TimeAmount) -> Scheduled<Void> {
    MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: limit) { _ = Foundation.kill(pid, SIGKILL) }
  }

  deinit {
    if process.isRunning { process.terminate() }
  }
}

import Foundation
import NIOPosix
import SerialLink
import NIOCore

/// An emulator in a process of its own, on a pseudo-terminal that is opened like any serial port.
package final class PTYRig: Rig {
  package let name = "pty"
  private let emulator: EmulatorProcess
  private let port: PortRig

  /// Starts `program emulate` and opens its port.
  ///
  /// - Parameters:
  ///   - program: the `notibot` executable.
  ///   - profile: what the device is.
  /// - Throws: `RigTrouble` when the program does not start or says nothing, else as `PortRig.open`.
  package static func start(
    program: String, profile: String = "default", seed: UInt64 = 1,
    wrapLine: @escaping (any Line) -> any Line = { $0 }
  ) async throws -> PTYRig {
    let emulator = try await EmulatorProcess.start(program: program, profile: profile, seed: seed)
    do {
      let port = try await PortRig.open(
        .path(emulator.port), name: "pty", control: emulator.control, offersHost: true, wrapLine: wrapLine)
      return PTYRig(emulator: emulator, port: port)
    } catch {
      await emulator.stop()
      throw error
    }
  }

  private init(emulator: EmulatorProcess, port: PortRig) {
    self.emulator = emulator
    self.port = port
  }

  package var offers: Set<Need> { port.offers }

  package func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench {
    try await port.makeBench(for: testCase, seed: seed)
  }

  package func finish(_ bench: Bench) async { await port.finish(bench) }

  package func close() async {
    await port.close()
    await emulator.stop()
  }
}

/// A running `notibot emulate` with link and sockets in a directory of its own, which goes when it stops.
package final class EmulatorProcess: Sendable {
  /// The path under which the port is opened.
  package let port: String
  /// The control socket.
  package let control: String
  /// The socket that carries the attribute protocol.
  package let att: String
  private let process: Process
  private let directory: PrivateDirectory

  /// Starts it and waits for the line in which it names its port.
  package static func start(program: String, profile: String, seed: UInt64) async throws -> EmulatorProcess {
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw RigTrouble("there is no program \(program)", remedy: "build it: swift build --product notibot")
    }
    let directory = try PrivateDirectory.make(for: "rig")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    let port = directory.path + "/port"
    let control = directory.path + "/control"
    let att = directory.path + "/att"
    process.arguments = [
      "emulate", "--json", "--link", port, "--control", control, "--att", "unix:" + att, "--profile", profile,
      "--seed", "\(seed)",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    let log = directory.path + "/log"
    try Data().write(to: URL(fileURLWithPath: log))
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
    do {
      try process.run()
      let handle = output.fileHandleForReading
      // The line comes when the port is there; a program that fails closes the pipe.
      let line = try await NIOSingletons.posixBlockingThreadPool.runIfActive { handle.availableData }
      guard !line.isEmpty else {
        let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        throw RigTrouble(
          "\(program) emulate ended at once: \(said.prefix(200))",
          remedy: "run it by hand and see what it says")
      }
      return EmulatorProcess(
        process: process, port: port, control: control, att: att, directory: directory)
    } catch {
      if process.isRunning { process.terminate() }
      directory.remove()
      throw error
    }
  }

  private init(process: Process, port: String, control: String, att: String, directory: PrivateDirectory) {
    self.process = process
    self.port = port
    self.control = control
    self.att = att
    self.directory = directory
  }

  /// Ends the process and removes what it left; also in a task that was cancelled.
  package func stop() async {
    if process.isRunning { process.terminate() }
    let process = process
    // A task of its own is not cancelled with the caller's.
    await Task { try? await NIOSingletons.posixBlockingThreadPool.runIfActive { process.waitUntilExit() } }
      .value
    directory.remove()
  }

  deinit {
    if process.isRunning { process.terminate() }
  }
}

import Conformance
import Foundation
import NIOCore
import SerialLink

/// A running `notibot emulate` with link and sockets in a temporary directory, which is removed
/// when it stops. It does not outlive this process.
package final class EmulatorProcess: Sendable {
  /// The kind of the emulator's port; by the name of its rig.
  package enum Front: String, Sendable {
    case pty
    case rfc2217
  }

  private struct Announcement: Decodable {
    var port: String
  }

  /// The name under which the port is opened.
  package let port: String
  /// The control socket.
  package var control: String { Self.control(in: directory) }
  /// The socket that carries the attribute protocol.
  package var att: String { Self.att(in: directory) }
  package var processID: Int32 { process.pid }
  private let process: TiedProcess
  private let output: LineConversation
  private let directory: PrivateDirectory

  /// Starts it and waits for the line with the name of its port.
  package static func start(
    program: String, profile: String, front: Front = .pty, seed: UInt64, arguments: [String] = []
  ) async throws -> EmulatorProcess {
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw RigTrouble("there is no program \(program)", remedy: "build it: swift build --product notibot")
    }
    let directory = try PrivateDirectory.make(for: "rig")
    do {
      let place =
        switch front {
        case .pty: ["--link", directory.path + "/port"]
        case .rfc2217: ["--rfc2217", "127.0.0.1:0"]
        }
      let all =
        [
          "emulate", "--json", "--control", control(in: directory), "--att", "unix:" + att(in: directory),
          "--profile", profile, "--seed", "\(seed)",
        ] + place + arguments
      let (output, process) = try await LineConversation.pair { end throws(PortError) in
        try await TiedProcess.start(program, arguments: all, output: end)
      }
      // The line is printed when the port is there.
      guard let line = try? await output.ask(nil, wanted: [{ _ in true }]),
        let announcement = try? JSONDecoder().decode(Announcement.self, from: Data(line.utf8))
      else {
        try? await output.channel.close()
        await process.stop()
        let words = (try? await process.ended.get()) ?? ""
        throw RigTrouble(
          "\(program) emulate does not start: \(words.isEmpty ? "it printed no port" : words.prefix(200))",
          remedy: "run it manually and read its output")
      }
      return EmulatorProcess(
        process: process, output: output, port: announcement.port, directory: directory)
    } catch {
      directory.remove()
      throw error
    }
  }

  private static func control(in directory: PrivateDirectory) -> String { directory.path + "/control" }

  private static func att(in directory: PrivateDirectory) -> String { directory.path + "/att" }

  private init(process: TiedProcess, output: LineConversation, port: String, directory: PrivateDirectory) {
    (self.process, self.output, self.port, self.directory) = (process, output, port, directory)
  }

  /// Ends the process and removes its files, even in a cancelled task.
  package func stop() async {
    await process.stop()
    try? await output.channel.close()
    directory.remove()
  }
}

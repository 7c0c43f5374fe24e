import ArgumentParser
import Foundation
import SerialLink

/// `notibot gateway`: the program `notibot-gateway`, if it is built.
struct GatewayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gateway",
    abstract: "Receive push notifications as APNs does, and show them (program notibot-gateway).",
    discussion: """
      A program of its own, because it needs TLS: swift build --traits Gateway --product notibot-gateway. It is looked \
      for in the folder of this program. `notibot gateway help` lists its commands. See docs/GATEWAY.md.
      """)

  @Argument(parsing: .captureForPassthrough, help: "Command and its arguments.")
  var arguments: [String] = []

  func run() throws {
    // Its own page; `notibot gateway help` prints that of the program.
    if arguments.isEmpty || ["-h", "--help"].contains(arguments[0]) { throw CleanExit.helpRequest(self) }
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let path = URL(filePath: own).deletingLastPathComponent().appending(path: "notibot-gateway").path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw CommandFailure(
        .unfitEnvironment, "\(path) is missing",
        remedy: "build it with: swift build --traits Gateway --product notibot-gateway")
    }
    var words = ([path] + arguments).map { strdup($0) }
    defer { words.forEach { free($0) } }
    words.append(nil)
    execv(path, words)
    throw CommandFailure(.unfitEnvironment, "cannot run \(path): \(String(cString: strerror(errno)))")
  }
}

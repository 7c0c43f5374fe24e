import ArgumentParser
import Foundation
import SerialLink

/// `notibot gateway`: the program `notibot-gateway`, if it is installed.
struct GatewayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gateway",
    abstract: "Receive push notifications as APNs does, and show them (program notibot-gateway).",
    discussion: """
      A program and a package of its own, because it needs TLS: pip install notibot-gateway. It is looked for in the \
      folder of this program, then in those of PATH. `notibot gateway help` lists its commands. See docs/GATEWAY.md.
      """)

  @Argument(parsing: .captureForPassthrough, help: "Command and its arguments.")
  var arguments: [String] = []

  func run() throws {
    // Its own page; `notibot gateway help` prints that of the program.
    if arguments.isEmpty || ["-h", "--help"].contains(arguments[0]) { throw CleanExit.helpRequest(self) }
    let name = "notibot-gateway"
    guard let path = SearchPath.neighbour(name) ?? SearchPath.first(of: [name]) else {
      throw Failure(
        .unfitEnvironment, "the program \(name) is not installed",
        remedy: "install it with: pip install \(name), or from \(name)_*.deb")
    }
    var words = ([path] + arguments).map { strdup($0) }
    defer { words.forEach { free($0) } }
    words.append(nil)
    execv(path, words)
    throw Failure(.unfitEnvironment, "cannot run \(path): \(String(cString: strerror(errno)))")
  }
}

#if Gateway
import ArgumentParser
import Foundation
import GatewayRules
import NotibotGateway
import SerialLink

/// `notibot-gateway run`.
struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Receive pushes and show them, until interrupted.",
    discussion: """
      Prints one line of JSON when it listens: the addresses of APNs, of HTTP and of the commands' socket. The board \
      does not need to be connected: pushes are kept in the outbox.
      """)

  @OptionGroup var options: FolderOptions

  @Option(help: ArgumentHelp("Port of the board instead of the configured one.", valueName: "name"))
  var port: String?

  func run() async throws {
    let (folder, port) = (options.folder, port)
    // Its only line must not wait for a reader either.
    let output = OutputQueue(STDOUT_FILENO) { "\($0) lines were dropped\n" }
    try await Termination.cancelling {
      let killStep = KillStep()
      let step: @Sendable () -> Void = { killStep?.pass() }
      try await Gateway.run(folder: folder, port: port, step: step, warn: GatewayProgram.note) {
        addresses in
        let line = JSONValue.object([
          "apns": .string(addresses.apns), "http": addresses.http.map { .string($0) } ?? .null,
          "socket": .string(addresses.socket), "pid": .whole(getpid()),
        ]).line
        Termination.markServing()
        output.put(line + "\n")
        guard let killStep else { return }
        output.finish()
        killStep.arm()
      }
    }
  }
}

/// `notibot-gateway actions`: the long poll, for backends that cannot be reached.
struct ActionsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "actions",
    abstract: "Print decisions of the running gateway as one JSON object, after waiting for one.",
    discussion: """
      The object has "actions" and "next", the number for the next --after. Decisions up to --after are acknowledged: \
      those without a callback are then delivered.
      """)

  @OptionGroup var options: FolderOptions

  @Option(help: ArgumentHelp("Return decisions after this number; 0 for all.", valueName: "number"))
  var after: Int64 = 0

  @Option(help: ArgumentHelp("Time to wait for a decision, 0-25.", valueName: "seconds"))
  var wait: Int64 = 0

  func validate() throws {
    guard after >= 0, (0...PollQuery.waitLimitSeconds).contains(wait) else {
      throw ValidationError(
        "--after must not be negative, and --wait must be 0 to \(PollQuery.waitLimitSeconds)")
    }
  }

  func run() async throws {
    Termination.release()
    let answer = try await CommandClient.request(
      "GET", "/v1/actions?after=\(after)&wait=\(wait)", waitSeconds: wait, to: options.folder)
    GatewayProgram.data(answer.body)
    guard answer.status == 200 else { throw Failure(.unfitEnvironment, "the gateway is busy") }
  }
}

/// `notibot-gateway status`.
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Print the state of the running gateway as one line of JSON.")

  @OptionGroup var options: FolderOptions

  func run() async throws {
    Termination.release()
    GatewayProgram.data(try await CommandClient.request("GET", "/v1/status", to: options.folder).body)
  }
}
#endif

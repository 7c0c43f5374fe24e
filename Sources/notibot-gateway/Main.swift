#if Gateway
import ArgumentParser
import Foundation
import NotibotGateway

@main
struct GatewayProgram: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "notibot-gateway",
    abstract: "Receive push notifications as APNs does, and show them on a Notibot.",
    discussion: """
      EXIT CODES
        0  success
        2  wrong usage or configuration
       11  port busy
       12  permission denied
       13  no answer in time
       18  environment not usable
      130  interrupted (Ctrl-C)
      143  terminated (SIGTERM)
      """,
    version: "0.1.0",
    subcommands: [
      InitCommand.self, RunCommand.self, TrustCommand.self, TokenCommand.self, MuteCommand.self,
      PushCommand.self, PushesCommand.self, ActionsCommand.self, RegisterCommand.self, StatusCommand.self,
    ])

  static func main() async {
    Termination.begin()
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let failure as GatewayFailure {
      note("\(failure)")
      Foundation.exit(failure.kind.rawValue)
    } catch let ended as Termination.Ended {
      note(ended.number == SIGINT ? "interrupted" : "terminated")
      Foundation.exit(128 + ended.number)
    } catch {
      end(with: error)
    }
  }

  /// One line on standard error.
  static func note(_ text: String) {
    FileHandle.standardError.write(Data("notibot-gateway: \(text)\n".utf8))
  }

  /// Lines on standard output.
  static func data(_ text: String) {
    FileHandle.standardOutput.write(Data(text.utf8))
  }

  private static func end(with error: any Error) -> Never {
    let text = fullMessage(for: error)
    switch exitCode(for: error) {
    case .success:
      data(text + "\n")
      Foundation.exit(0)
    case .validationFailure:
      FileHandle.standardError.write(Data((text + "\n").utf8))
      Foundation.exit(GatewayFailure.Kind.usage.rawValue)
    case _:
      note("\(error)")
      Foundation.exit(GatewayFailure.Kind.environment.rawValue)
    }
  }
}

/// The folder of the gateway, in every command.
struct FolderOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Folder of the gateway (default: $XDG_CONFIG_HOME/notibot/gateway).", valueName: "path"))
  var directory: String?

  var folder: GatewayFolder {
    GatewayFolder(
      path: directory ?? GatewayFolder.defaultPath(environment: ProcessInfo.processInfo.environment))
  }
}
#else
import Foundation

/// Built without the trait: there is no TLS in this program.
@main
enum GatewayProgram {
  static func main() {
    let text = """
      notibot-gateway: built without the trait Gateway; \
      run swift build --traits Gateway --product notibot-gateway

      """
    FileHandle.standardError.write(Data(text.utf8))
    exit(18)
  }
}
#endif

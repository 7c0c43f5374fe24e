#if Gateway
import ArgumentParser
import CBuildNote
import CommandLineChecks
import Foundation
import NotibotGateway
import SerialLink
import Synchronization

@main
struct GatewayProgram: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "notibot-gateway",
    abstract: "Receive push notifications as APNs does, and show them on a Notibot.",
    discussion: FailureKind.helpTable(
      of: FailureKind.allCases.filter { ![.testFailed, .flashingFailed].contains($0) }),
    version: "0.1.0" + String(cString: notibot_build_note()),
    subcommands: [
      InitCommand.self, RunCommand.self, TrustCommand.self, TokenCommand.self, MuteCommand.self,
      PushCommand.self, PushesCommand.self, ActionsCommand.self, RegisterCommand.self, StatusCommand.self,
    ])

  static func main() async {
    StandardStream.hold()
    StandardStream.ignoreSignals()
    if let (reason, remedy) = ProcessLimits.problem() {
      // Without threads nothing else can write it.
      _ = StandardStream.write(Array("notibot-gateway: \(reason); \(remedy)\n".utf8), to: STDERR_FILENO)
      exit(FailureKind.unfitEnvironment.rawValue)
    }
    Termination.begin()
    do {
      var command = try parsed()
      let words = CommandLine.arguments.dropFirst()
      if let failure = OptionCheck.failure(of: words, for: type(of: command)) { throw failure }
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      if let number = loss.withLock(\.self) {
        throw Failure(
          .unfitEnvironment, "cannot write to standard output: \(String(cString: strerror(number)))")
      }
      OutputQueue.errors.finish()
    } catch let error as any ClassifiedError {
      note("\(Failure(error))")
      exit(error.kind.rawValue)
    } catch {
      end(with: error)
    }
  }

  private static func parsed() throws -> any ParsableCommand {
    do {
      return try parseAsRoot()
    } catch {
      // The parser quotes arguments as they are.
      _ = try parseAsRoot(CommandLine.arguments.dropFirst().map(\.printable))
      throw error
    }
  }

  /// One line on standard error, whatever text is in it. Does not wait: a reader that is stalled
  /// must not stop the gateway.
  static func note(_ text: String) {
    OutputQueue.errors.put("notibot-gateway: \(text.printable)\n")
  }

  /// The error of standard output, if there was one.
  private static let loss = Mutex<Int32?>(nil)

  /// Lines on standard output, whatever names are in them.
  static func data(_ text: String) { write(text.printableJSON.printableLines) }

  private static func write(_ text: String) {
    guard let number = StandardStream.write(text, to: STDOUT_FILENO) else { return }
    loss.withLock { $0 = $0 ?? number }
  }

  private static func exit(_ status: Int32) -> Never {
    OutputQueue.errors.finish()
    Foundation.exit(status)
  }

  private static func end(with error: any Error) -> Never {
    let columns = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
    // The parser traps if its help is narrow.
    if let columns, columns < 40 { setenv("COLUMNS", "40", 1) }
    let text = fullMessage(for: error)
    switch exitCode(for: error) {
    case .success:
      write(text + "\n")
      exit(loss.withLock(\.self) == nil ? 0 : FailureKind.unfitEnvironment.rawValue)
    case .validationFailure:
      OutputQueue.errors.put(text.printableLines + "\n")
      exit(FailureKind.usage.rawValue)
    case _:
      note(errorText(error))
      exit(FailureKind.unfitEnvironment.rawValue)
    }
  }
}

/// The folder of the gateway, in every command.
struct FolderOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Folder of the gateway (default: $XDG_CONFIG_HOME/notibot/gateway).", valueName: "path"),
    completion: .directory)
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

import ArgumentParser
import CBuildNote
import Foundation
import SerialLink

@main
struct Notibot: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "notibot",
    abstract: "Communicate with Notibot boards over USB serial, test them, and emulate them.",
    discussion: "PAGES\n  docs/NAME.md is printed by: notibot docs NAME\n\n" + FailureKind.helpTable(),
    version: "0.1.0" + String(cString: notibot_build_note()),
    groupedSubcommands: [
      CommandGroup(
        name: "Use a device",
        subcommands: [
          DevicesCommand.self, SendCommand.self, CountCommand.self, WatchCommand.self, MonitorCommand.self,
          ForwardCommand.self, AskCommand.self, ShareCommand.self, OutboxCommand.self, ResetCommand.self,
          FlashCommand.self,
        ]),
      CommandGroup(
        name: "Test", subcommands: [TestCommand.self, SoakCommand.self, TrialsCommand.self]),
      CommandGroup(
        name: "Emulate",
        subcommands: [EmulateCommand.self, ControlCommand.self, ViewCommand.self, ProxyCommand.self]),
      CommandGroup(
        name: "Measure",
        subcommands: [BenchCommand.self, ReportCommand.self, SimulateCommand.self, DamageCommand.self]),
      CommandGroup(name: "Receive pushes", subcommands: [GatewayCommand.self]),
      CommandGroup(
        name: "Set up",
        subcommands: [DoctorCommand.self, UdevRulesCommand.self, ImageCommand.self, DocsCommand.self]),
    ]
  )

  /// Parses and runs the command line, and maps every error to one line and an exit code.
  static func main() async {
    Output.holdStandardStreams()
    StandardStream.ignoreSignals()
    // They are for the Python of the shell, not for that of esptool, pip, gdb or labgrid.
    for name in ["PYTHONHOME", "PYTHONPATH"] { unsetenv(name) }
    if let failure = CommandNames.missingProc() { end(with: failure) }
    if let (reason, remedy) = ProcessLimits.problem() {
      end(with: CommandFailure(.unfitEnvironment, reason, remedy: remedy))
    }
    Interruption.begin()
    do {
      var command = try parsed()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        Interruption.release()
        try command.run()
      }
      try Output.checkTaken()
      if ReportFile.isLost { Foundation.exit(FailureKind.unfitEnvironment.rawValue) }
    } catch {
      end(with: error)
    }
  }

  /// The command of the command line. Names are compared only if the parser does not find one:
  /// that reads the configuration of every command.
  private static func parsed() throws -> any ParsableCommand {
    let words = Array(CommandLine.arguments.dropFirst())
    do {
      let command = try parseAsRoot()
      // The parser turns an unknown name into a command that prints the help.
      guard !(command is any AsyncParsableCommand), let failure = CommandNames.problem(with: words) else {
        return command
      }
      throw failure
    } catch {
      if let failure = CommandNames.problem(with: words) { throw failure }
      // The parser quotes arguments as they are.
      _ = try parseAsRoot(words.map(\.printable))
      throw error
    }
  }

  private static func end(with error: any Error) -> Never {
    if let failure = error as? CommandFailure {
      Output.note("notibot: \(failure)")
      Foundation.exit(failure.kind.rawValue)
    }
    if let loss = error as? Output.Loss {
      // Ends by SIGPIPE, as other filters do when their reader is gone.
      if loss.number == EPIPE {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
      }
      let reason = String(cString: strerror(loss.number))
      end(
        with: CommandFailure(
          .unfitEnvironment, "cannot write to standard output: \(reason)",
          remedy: "redirect it to another file or program"))
    }
    if let error = error as? any ClassifiedError {
      end(with: CommandFailure(error))
    }
    if let code = error as? ArgumentParser.ExitCode {
      Foundation.exit(code.rawValue)
    }
    // Help and version requests are errors to the parser and successes to the user.
    let text = HelpLayout.wrapped(fullMessage(for: error, columns: HelpLayout.unwrapped))
    switch exitCode(for: error) {
    case .success:
      Output.data(text)
      do {
        try Output.checkTaken()
      } catch {
        end(with: error)
      }
      Foundation.exit(EXIT_SUCCESS)
    case .validationFailure:
      Output.noteLines(text)
      Foundation.exit(FailureKind.usage.rawValue)
    case _:
      Output.note("notibot: \(error)")
      Foundation.exit(FailureKind.unfitEnvironment.rawValue)
    }
  }
}

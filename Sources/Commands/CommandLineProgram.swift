package import ArgumentParser
import CommandLineChecks
import Foundation
package import SerialLink

/// The life of a program with commands: its streams, signals and exit codes.
package enum CommandLineProgram {
  /// Holds the standard streams and checks the limits. Called first and synchronously: the first
  /// suspension opens descriptors, which would take the place of a stream that is closed, and ends
  /// the process if it cannot.
  package static func begin() {
    StandardStream.hold()
    StandardStream.ignoreSignals()
    if let failure = CommandNames.missingProc() { end(with: failure) }
    if let (reason, remedy) = ProcessLimits.problem() {
      end(with: Failure(.unfitEnvironment, reason, remedy: remedy))
    }
  }

  /// Parses and runs the command line, and maps every error to one line and an exit code.
  package static func run<Root: AsyncParsableCommand>(
    _ root: Root.Type, parsing problem: (_ words: [String]) -> Failure? = { _ in nil }
  ) async {
    // They are for the Python of the shell, not for that of esptool, pip, gdb or labgrid.
    for name in ["PYTHONHOME", "PYTHONPATH"] { unsetenv(name) }
    Interruption.begin()
    do {
      var command = try parsed(root, problem)
      let words = CommandLine.arguments.dropFirst()
      if let failure = OptionCheck.failure(of: words, for: type(of: command)) { throw failure }
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        Interruption.release()
        try command.run()
      }
      try Output.checkTaken()
      if ReportFile.isLost { Foundation.exit(FailureKind.unfitEnvironment.rawValue) }
    } catch {
      end(with: error, root)
    }
  }

  /// The command of the command line. Names are compared only if the parser does not find one:
  /// that reads the configuration of every command.
  private static func parsed<Root: AsyncParsableCommand>(
    _ root: Root.Type, _ problem: (_ words: [String]) -> Failure?
  ) throws -> any ParsableCommand {
    let words = Array(CommandLine.arguments.dropFirst())
    if let command = named(root, words) { return command }
    do {
      let command = try root.parseAsRoot()
      // The parser turns an unknown name into a command that prints the help.
      guard !(command is any AsyncParsableCommand), let failure = problem(words) else {
        return command
      }
      throw failure
    } catch {
      if let failure = problem(words) { throw failure }
      // The parser quotes arguments as they are.
      _ = try root.parseAsRoot(words.map(\.printable))
      throw error
    }
  }

  /// The command that the first word names, parsed without the root and its other commands. `nil`
  /// for an error and for help, whose texts begin with the root.
  private static func named(_ root: (some ParsableCommand).Type, _ words: [String])
    -> (any AsyncParsableCommand)?
  {
    guard let word = words.first,
      let command = root.configuration.subcommands.first(where: { $0._commandName == word })
    else { return nil }
    return (try? command.parseAsRoot(Array(words.dropFirst()))) as? any AsyncParsableCommand
  }

  private static func end(with error: any Error, _ root: (some ParsableCommand).Type = Notibot.self) -> Never
  {
    if let error = error as? any ClassifiedError {
      let failure = Failure(error)
      // Ends by SIGPIPE, as other filters do when their reader is gone.
      if failure == Output.loss(EPIPE) {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
      }
      Output.note("notibot: \(failure)")
      Foundation.exit(failure.kind.rawValue)
    }
    if let code = error as? ArgumentParser.ExitCode {
      Foundation.exit(code.rawValue)
    }
    // Help and version requests are errors to the parser and successes to the user.
    let text = HelpLayout.wrapped(root.fullMessage(for: error, columns: HelpLayout.unwrapped))
    // The parser wraps the help once more for its exit code, and traps if it is narrow.
    setenv("COLUMNS", "\(HelpLayout.unwrapped)", 1)
    switch root.exitCode(for: error) {
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
      Output.note("notibot: \(errorText(error))")
      Foundation.exit(FailureKind.unfitEnvironment.rawValue)
    }
  }
}

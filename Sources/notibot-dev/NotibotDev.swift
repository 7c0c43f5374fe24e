import ArgumentParser
import Commands
import Dispatch
import Glibc

/// `notibot-dev`: what tests this project and is in no package.
struct NotibotDev: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "notibot-dev",
    abstract: "Simulate, and measure parts of this project: for its developers, in no package.",
    subcommands: [
      SimulateCommand.self, JournalCommand.self, TrialsCommand.self, DriveCommand.self,
      CrowdCommand.self, LineCommand.self,
    ])
}

/// Its main program. `drive` runs on the first thread, without a runtime of tasks: valgrind cannot
/// follow the end of that thread.
@main enum Program {
  static func main() {
    CommandLineProgram.begin()
    guard CommandLine.arguments.dropFirst().first != DriveCommand.configuration.commandName else {
      return DriveCommand.main(Array(CommandLine.arguments.dropFirst(2)))
    }
    Task {
      await CommandLineProgram.run(NotibotDev.self)
      exit(0)
    }
    dispatchMain()
  }
}

package import ArgumentParser
import CBuildNote
import SerialLink

/// `notibot`: its commands.
package struct Notibot: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
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
        name: "Test", subcommands: [TestCommand.self, SoakCommand.self]),
      CommandGroup(
        name: "Emulate",
        subcommands: [EmulateCommand.self, ControlCommand.self, ViewCommand.self, ProxyCommand.self]),
      CommandGroup(
        name: "Measure",
        subcommands: [BenchCommand.self, ReportCommand.self]),
      CommandGroup(name: "Receive pushes", subcommands: [GatewayCommand.self]),
      CommandGroup(
        name: "Set up",
        subcommands: [DoctorCommand.self, UdevRulesCommand.self, ImageCommand.self, DocsCommand.self]),
    ]
  )

  package init() {}

  package static func main() async { await CommandLineProgram.run(Self.self, parsing: CommandNames.problem) }
}

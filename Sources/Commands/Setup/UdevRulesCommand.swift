import ArgumentParser
import SerialLink

/// `notibot udev-rules`: prints the udev rules that give the logged-in user access to boards.
struct UdevRulesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "udev-rules", abstract: "Print udev rules for the known boards.",
    discussion: """
      Install them with: \(UdevRules.installation)
      """)

  func run() {
    // The text ends with a newline, and `data` adds one.
    Output.data(String(UdevRules.text.dropLast()))
  }
}

import ArgumentParser
import SerialLink

/// `notibot udev-rules`: the rules that let a person use boards without being root, on standard output.
struct UdevRulesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "udev-rules", abstract: "Print rules for udev, for the boards that notibot knows.",
    discussion: """
      Install them with: \(UdevRules.installation)
      """)

  func run() {
    // The file ends with a newline, and so does what is printed.
    Output.data(String(UdevRules.text.dropLast()))
  }
}

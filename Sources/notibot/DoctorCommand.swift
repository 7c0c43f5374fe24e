import ArgumentParser
import Foundation
import SerialLink

/// `notibot doctor`: what on this machine would keep somebody from working with boards, and the command that mends it.
struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Say what on this machine would hinder work with boards, and how to mend it.",
    discussion: """
      Looks at ports, drivers, rights, locks, services that reach for serial ports, rules of udev, and programs. Opens no \
      port and changes nothing. Ends with 18 when something would stop work; warnings do not change the exit code.

      \(ExitStatus.helpTable)
      """)

  @Flag(help: "Print one JSON document.")
  var json = false

  func run() throws {
    let findings = Diagnosis(of: Machine(environment: ProcessInfo.processInfo.environment)).findings()
    if json {
      try Output.json(Document(findings: findings.map(Document.Item.init)), pretty: true)
    } else {
      findings.forEach { Output.data(Self.lines(for: $0)) }
    }
    let troubles = findings.count { $0.severity == .trouble }
    guard troubles == 0 else {
      throw CommandFailure(
        .unfitEnvironment, "\(troubles) of \(findings.count) findings would stop work",
        remedy: "mend what is marked trouble")
    }
  }

  private static func lines(for finding: Diagnosis.Finding) -> String {
    let mark =
      switch finding.severity {
      case .good: "ok      "
      case .warning: "warning "
      case .trouble: "trouble "
      }
    let text = "\(mark) \(finding.text.printable)"
    return finding.command.map { "\(text)\n         mend: \($0.printable)" } ?? text
  }

  private struct Document: Encodable {
    struct Item: Encodable {
      var severity: String
      var check: String
      var text: String
      var command: String?

      init(_ finding: Diagnosis.Finding) {
        severity = finding.severity.rawValue
        check = finding.check
        text = finding.text
        command = finding.command
      }
    }

    var schema = "notibot.doctor"
    var version = 1
    var findings: [Item]
  }
}

import ArgumentParser
import Foundation
import SerialLink

/// `notibot doctor`: problems of this computer that prevent the use of boards, and the commands
/// that fix them.
struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check this computer for problems with boards, and suggest fixes.",
    discussion: """
      Checks ports, drivers, permissions, lock files, services that open serial ports, udev rules, Bluetooth and \
      programs. Opens no port and changes nothing.

      EXIT CODES HERE
        18: a problem prevents the use of boards; warnings do not count
      """)

  @Flag(help: "Print one JSON document.")
  var json = false

  func run() async throws {
    let computer = Computer(environment: ProcessInfo.processInfo.environment)
    let findings = try await Interruption.cancelling {
      try await Diagnosis(of: computer).findings() + [EsptoolProgram.finding(), BluetoothProcess.finding()]
    }
    if json {
      try Output.json(Document(findings: findings.map(Document.Item.init)), pretty: true)
    } else {
      findings.forEach { Output.data(Self.lines(for: $0)) }
    }
    let troubles = findings.count { $0.severity == .trouble }
    guard troubles == 0 else {
      throw Failure(
        .unfitEnvironment, "\(troubles) of \(findings.count) findings prevent the use of boards",
        remedy: "fix the findings marked trouble")
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
    return finding.command.map { "\(text)\n         fix: \($0.printable)" } ?? text
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

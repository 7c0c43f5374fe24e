import ArgumentParser
import Foundation
import SerialLink

/// The options that name a port and its rate.
struct LineOptions: ParsableArguments {
  /// The port if the option is omitted, for the help.
  static let portDefault = "Default: NOTIBOT_PORT, else ESPPORT, else auto."

  /// The ports that are there, and names that need none.
  private static var portCompletions: [String] {
    PortList().ports().map(\.path) + ["auto", "emu:", "share:"]
  }

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Port: \(PortName.allForms).",
      discussion: Self.portDefault, valueName: "port"),
    completion: .custom { _, _, _ in Self.portCompletions })
  var port: String?

  @OptionGroup var rate: RateOptions
}

extension LineOptions {
  /// The selected port, and the source of its name. Throws `PortError` when the name is invalid.
  func resolvedPort() throws -> Sourced<PortName> {
    try PortSelection.port(option: port, environment: ProcessInfo.processInfo.environment)
  }

  /// The selected rate, in bits per second. Throws `PortError` when it is invalid.
  func resolvedBitsPerSecond() throws -> Sourced<UInt32> { try rate.resolvedBitsPerSecond() }
}

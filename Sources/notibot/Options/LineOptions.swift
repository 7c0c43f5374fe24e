import ArgumentParser
import Foundation
import SerialLink

/// The options that name a port and its rate.
struct LineOptions: ParsableArguments {
  /// The port if the option is omitted, for the help.
  static let portDefault = "Default: NOTIBOT_PORT, else ESPPORT, else auto."

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Port: \(PortName.allForms).",
      discussion: Self.portDefault, valueName: "port"))
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

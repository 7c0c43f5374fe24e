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
      "The port: \(PortName.allForms).",
      discussion: Self.portDefault, valueName: "port"))
  var port: String?

  @OptionGroup var rate: RateOptions
}

extension LineOptions {
  /// The port that is meant, and what named it. Throws `PortError` when its name cannot be read.
  func resolvedPort() throws -> Sourced<PortName> {
    try PortSelection.port(option: port, environment: ProcessInfo.processInfo.environment)
  }

  /// The rate that is meant, in bits per second. Throws `PortError` when it is no rate.
  func resolvedBitsPerSecond() throws -> Sourced<UInt32> { try rate.resolvedBitsPerSecond() }
}

import ArgumentParser
import Foundation
import SerialLink

/// The option that names a port's rate.
struct RateOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Serial rate in bits per second.", discussion: "Default: NOTIBOT_BAUD, else ESPBAUD, else 921600.",
      valueName: "rate"))
  var baud: String?
}

extension RateOptions {
  /// The selected rate, in bits per second. Throws `PortError` when it is invalid.
  func resolvedBitsPerSecond() throws -> Sourced<UInt32> {
    try PortSelection.bitsPerSecond(option: baud, environment: ProcessInfo.processInfo.environment)
  }
}

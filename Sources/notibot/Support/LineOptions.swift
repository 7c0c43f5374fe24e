import ArgumentParser
import Foundation
import SerialLink

/// The options that name a port and its rate.
struct LineOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The port: /dev/ttyACM0, auto, usb:VID:PID[:SERIAL], id:DEVICE-ID, socket://host:port, emu:[profile] or qemu:[elf].",
      discussion: "Without it: NOTIBOT_PORT, else ESPPORT, else auto.", valueName: "port"))
  var port: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Bits per second.", discussion: "Without it: NOTIBOT_BAUD, else ESPBAUD, else 921600.",
      valueName: "rate"))
  var baud: String?
}

extension LineOptions {
  /// The port that is meant, and what named it. Throws `PortError` when its name cannot be read.
  func resolvedPort() throws -> Sourced<PortSpecifier> {
    try PortSelection.port(option: port, environment: ProcessInfo.processInfo.environment)
  }

  /// The rate that is meant, in bits per second. Throws `PortError` when it is no rate.
  func resolvedBitsPerSecond() throws -> Sourced<UInt32> { try Self.bitsPerSecond(option: baud) }

  /// The same for a command that takes a rate and no port.
  static func bitsPerSecond(option: String?) throws -> Sourced<UInt32> {
    try PortSelection.bitsPerSecond(option: option, environment: ProcessInfo.processInfo.environment)
  }
}

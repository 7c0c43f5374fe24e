import ArgumentParser
import SerialLink

/// The options that name a port, the same in every command that opens one.
struct PortOptions: ParsableArguments {
  @OptionGroup var line: LineOptions

  @Option(
    help: ArgumentHelp(
      "How long the device has to answer the first time, 0.1-600.",
      discussion: "Longer for a board that restarts when its port is opened.", valueName: "seconds"))
  var timeout = 1.8

  func validate() throws {
    guard (0.1...600).contains(timeout) else { throw ValidationError("--timeout is 0.1 to 600 seconds") }
  }
}

extension PortOptions {
  /// The port that is meant, and what named it. Throws `PortError` when its name cannot be read.
  func resolvedPort() throws -> Sourced<PortSpecifier> { try line.resolvedPort() }

  /// The rate that is meant, in bits per second. Throws `PortError` when it is no rate.
  func resolvedBitsPerSecond() throws -> Sourced<UInt32> { try line.resolvedBitsPerSecond() }
}

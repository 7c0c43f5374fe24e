import ArgumentParser
import SerialLink

/// The options that name a port, the same in every command that opens one.
struct PortOptions: ParsableArguments {
  @OptionGroup var line: LineOptions
  @OptionGroup var answer: AnswerOptions
}

extension PortOptions {
  /// The port that is meant, and what named it. Throws `PortError` when its name cannot be read.
  func resolvedPort() throws -> Sourced<PortName> { try line.resolvedPort() }

  /// The rate that is meant, in bits per second. Throws `PortError` when it is no rate.
  func resolvedBitsPerSecond() throws -> Sourced<UInt32> { try line.resolvedBitsPerSecond() }
}

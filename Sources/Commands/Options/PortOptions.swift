import ArgumentParser
import SerialLink

/// The options that name a port, the same in every command that opens one.
struct PortOptions: ParsableArguments {
  @OptionGroup var line: LineOptions
  @OptionGroup var answer: AnswerOptions
}

extension PortOptions {
  /// The selected port, and the source of its name. Throws `PortError` when the name is invalid.
  func resolvedPort() throws -> Sourced<PortName> { try line.resolvedPort() }

  /// The selected rate, in bits per second. Throws `PortError` when it is invalid.
  func resolvedBitsPerSecond() throws -> Sourced<UInt32> { try line.resolvedBitsPerSecond() }
}

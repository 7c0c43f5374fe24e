import Foundation

/// How much the differential tests do. `scripts/differential` asks for more.
enum Differential {
  /// Decides every input.
  static let seed = number("NOTIBOT_DIFFERENTIAL_SEED") ?? 20_261_121
  /// Streams and PDUs together.
  static let inputs = Int(number("NOTIBOT_DIFFERENTIAL_INPUTS") ?? 1_100_000)
  /// Pieces of a line.
  static let streams = inputs * 8 / 11
  /// PDUs.
  static let pdus = inputs * 3 / 11

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
  }
}

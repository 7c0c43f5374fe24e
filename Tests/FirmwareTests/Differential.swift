import Foundation

/// The size of the differential tests. `scripts/dev differential` sets more.
enum Differential {
  /// The seed of every input.
  static let seed = number("NOTIBOT_DIFFERENTIAL_SEED") ?? 20_261_121
  /// Total of streams and PDUs.
  static let inputs = Int(number("NOTIBOT_DIFFERENTIAL_INPUTS") ?? 1_100_000)
  /// Pieces of a line.
  static let streams = inputs * 8 / 11
  /// PDUs.
  static let pdus = inputs * 3 / 11

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
  }
}

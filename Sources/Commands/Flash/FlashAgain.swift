import FirmwareImages
import SerialLink

/// Firmware that is written to a board again and again, while a monitor waits.
struct FlashAgain: Sendable {
  private static let greetingLimit = Duration.seconds(1)
  private static let answerLimit = Duration.seconds(10)

  /// As in `notibot flash`; read anew each time.
  let images: [String]
  /// In bits per second.
  let rate: UInt32

  /// Writes what is not on the board already, and reports.
  /// - Throws: `Failure`, `PortError`.
  func perform(at name: PortName) async throws {
    let plan = try await FlashFiles(images).plan(chip: nil)
    let esptool = try await EsptoolProgram.located(option: nil, installs: true)
    let place = try await BoardAccess.located(name, bitsPerSecond: rate)
    let run = FlashRun(
      plan: plan, name: place, rate: rate, esptool: esptool, expectedID: nil, before: .defaultReset,
      after: .hardReset, isForced: false, greetingLimit: Self.greetingLimit, timeout: Self.answerLimit)
    try await run.perform { report, _ in
      for line in report.text.split(separator: "\n") { Output.note(String(line)) }
    }
  }
}

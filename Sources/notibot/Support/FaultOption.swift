import DeviceEmulator
import SerialLink

/// The `--faults` of `emulate` and `proxy`.
enum FaultOption {
  /// The faults that the option's text stands for; none without it.
  /// - Throws: `CommandFailure` that says what is wrong with it.
  static func parsed(_ text: String?) throws -> FaultSpec {
    guard let text else { return .off }
    do {
      return try FaultSpec(parsing: text)
    } catch {
      throw CommandFailure(
        .usage, error.description.printable, remedy: "an example: flip=1e-4,reboot@5000,seed=7")
    }
  }
}

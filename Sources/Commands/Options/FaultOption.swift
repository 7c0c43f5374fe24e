import DeviceEmulator
import SerialLink

/// The option `--faults` of several commands.
enum FaultOption {
  /// The faults of the option's text; no faults for `nil`.
  /// - Throws: `Failure` with the reason when the text is invalid.
  static func parsed(_ text: String?) throws -> FaultSpec {
    guard let text else { return .off }
    do {
      return try FaultSpec(parsing: text)
    } catch {
      throw Failure(
        .usage, error.description.printable, remedy: "use for example flip=1e-4,reboot@5000,seed=7")
    }
  }
}

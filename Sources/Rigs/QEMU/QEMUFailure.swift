package import SerialLink

/// Why firmware on an emulated CPU cannot be run, and what to do about it.
package struct QEMUFailure: ClassifiedError, Equatable, Sendable {
  package var reason: String
  package var hint: String

  init(_ reason: String, hint: String) {
    self.reason = reason.printable
    self.hint = hint.printable
  }

  package var kind: FailureKind { .unfitEnvironment }
  package var description: String { reason }

  static let ended = QEMUFailure("QEMU has ended", hint: "run it manually and read its output")
  static let silent = QEMUFailure(
    "QEMU does not answer", hint: "check whether the computer is overloaded, then try again")
  static let silentFirmware = QEMUFailure(
    "the firmware does not answer on its control line",
    hint: "check whether the computer is overloaded, then debug the firmware")
}

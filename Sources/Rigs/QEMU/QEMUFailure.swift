/// Why firmware on an emulated CPU cannot be run, and what to do about it.
package struct QEMUFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong. Safe to print after sanitising.
  package var reason: String
  /// The action for the user.
  package var hint: String

  init(_ reason: String, hint: String) {
    self.reason = reason
    self.hint = hint
  }

  package var description: String { "\(reason); \(hint)" }

  static let ended = QEMUFailure("QEMU has ended", hint: "run it manually and read its output")
  static let silent = QEMUFailure(
    "QEMU or the firmware in it does not answer",
    hint: "check whether the computer is overloaded, then try again")
}

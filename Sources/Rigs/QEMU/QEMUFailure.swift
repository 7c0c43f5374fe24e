/// Why firmware on an emulated CPU cannot be run, and what to do about it.
package struct QEMUFailure: Error, Equatable, Sendable, CustomStringConvertible {
  package var message: String
  package var remedy: String

  init(_ message: String, remedy: String) {
    self.message = message
    self.remedy = remedy
  }

  package var description: String { "\(message); \(remedy)" }

  static let ended = QEMUFailure("QEMU has ended", remedy: "run it manually and read its output")
  static let silent = QEMUFailure(
    "QEMU or the firmware in it does not answer",
    remedy: "check whether the computer is overloaded, then try again")
}

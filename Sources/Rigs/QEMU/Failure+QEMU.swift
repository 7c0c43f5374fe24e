import SerialLink

/// Firmware on an emulated CPU cannot be run.
extension Failure {
  init(qemu reason: String, remedy: String) {
    self.init(.unfitEnvironment, reason.printable, remedy: remedy.printable)
  }

  static let qemuEnded = Failure(qemu: "QEMU has ended", remedy: "run it manually and read its output")
  static let qemuSilent = Failure(
    qemu: "QEMU does not answer", remedy: "check whether the computer is overloaded, then try again")
  static let silentFirmware = Failure(
    qemu: "the firmware does not answer on its control line",
    remedy: "check whether the computer is overloaded, then debug the firmware")
}

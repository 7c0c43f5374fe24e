import DeviceEmulator
import SerialLink

extension CommandFailure {
  /// The failure for a control socket that does not answer.
  init(_ failure: ControlClient.Failure) {
    switch failure {
    case .unreachable(let path, let reason):
      self.init(
        .noBoard, "cannot connect to \(path.printable): \(reason)",
        remedy: "start an emulator with: notibot emulate --control \(path.printable)")
    case .permissionDenied(let path):
      self.init(
        .noPermission, "cannot connect to \(path.printable): permission denied",
        remedy: "run this as the user who started the emulator")
    case .noAnswer:
      self.init(.noAnswer, "\(failure)".printable, remedy: "check that its process is still running")
    }
  }
}

import DeviceEmulator
import SerialLink

extension CommandFailure {
  /// The failure that a control socket without an answer stands for.
  init(_ failure: ControlClient.Failure) {
    switch failure {
    case .unreachable(let path, let reason):
      self.init(
        .noBoard, "no emulator listens at \(path.printable): \(reason)",
        remedy: "start one with: notibot emulate --control \(path.printable)")
    case .permissionDenied(let path):
      self.init(
        .noPermission, "cannot connect to \(path.printable): permission denied",
        remedy: "run this as the user who started the emulator")
    case .noAnswer:
      self.init(.noAnswer, "\(failure)".printable, remedy: "check whether its process still runs")
    }
  }
}

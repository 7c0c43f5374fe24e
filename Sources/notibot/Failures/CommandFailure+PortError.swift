import SerialLink

extension CommandFailure {
  /// The failure for a port error.
  init(_ error: PortError) {
    self.init(ExitStatus(error.code), error.description, remedy: error.remedy)
  }
}

extension ExitStatus {
  /// The exit code of a port error, as docs/CLI.md lists them.
  init(_ code: PortError.Code) {
    self =
      switch code {
      case .notFound, .noBoard, .ambiguous, .unreachable: .noBoard
      case .busy, .serverBusy: .portBusy
      case .permissionDenied, .placeRefused: .noPermission
      case .notATTY, .noModemLines, .unsupportedBaud, .badPortName, .badRate, .linkOccupied, .badPlace:
        .usage
      case .deviceGone: .linkLost
      case .unconfirmed: .noAnswer
      case .noTerminals, .system: .unfitEnvironment
      }
  }
}

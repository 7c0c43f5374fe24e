import SerialLink

extension CommandFailure {
  /// The failure for a port error.
  init(_ error: PortError) {
    self.init(ExitStatus(error.code), error.description, remedy: error.commandHint)
  }
}

extension PortError {
  /// The hint, with the options and commands of this program where they help.
  var commandHint: String {
    switch code {
    case .noBoard(let others) where others.isEmpty: "\(hint) with --port"
    case .noBoard: "with --port, \(hint)"
    case .ambiguous: "\(hint) with --port"
    case .noModemLines: "\(hint); restart an emulator with: notibot control --socket PATH reboot"
    case .unsupportedBaud, .badRate: "choose another rate with --baud, such as 115200"
    case .notFound, .busy, .serverBusy, .permissionDenied, .notATTY, .badPortName, .unavailableForm,
      .linkOccupied,
      .badPlace, .placeRefused, .deviceGone, .unreachable, .unconfirmed, .share, .noTerminals,
      .noVirtualUSB,
      .system:
      hint
    }
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
      case .notATTY, .noModemLines, .unsupportedBaud, .badPortName, .unavailableForm, .badRate, .linkOccupied,
        .badPlace:
        .usage
      case .share(.none), .share(.several), .share(.noServer): .noBoard
      case .share(.silent): .noAnswer
      case .share(.ended): .linkLost
      case .share(.refused(_, _, let exit)): ExitStatus(rawValue: exit) ?? .unfitEnvironment
      case .deviceGone: .linkLost
      case .unconfirmed: .noAnswer
      case .noTerminals, .noVirtualUSB, .system: .unfitEnvironment
      }
  }
}

import NotibotHost
package import SerialLink

extension Failure {
  /// What ends a command with the exit code of its kind and one line: what, where, why, what to do.
  package init(_ error: any ClassifiedError) {
    self = error as? Failure ?? Failure(error.kind, error.description, remedy: error.commandHint)
  }
}

extension ClassifiedError {
  /// The hint, with the options and commands of this program where they help.
  package var commandHint: String {
    switch self {
    case let error as NotibotError where error.code == .deviceRestarted:
      "see its console with: notibot monitor"
    case let error as NotibotError: (error.underlying as? any ClassifiedError)?.commandHint ?? hint
    case let error as PortError: error.optionHint
    case let error as JournalError where error.code == .missing:
      "\(hint); 'notibot forward' creates a missing outbox"
    case let error as JournalError:
      if case .corrupt = error.code {
        "the file was not changed; save its readable notifications with: "
          + "notibot outbox salvage \(error.path.printable); then move its files away"
      } else {
        hint
      }
    case _: hint
    }
  }
}

extension PortError {
  fileprivate var optionHint: String {
    switch code {
    case .noBoard(let others) where others.isEmpty: "\(hint) with --port"
    case .noBoard: "with --port, \(hint)"
    case .ambiguous, .severalInterfaces: "\(hint) with --port"
    case .noModemLines: "\(hint); restart an emulator with: notibot control --socket PATH reboot"
    case .unsupportedBaud, .badRate: "choose another rate with --baud, such as 115200"
    case .notFound, .nodeMissing, .busy, .locked, .serverBusy, .permissionDenied, .notATTY, .badPortName,
      .unavailableForm,
      .linkOccupied, .badPlace, .placeRefused, .deviceGone, .unreachable, .unconfirmed, .share, .noTerminals,
      .noVirtualUSB, .system:
      hint
    }
  }
}

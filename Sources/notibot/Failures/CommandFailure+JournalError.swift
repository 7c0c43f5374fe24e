import NotibotHost
import SerialLink

extension CommandFailure {
  /// The failure for an error of the outbox file.
  init(_ error: JournalError) {
    self.init(ExitStatus(error.code), error.description, remedy: error.commandHint)
  }
}

extension JournalError {
  /// What to do about it with this program.
  var commandHint: String {
    switch code {
    case .missing: "\(hint); 'notibot forward' creates a missing outbox"
    case .corrupt:
      "the file was not changed; save its readable notifications with: "
        + "notibot outbox salvage \(path.printable); then move its files away"
    case .directoryMissing, .lockIsLink, .locked, .permissionDenied, .readOnly, .diskFull, .notAnOutbox,
      .tooNew, .inputOutput, .closed:
      hint
    }
  }
}

extension ExitStatus {
  /// The exit code of an error of the outbox file, as docs/CLI.md lists them.
  init(_ code: JournalError.Code) {
    self =
      switch code {
      case .missing, .directoryMissing, .notAnOutbox, .tooNew: .usage
      case .locked: .portBusy
      case .permissionDenied, .readOnly: .noPermission
      case .diskFull, .corrupt, .inputOutput, .lockIsLink, .closed: .unfitEnvironment
      }
  }
}

import NotibotHost
import SerialLink

extension CommandFailure {
  /// The failure for an error of the host library.
  init(_ error: NotibotError) {
    let hint =
      switch error.code {
      case .deviceRestarted: "see its console text with: notibot watch --text"
      case .usage, .noBoard, .portBusy, .noPermission, .noAnswer, .linkLost, .refused, .incompatible,
        .environment, .queueFull:
        (error.underlying as? PortError)?.commandHint ?? (error.underlying as? JournalError)?.commandHint
          ?? error.hint
      }
    self.init(ExitStatus(error.code), error.description, remedy: hint)
  }
}

extension ExitStatus {
  /// The exit code of an error of the host library, as docs/CLI.md lists them.
  init(_ code: NotibotError.Code) {
    self =
      switch code {
      case .usage: .usage
      case .noBoard: .noBoard
      case .portBusy: .portBusy
      case .noPermission: .noPermission
      case .noAnswer: .noAnswer
      case .linkLost: .linkLost
      case .refused, .incompatible: .refused
      case .deviceRestarted: .deviceRestarted
      case .environment, .queueFull: .unfitEnvironment
      }
  }
}

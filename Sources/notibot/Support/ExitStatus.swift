/// What a `notibot` process ends with. The numbers are a promise to scripts; docs/CLI.md lists them.
enum ExitStatus: Int32, CaseIterable, Sendable {
  case success = 0
  case testFailed = 1
  case usage = 2
  case noBoard = 10
  case portBusy = 11
  case noPermission = 12
  case noAnswer = 13
  case linkLost = 14
  case refused = 15
  case flashingFailed = 16
  case deviceRestarted = 17
  case unfitEnvironment = 18
  case interrupted = 130
  case terminated = 143

  /// What the number says, in a few words.
  var meaning: String {
    switch self {
    case .success: "done, all passed"
    case .testFailed: "a test failed, a limit was missed"
    case .usage: "usage or configuration"
    case .noBoard: "no board"
    case .portBusy: "port busy (the message says by whom)"
    case .noPermission: "no permission"
    case .noAnswer: "no answer in time"
    case .linkLost: "link lost"
    case .refused: "the device refused"
    case .flashingFailed: "flashing failed"
    case .deviceRestarted: "the device crashed or rebooted unexpectedly"
    case .unfitEnvironment: "the environment is unfit"
    case .interrupted: "interrupted (Ctrl-C)"
    case .terminated: "terminated (SIGTERM)"
    }
  }

  /// The table that `--help` shows.
  static let helpTable =
    "EXIT CODES\n"
    + allCases.map { status in
      let number = String(status.rawValue)
      return "  " + String(repeating: " ", count: 3 - number.count) + number + "  " + status.meaning
    }.joined(separator: "\n")
}

/// Ends a command with a status and one line that says what, where, why and what to do.
struct CommandFailure: Error, CustomStringConvertible {
  var status: ExitStatus
  /// One line, without the program's name; sanitised before it is printed.
  var message: String
  /// What the user can do about it; empty when there is nothing to add.
  var remedy: String

  init(_ status: ExitStatus, _ message: String, remedy: String = "") {
    self.status = status
    self.message = message
    self.remedy = remedy
  }

  var description: String {
    remedy.isEmpty ? message : "\(message); \(remedy)"
  }
}

/// The exit codes of `notibot`. The numbers are stable for scripts; docs/CLI.md lists them.
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

  /// The meaning of the number, in a few words.
  var meaning: String {
    switch self {
    case .success: "success; all cases passed"
    case .testFailed: "a test failed, a limit was exceeded, or ask: not the first action"
    case .usage: "wrong usage or configuration"
    case .noBoard: "no board found"
    case .portBusy: "port busy (the message names the process)"
    case .noPermission: "permission denied"
    case .noAnswer: "no answer in time"
    case .linkLost: "connection lost"
    case .refused: "refused by the device"
    case .flashingFailed: "flashing failed"
    case .deviceRestarted: "the device crashed or rebooted unexpectedly"
    case .unfitEnvironment: "environment not usable"
    case .interrupted: "interrupted (Ctrl-C)"
    case .terminated: "terminated (SIGTERM)"
    }
  }

  /// The table in `notibot --help`.
  static let helpTable =
    "EXIT CODES\n"
    + allCases.map { status in
      let number = String(status.rawValue)
      return "  " + String(repeating: " ", count: 3 - number.count) + number + "  " + status.meaning
    }.joined(separator: "\n")
}

/// Ends a command with a status and one line: what, where, why, what to do.
struct CommandFailure: Error, CustomStringConvertible {
  var status: ExitStatus
  /// One line, without the program's name; sanitised before it is printed.
  var message: String
  /// The action for the user; empty if there is nothing to add.
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

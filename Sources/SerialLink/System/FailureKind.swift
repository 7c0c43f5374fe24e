/// The kind of a failure. Its raw value is the exit code of a command that ends with it, and of the
/// refusal of a server. The numbers are stable for scripts; docs/CLI.md lists them.
package enum FailureKind: Int32, CaseIterable, Sendable {
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
  case hungUp = 129
  case interrupted = 130
  case quit = 131
  case terminated = 143

  /// The kind that a server's refusal names by its exit code. A server decides neither a test nor
  /// the end of this process.
  package init(refusedWith exit: Int32) {
    self =
      (Self.usage.rawValue...Self.unfitEnvironment.rawValue).contains(exit)
      ? FailureKind(rawValue: exit) ?? .unfitEnvironment : .unfitEnvironment
  }

  /// The end of a command by a signal: 128 and its number; SIGTERM's for a signal without a kind.
  package init(signal number: Int32) {
    self = FailureKind(rawValue: 128 + number) ?? .terminated
  }

  /// Whether a signal ended the command.
  package var isSignal: Bool { rawValue > 128 }

  /// The meaning of the number, in a few words.
  package var meaning: String {
    switch self {
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
    case .hungUp: "hung up (SIGHUP: the terminal was closed)"
    case .interrupted: "interrupted (Ctrl-C)"
    case .quit: "quit (Ctrl-\\)"
    case .terminated: "terminated (SIGTERM)"
    }
  }
}

extension FailureKind {
  /// The table of exit codes for a help text.
  package static func helpTable(of kinds: [FailureKind] = allCases) -> String {
    "EXIT CODES\n    0  success; all cases passed\n"
      + kinds.map { kind in
        let number = String(kind.rawValue)
        return "  " + String(repeating: " ", count: 3 - number.count) + number + "  " + kind.meaning
      }.joined(separator: "\n")
  }
}

/// An error that carries its kind. Its description is one line that is safe to print.
package protocol ClassifiedError: Error, CustomStringConvertible {
  var kind: FailureKind { get }
  /// One line: the action for the user; empty if there is nothing to add. Safe to print.
  var hint: String { get }
}

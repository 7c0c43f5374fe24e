import NotibotHost

extension CommandFailure {
  /// The failure that an error of the outbox's file stands for.
  init(_ error: JournalError) {
    self.init(
      ExitStatus(rawValue: error.exitCode) ?? .unfitEnvironment, error.description, remedy: error.hint)
  }
}

import NotibotHost

extension CommandFailure {
  /// The failure for an error of the outbox file.
  init(_ error: JournalError) {
    self.init(
      ExitStatus(rawValue: error.exitCode) ?? .unfitEnvironment, error.description, remedy: error.hint)
  }
}

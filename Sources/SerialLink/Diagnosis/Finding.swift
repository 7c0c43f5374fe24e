extension Diagnosis {
  /// One thing that was looked at, and what is to be said of it.
  package struct Finding: Hashable, Sendable {
    package enum Severity: String, Hashable, Sendable {
      /// Nothing to do.
      case good
      /// Would make work slower, less safe or less convenient.
      case warning
      /// Would stop work.
      case trouble
    }

    package let severity: Severity
    /// What was looked at, one word: `port`, `group`, `udev`.
    package let check: String
    /// What was found, in one line. Holds texts of others: sanitise before printing.
    package let text: String
    /// The command that mends it; `nil` when there is nothing to mend, or no command does.
    package let command: String?

    package init(_ severity: Severity, _ check: String, _ text: String, command: String? = nil) {
      self.severity = severity
      self.check = check
      self.text = text
      self.command = command
    }
  }
}

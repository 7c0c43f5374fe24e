extension Diagnosis {
  /// The result of one check.
  package struct Finding: Hashable, Sendable {
    package enum Severity: String, Hashable, Sendable {
      /// Nothing to do.
      case good
      /// Makes work slower, less safe or less convenient.
      case warning
      /// Prevents work.
      case trouble
    }

    package let severity: Severity
    /// The subject, one word: `port`, `group`, `udev`.
    package let check: String
    /// The finding, in one line. Contains external texts: sanitise before printing.
    package let text: String
    /// The command that fixes it; `nil` if there is nothing to fix, or no command does.
    package let command: String?

    package init(_ severity: Severity, _ check: String, _ text: String, command: String? = nil) {
      self.severity = severity
      self.check = check
      self.text = text
      self.command = command
    }
  }
}

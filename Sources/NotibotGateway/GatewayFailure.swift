package import SerialLink

/// Why the gateway cannot do something: what, where, why, what to do. Without text of a sender.
package struct GatewayFailure: Error, Hashable, Sendable, CustomStringConvertible {
  package var kind: FailureKind
  package var message: String
  /// Empty: nothing to add.
  package var remedy: String

  package init(_ kind: FailureKind, _ message: String, remedy: String = "") {
    self.kind = kind
    self.message = message
    self.remedy = remedy
  }

  /// A failure of the outbox or of the board's port.
  package init(_ error: any ClassifiedError) {
    self.init(error.kind, error.description, remedy: error.hint)
  }

  package var description: String { remedy.isEmpty ? message : "\(message); \(remedy)" }
}

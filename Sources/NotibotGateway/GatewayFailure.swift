/// Why the gateway cannot do something: what, where, why, what to do. Without text of a sender.
package struct GatewayFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The exit code of the command, as in docs/CLI.md.
  package enum Kind: Int32, Hashable, Sendable {
    case usage = 2
    case portBusy = 11
    case noPermission = 12
    case noAnswer = 13
    case environment = 18
  }

  package var kind: Kind
  package var message: String
  /// Empty: nothing to add.
  package var remedy: String

  package init(_ kind: Kind, _ message: String, remedy: String = "") {
    self.kind = kind
    self.message = message
    self.remedy = remedy
  }

  package var description: String { remedy.isEmpty ? message : "\(message); \(remedy)" }
}

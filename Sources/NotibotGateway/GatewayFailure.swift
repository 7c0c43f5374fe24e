import Foundation
package import GatewayRules
import NIOCore
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

  /// A failure to listen.
  init(listeningAt place: GatewayRules.SocketPlace, _ error: any Error, remedy: String) {
    let number = (error as? IOError)?.errnoCode
    let text = number.map { String(cString: strerror($0)) } ?? "\(error)"
    let isBusy = number == EADDRINUSE
    self.init(
      isBusy ? .portBusy : number == EACCES ? .noPermission : .unfitEnvironment,
      "cannot listen on \(place.host):\(place.port): \(text)",
      remedy: isBusy ? "'ss -ltnp' names the program that does; \(remedy)" : remedy)
  }

  package var description: String { remedy.isEmpty ? message : "\(message); \(remedy)" }
}

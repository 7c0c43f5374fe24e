import Foundation
package import GatewayRules
import NIOCore
package import SerialLink

extension Failure {
  /// A failure of the outbox or of the board's port.
  package init(_ error: any ClassifiedError) {
    self = error as? Failure ?? Failure(error.kind, error.description, remedy: error.hint)
  }

  /// A failure to listen.
  init(listeningAt place: GatewayRules.SocketPlace, _ error: any Error, remedy: String) {
    let number = (error as? IOError)?.errnoCode
    let isBusy = number == EADDRINUSE
    self.init(
      isBusy ? .portBusy : number == EACCES ? .noPermission : .unfitEnvironment,
      "cannot listen on \(place.host):\(place.port): \(errorText(error))",
      remedy: isBusy ? "'ss -ltnp' names the program that does; \(remedy)" : remedy)
  }
}

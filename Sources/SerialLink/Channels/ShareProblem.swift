/// Why a port of `notibot share` cannot be used.
package enum ShareProblem: Hashable, Sendable {
  /// No server listens in this folder, that of the sockets without a path of their own.
  case none(folder: String)
  /// Several servers of this user listen, at these paths.
  case several([String])
  /// Nothing, or something other than a server of this protocol, is at the path; the reason.
  case noServer(String)
  /// The server accepted the connection and did not answer in time.
  case silent
  /// The server closed the connection.
  case ended
  /// The server does not have this port of the board open.
  case boardGone(port: String)
  /// The server refused.
  case refused(reason: String, hint: String, FailureKind)

  /// Whether it can resolve with time: only the user can choose between servers.
  package var healsByWaiting: Bool { if case .several = self { false } else { true } }

  var kind: FailureKind {
    switch self {
    case .none, .several, .noServer: .noBoard
    case .silent: .noAnswer
    case .ended, .boardGone: .linkLost
    case .refused(_, _, let kind): kind
    }
  }

  /// Safe to print.
  var reason: String {
    switch self {
    case .none(let folder): "no 'notibot share' of this user listens in \(folder.printable)"
    case .several(let paths):
      "\(paths.count) servers are running: \(paths.prefix(8).map(\.printable).joined(separator: ", "))"
    case .noServer(let text): text.printable
    case .silent: "the server does not answer"
    case .ended: "the server of the shared board closed the connection"
    case .boardGone(let port): "the shared board at \(port.printable) is disconnected"
    case .refused(let reason, _, _): reason.printable
    }
  }

  /// Safe to print.
  var hint: String {
    switch self {
    case .none: "start one with: notibot share -p PORT; one with --socket PATH is the port share:PATH"
    case .several: "choose one with: -p share:PATH"
    case .noServer: "start a server with: notibot share -p PORT --socket PATH"
    case .silent: "stop that server, and start it again"
    case .ended: "check that 'notibot share' runs; it prints why it closes a connection"
    case .boardGone: "check its cable and power supply; its server opens it again when it returns"
    case .refused(_, let hint, _): hint.printable
    }
  }
}

import Foundation
import NotibotHost
import SerialLink

/// The lines of the socket of `share`. Source: docs/INTERFACE.md.
struct ShareGreeting: Encodable {
  var `protocol` = ShareSocket.protocolName
  var version = ShareSocket.protocolVersion
  var pid = getpid()
  var port: String
  var lineLimitBytes = ShareSocket.lineLimitBytes
}

/// A request; members that are not listed are ignored.
struct ShareRequest: Decodable {
  var id: Int64?
  var op: String?
}

/// The rest of a request to send.
struct ShareSending: Decodable {
  /// The four fields of a notification (PROTOCOL.md NTF-1).
  struct Notification: Decodable {
    var app: String
    var title: String
    var text: String
    var timestamp: UInt32
  }

  var notification: Notification
}

/// The answer to a request.
struct ShareAnswer: Encodable {
  struct Failure: Encodable {
    var reason: String
    var hint: String
    var exit: Int32
  }

  struct Client: Encodable {
    var pid: Int32
    var command: String
    var mode: String
  }

  var id: Int64?
  var ok: Bool
  var error: Failure?
  /// Whether the board has a session now.
  var connected: Bool?
  /// Whether the server has the board's port open.
  var open: Bool?
  var count: UInt16?
  /// The text was cut to fit.
  var cut: Bool?
  var cutMembers: [String]?
  var deviceID: String?
  var clients: [Client]?

  init(id: Int64?, connected: Bool? = nil) {
    (self.id, ok, self.connected) = (id, true, connected)
  }

  init(id: Int64?, count: UInt16) {
    (self.id, ok, self.count) = (id, true, count)
  }

  init(id: Int64?, _ error: NotibotError) {
    self.init(id: id, error.kind, error.description, hint: error.hint)
  }

  init(id: Int64?, _ kind: FailureKind, _ reason: String, hint: String) {
    (self.id, ok) = (id, false)
    error = Failure(reason: reason, hint: hint, exit: kind.rawValue)
  }
}

extension Encodable {
  /// One line of JSON with its newline.
  var shareLine: [UInt8] {
    Array((((try? printableJSON()) ?? #"{"ok":false}"#) + "\n").utf8)
  }
}

import Foundation
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
  var deviceID: String?
  var clients: [Client]?

  init(id: Int64?, connected: Bool? = nil) {
    (self.id, ok, self.connected) = (id, true, connected)
  }

  init(id: Int64?, _ status: ExitStatus, _ reason: String, hint: String) {
    (self.id, ok) = (id, false)
    error = Failure(reason: reason, hint: hint, exit: status.rawValue)
  }
}

extension Encodable {
  /// One line of JSON with its newline.
  var shareLine: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let failure = Data(#"{"ok":false}"#.utf8)
    return Array((try? encoder.encode(self)) ?? failure) + [UInt8(ascii: "\n")]
  }
}

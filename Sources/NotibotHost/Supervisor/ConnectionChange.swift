/// How the connection to a device stands, each time that this changes, and why it does.
public struct ConnectionChange: Hashable, Sendable {
  public enum State: Hashable, Sendable {
    /// The port is open, and a session is asked for.
    case connecting(port: String)
    /// A session is open.
    case up(port: String, DeviceInfo)
    /// Nothing has come for 3 s; 2 s more and the session is over.
    case suspect
    /// There is no session, and no open port or none that answers. It is tried again.
    case down
    /// There will be no session any more.
    case ended
  }

  public var state: State
  public var reason: ConnectionReason

  public init(_ state: State, _ reason: ConnectionReason) {
    self.state = state
    self.reason = reason
  }
}

/// Why a connection changed.
public enum ConnectionReason: Hashable, Sendable {
  /// The first attempt.
  case first
  /// The ports of this machine changed, and now it could be opened.
  case portAppeared
  /// It was time to try again.
  case retried
  /// The device opened a session.
  case answered
  /// A frame came after all.
  case recovered
  /// Nothing has come for a while.
  case silent
  /// The port went away.
  case portGone
  /// The port could not be opened.
  case openFailed(PortFailure)
  /// The port is open and no session came about in time.
  case noAnswer
  /// The device came up anew.
  case deviceRestarted
  /// The device said that the session is over.
  case closedByDevice
  /// The device does not know the session any more.
  case unknownToDevice
  /// The device answers and its application does not, or not as it should; the text says how.
  case misbehaved(String)
  /// The device does not let this host in; the text says why.
  case refused(String)
  /// The board at this port is another one. `seen` is `nil` when it does not say which.
  case otherBoard(port: String, expected: String, seen: String?)
  /// This side ended it.
  case stopped
}

extension ConnectionReason: CustomStringConvertible {
  /// One line, safe to print.
  public var description: String {
    switch self {
    case .first: "first attempt"
    case .portAppeared: "the port appeared"
    case .retried: "another attempt"
    case .answered: "the device answered"
    case .recovered: "the device is heard again"
    case .silent: "nothing came from the device"
    case .portGone: "the port went away"
    case .openFailed(let failure): failure.description
    case .noAnswer: "no Notibot answers"
    case .deviceRestarted: "the device restarted"
    case .closedByDevice: "the device closed the session"
    case .unknownToDevice: "the device does not know the session any more"
    case .misbehaved(let text): text
    case .refused(let text): text
    case .otherBoard(let port, let expected, let seen):
      "the board at \(port) is \(seen ?? "one without an id"), not \(expected)"
    case .stopped: "stopped"
    }
  }
}

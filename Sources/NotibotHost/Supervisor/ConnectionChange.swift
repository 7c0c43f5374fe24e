/// A change of the connection to a device, and its reason.
public struct ConnectionChange: Hashable, Sendable {
  /// A state of the connection.
  @nonexhaustive
  public enum State: Hashable, Sendable {
    /// The port is open, and a session is requested.
    case connecting(port: String)
    /// A session is open.
    case up(port: String, DeviceInfo)
    /// No frame was received for 3 s; after 2 s more the session ends.
    case suspect
    /// No session: no port is open, or the device does not answer. It is tried again.
    case down
    /// The supervisor has ended.
    case ended
  }

  /// The state after the change.
  public var state: State
  /// The cause of the change.
  public var reason: ConnectionReason

  /// A change to `state`.
  public init(_ state: State, _ reason: ConnectionReason) {
    self.state = state
    self.reason = reason
  }
}

/// Why a connection changed.
@nonexhaustive
public enum ConnectionReason: Hashable, Sendable {
  /// The first attempt.
  case first
  /// The ports of this computer changed, and now it could be opened.
  case portAppeared
  /// The pause before a retry is over.
  case retried
  /// The device opened a session.
  case answered
  /// A frame was received again.
  case recovered
  /// No frame was received for 3 s.
  case silent
  /// The port was disconnected.
  case portGone
  /// The port could not be opened.
  case openFailed(PortFailure)
  /// The port is open, but no session was opened in time.
  case noAnswer
  /// The device restarted.
  case deviceRestarted
  /// The device closed the session.
  case closedByDevice
  /// The device no longer knows the session.
  case unknownToDevice
  /// The device sends something other than an answer, or its link answers and its application does
  /// not or answers incorrectly; the text is the reason.
  case misbehaved(String)
  /// The device refused this host; the text is the reason.
  case refused(String)
  /// There is a different board at this port. `seen` is `nil` if it does not report an id.
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

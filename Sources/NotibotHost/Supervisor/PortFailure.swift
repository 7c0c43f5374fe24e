import NotibotProtocol
import SerialLink

/// Why a port could not be opened, as a value: the kind, the port, the operation, the reason and
/// the hint.
public struct PortFailure: Error, Hashable, Sendable {
  /// The kind of failure.
  public var code: NotibotError.Code
  /// The port as the user named it.
  public var port: String
  /// The operation that failed, as a verb: "open".
  public var operation: String
  /// The reason, in a few words.
  public var reason: String
  /// The action for the user; empty if there is nothing to add.
  public var hint: String
  /// Whether it can resolve with time: a board can be plugged in, but a path that is not a serial
  /// port stays one.
  public var healsByWaiting: Bool

  /// A failure of `operation` at `port`.
  public init(
    code: NotibotError.Code, port: String, operation: String = "open", reason: String, hint: String = "",
    healsByWaiting: Bool
  ) {
    self.code = code
    self.port = port
    self.operation = operation
    self.reason = reason
    self.hint = hint
    self.healsByWaiting = healsByWaiting
  }
}

extension PortFailure: CustomStringConvertible {
  /// One line without the hint: what, which port, why. Safe to print.
  public var description: String {
    "cannot \(operation) \(TerminalText.sanitised(port.utf8)): \(reason)"
  }
}

extension PortFailure {
  init(_ error: PortError) {
    let healsByWaiting =
      switch error.code {
      // A server can still hold the lost connection.
      case .notFound, .nodeMissing, .noBoard, .deviceGone, .unreachable, .serverBusy, .unconfirmed: true
      // A server can be started again, or finish what it does for somebody else.
      case .share(let problem): problem.healsByWaiting
      // Only the user can choose between boards.
      case .ambiguous, .severalInterfaces: false
      case .busy, .locked, .permissionDenied, .notATTY, .noModemLines, .unsupportedBaud, .badPortName,
        .unavailableForm, .badRate,
        .linkOccupied, .badPlace, .placeRefused, .noTerminals, .noVirtualUSB, .system:
        false
      }
    let summary = NotibotError(error)
    self.init(
      code: summary.code, port: error.port, operation: error.operation, reason: error.reason,
      hint: error.hint, healsByWaiting: healsByWaiting)
  }
}

extension NotibotError {
  /// The failure as an error to throw.
  init(_ failure: PortFailure) {
    self.init(
      code: failure.code, port: failure.port, operation: failure.operation, reason: failure.reason,
      hint: failure.hint, underlying: failure)
  }
}

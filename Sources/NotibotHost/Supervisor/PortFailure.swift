import NotibotProtocol

/// Why a port could not be opened, as a value: what, at which port, during what, why, and what to do about it.
public struct PortFailure: Error, Hashable, Sendable {
  public var code: NotibotError.Code
  /// The port as the user named it.
  public var port: String
  /// What was being done, as a verb: "open".
  public var operation: String
  /// Why, in a few words.
  public var reason: String
  /// What the user can do about it; empty when there is nothing to add.
  public var hint: String
  /// Whether waiting may mend it: a board may be plugged in, a path that is no serial port stays so.
  public var healsByWaiting: Bool

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

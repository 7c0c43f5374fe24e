/// A driver's port, and its attempts to open one. Each attempt has a number, which all events of
/// its channel name: those of an earlier attempt are late.
///
/// States: *closed* → `begin` → *opening* → `attach` → *open* → `end` → *closed*; *opening* →
/// `fail` → *closed*; both → `close` → *closed*. The end of a channel that was never attached
/// changes nothing: the result of its attempt follows, or the supervisor's deadline.
package struct PortAttempts<Port: Sendable>: Sendable {
  private enum State {
    case closed
    case opening
    case open(Port)
  }

  private var state = State.closed
  /// The last attempt's.
  package private(set) var number = 0

  package init() {}

  /// The open port.
  package var port: Port? { if case .open(let port) = state { port } else { nil } }

  package var isOpening: Bool { if case .opening = state { true } else { false } }

  /// Whether an event comes from the open port.
  package func isOpen(_ number: Int) -> Bool { number == self.number && port != nil }

  /// Begins an attempt, and returns its number.
  package mutating func begin() -> Int {
    number += 1
    state = .opening
    return number
  }

  /// A port is open. Returns false if its attempt was given up: it is to be closed.
  package mutating func attach(_ port: Port, _ number: Int) -> Bool {
    guard isOpening, number == self.number else { return false }
    state = .open(port)
    return true
  }

  /// An attempt failed. Returns whether that concerns the supervisor.
  package mutating func fail(_ number: Int) -> Bool {
    guard isOpening, number == self.number else { return false }
    state = .closed
    return true
  }

  /// A channel ended. Returns whether it was the open port's.
  package mutating func end(_ number: Int) -> Bool {
    guard isOpen(number) else { return false }
    state = .closed
    return true
  }

  /// Closes the port, which is returned, or gives up the attempt.
  package mutating func close() -> Port? {
    defer { state = .closed }
    return port
  }
}

package import NotibotProtocol

/// The bearers other than the line: a pulled plug, faults and the line's rate do not affect them.
extension WiredDevice {
  /// A client connects; nil if the device accepts no more.
  package mutating func connect(now: Instant) -> BearerID? {
    clock = now
    return device.connect(now: now)
  }

  /// A connection has ended, whichever side closed it.
  package mutating func disconnect(_ id: BearerID, now: Instant) {
    clock = now
    device.disconnect(id, now: now)
  }

  /// Takes bytes from the client of a connection. The result can also be sent on the line.
  package mutating func receive(_ bytes: [UInt8], on id: BearerID, now: Instant) {
    clock = now
    device.receive(bytes, on: id, now: now)
    drainDevice()
  }

  /// The next action of a connection; nil if none is due.
  package mutating func nextAction(for id: BearerID) -> ConnectionAction? {
    device.nextAction(for: id)
  }

  /// Whether the driver should not read from a client for now.
  package func isFull(_ id: BearerID) -> Bool { device.isFull(id) }
}

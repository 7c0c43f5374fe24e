import NotibotProtocol

/// Bearers beside the line: a plug that is pulled, faults and the line's rate have nothing to do with them.
extension WiredDevice {
  /// A client connects; nil when there are as many as the device takes.
  mutating func connect(now: Instant) -> BearerID? {
    clock = now
    return device.connect(now: now)
  }

  /// A connection is gone, whoever ended it.
  mutating func disconnect(_ id: BearerID, now: Instant) {
    clock = now
    device.disconnect(id, now: now)
  }

  /// Takes bytes from the client of a connection. What comes of it may go out on the line, too.
  mutating func receive(_ bytes: [UInt8], on id: BearerID, now: Instant) {
    clock = now
    device.receive(bytes, on: id, now: now)
    drainDevice()
  }

  /// What to do with a connection next; nil when nothing is due.
  mutating func nextAction(for id: BearerID) -> ConnectionAction? {
    device.nextAction(for: id)
  }

  /// Whether what a client sends is to be left where it is for now.
  func isFull(_ id: BearerID) -> Bool { device.isFull(id) }
}

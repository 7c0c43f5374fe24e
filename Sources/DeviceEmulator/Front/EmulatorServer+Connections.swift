import NIOCore

/// Bearers beside the line, on the same event loop.
extension EmulatorServer {
  /// A client's connection and the name that the device gives it.
  struct Connection {
    let id: BearerID
    let channel: any NIOCore.Channel
  }

  /// A client has connected. Returns nil when the connection is to be closed at once.
  func connected(_ channel: any NIOCore.Channel) -> BearerID? {
    guard !hasStopped, let id = wired.connect(now: Self.now) else { return nil }
    connections.append(Connection(id: id, channel: channel))
    drain()
    return id
  }

  /// Bytes came from a client.
  func received(_ bytes: [UInt8], on id: BearerID) {
    wired.receive(bytes, on: id, now: Self.now)
    drain()
  }

  /// A connection is over.
  func disconnected(_ id: BearerID) {
    connections.removeAll { $0.id == id }
    wired.disconnect(id, now: Self.now)
    drain()
  }

  /// Sends what is due, and reads on where there is room. Returns whether anything was due.
  func drainConnections() -> Bool {
    var hasActed = false
    // A copy: closing one takes it out of the list.
    for connection in Array(connections) {
      var hasWritten = false
      while connection.channel.isWritable, let action = wired.nextAction(for: connection.id) {
        hasActed = true
        switch action {
        case .transmit(let record):
          connection.channel.write(connection.channel.allocator.buffer(bytes: record), promise: nil)
          hasWritten = true
        case .close:
          connection.channel.flush()
          connection.channel.close(promise: nil)
        }
      }
      if hasWritten { connection.channel.flush() }
      if !wired.isFull(connection.id) { connection.channel.read() }
    }
    return hasActed
  }

  /// Closes the socket and every connection.
  func stopConnections() async {
    let socket = attSocket
    attSocket = nil
    await socket?.close()
    for connection in Array(connections) { try? await connection.channel.close() }
  }
}

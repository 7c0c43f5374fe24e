import NIOCore

/// The bearers other than the line, on the same event loop.
extension EmulatorServer {
  /// The connection of a client and the identifier that the device gives it.
  struct Connection {
    let id: BearerID
    let channel: any NIOCore.Channel
  }

  /// A client has connected. Returns nil if the connection must be closed at once.
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

  /// A connection has ended.
  func disconnected(_ id: BearerID) {
    connections.removeAll { $0.id == id }
    wired.disconnect(id, now: Self.now)
    drain()
  }

  /// Sends pending output, and reads on where there is room. Returns whether anything was pending.
  func drainConnections() -> Bool {
    var hasActed = false
    // A copy, because closing a connection removes it from the list.
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

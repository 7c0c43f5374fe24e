package import SuiteWire

/// The layer between the frames of a case and the bytes of its line. To a case, the PDU of a
/// connection looks like the DATA frame that would carry it, so that a case is written once.
package enum ProbeBearer {
  /// The link: frames between zeros, in sessions.
  case session(FrameSplitter)
  /// A connection as over BLE: records, and no session.
  case connection(ProbeConnection)

  /// Takes received bytes.
  mutating func receive(_ bytes: [UInt8]) {
    switch self {
    case .session(var splitter):
      splitter.receive(bytes)
      self = .session(splitter)
    case .connection(var connection):
      connection.receive(bytes)
      self = .connection(connection)
    }
  }

  /// Everything found since the last call.
  mutating func drainItems() -> [WireItem] {
    switch self {
    case .session(var splitter):
      defer { self = .session(splitter) }
      return splitter.drainItems()
    case .connection(var connection):
      defer { self = .connection(connection) }
      return connection.drainItems()
    }
  }

  /// Gives up an unfinished frame or record.
  mutating func flush() {
    switch self {
    case .session(var splitter):
      splitter.flush()
      self = .session(splitter)
    case .connection(var connection):
      connection.restart()
      self = .connection(connection)
    }
  }

  /// A frame as the bytes on the line; empty if the bearer has no such frame.
  func bytes(of frame: WireFrame) -> [UInt8] {
    switch self {
    case .session: return frame.bytes
    case .connection:
      guard frame.kind == .data, frame.channel == 4 else { return [] }
      return Wire.u16(UInt16(frame.payload.count)) + frame.payload
    }
  }
}

/// A connection as over BLE. A record is a u16 length, little-endian, and one PDU. A case sees a
/// PDU as the DATA frame that would carry it, so that the same cases run over both; other frames do
/// not exist here.
package struct ProbeConnection {
  /// The MTU that the device answers to Exchange MTU, in bytes.
  package let serverMTU: Int
  /// Ends the connection and makes another.
  package let reconnect: () async throws -> Void
  private var unfinished: [UInt8] = []
  private var items: [WireItem] = []
  /// Connections have no numbers; these count as a session would.
  private var nextSeq: UInt8 = 0

  /// - Parameter serverMTU: the MTU that an earlier connection has determined.
  package init(serverMTU: Int, reconnect: @escaping () async throws -> Void) {
    self.serverMTU = serverMTU
    self.reconnect = reconnect
  }

  mutating func receive(_ bytes: [UInt8]) {
    unfinished += bytes
    while unfinished.count >= 2 {
      let length = Int(Wire.word(unfinished, at: 0))
      guard unfinished.count >= 2 + length else { return }
      let pdu = Array(unfinished[2..<2 + length])
      unfinished.removeFirst(2 + length)
      items.append(
        .frame(WireFrame(kind: .data, sender: .device, channel: 4, seq: nextSeq, credit: 64, payload: pdu)))
      // Wrap-around is the rule: numbers are modulo 256.
      nextSeq &+= 1
    }
  }

  mutating func drainItems() -> [WireItem] {
    defer { items = [] }
    return items
  }

  /// Discards everything: the next byte is the first of another connection.
  mutating func restart() {
    unfinished = []
    items = []
    nextSeq = 0
  }

  /// The session values of a connection: one request at a time, and unlimited room.
  var session: ProbeSession {
    var session = ProbeSession()
    session.announced = [
      .limits(frames: 64, requests: 1, mtu: UInt16(clamping: serverMTU), bytes: 65536)
    ]
    session.room = .max
    return session
  }
}

import NotibotProtocol

/// The bearers beside the serial line: connections, as over BLE. They share the store with it, and with each other.
extension EmulatedDevice {
  /// Connections at the same time. Three is usual for BLE libraries; the fourth is one that comes before another has
  /// quite gone.
  static let connectionsLimit = 4

  // MARK: Commands

  /// A client connects. While the device restarts its connection waits, as a central waits for an advertisement.
  /// Returns nil when there are as many as the device takes.
  mutating func connect(now: Instant) -> BearerID? {
    clock = now
    guard connections.count < Self.connectionsLimit else {
      connectionCounters.refused += 1
      return nil
    }
    connectionCounters.accepted += 1
    let id = BearerID(rawValue: BearerID.serial.rawValue + connectionCounters.accepted)
    connections.append(ATTConnection(id: id))
    openConnections()
    return id
  }

  /// A connection is gone, whoever ended it, and all that belonged to its bearer with it. Source: PROTOCOL.md ATT-3.
  mutating func disconnect(_ id: BearerID, now: Instant) {
    clock = now
    guard let index = connectionIndex(id) else { return }
    if connections[index].isInRecord { connectionCounters.cut += 1 }
    connections.remove(at: index)
    attributes.close(id)
  }

  // MARK: Inputs

  /// Takes bytes from the client of a connection.
  mutating func receive(_ bytes: [UInt8], on id: BearerID, now: Instant) {
    clock = now
    guard let index = connectionIndex(id) else { return }
    let wasBroken = connections[index].isBroken
    connections[index].receive(bytes)
    if !wasBroken, connections[index].isBroken { connectionCounters.malformed += 1 }
    guard isHandling else { return }
    handleRequests()
  }

  // MARK: Outputs

  /// What to do with a connection next; nil when nothing is due.
  mutating func nextAction(for id: BearerID) -> ConnectionAction? {
    guard let index = connectionIndex(id) else { return nil }
    while true {
      if let answer = connections[index].takeAnswer() { return .transmit(ATTRecord.bytes(of: answer)) }
      if isHandling, connections[index].isOpen, let outgoing = attributes.nextUnsolicited(for: id) {
        // A bearer without SYNC has news on the ATT channel only.
        return .transmit(ATTRecord.bytes(of: outgoing.payload))
      }
      if isHandling, connections[index].hasRequest {
        handleRequests()
        continue
      }
      return connections[index].takeEnd() ? .close : nil
    }
  }

  // MARK: Queries

  /// Whether what a client sends is to be left where it is for now.
  func isFull(_ id: BearerID) -> Bool {
    connectionIndex(id).map { connections[$0].isFull } ?? true
  }

  // MARK: Running

  /// Whether the device runs, its application takes requests, and no flash stands in the way.
  var isHandling: Bool { state == .running && application == .handling && flash == .idle }

  /// Handles the requests of connections. Returns whether there were any.
  mutating func handleConnections() -> Bool {
    var hasHandled = false
    for index in connections.indices {
      let wasBroken = connections[index].isBroken
      while flash == .idle, let request = connections[index].takeRequest() {
        if let response = attributes.receive(
          request, on: connections[index].id, at: timeOfDay?.seconds(at: clock))
        {
          connections[index].answer(response)
        }
        startErasing()
        hasHandled = true
      }
      if !wasBroken, connections[index].isBroken { connectionCounters.malformed += 1 }
    }
    return hasHandled
  }

  /// Begins the bearers of those that wait. There is no SYN to say what the other side can do: the optional keys are in
  /// use where the device has them, everything else needs a session. Source: PROTOCOL.md NTF-20, NTF-21.
  mutating func openConnections() {
    guard state == .running else { return }
    let features = profile.identity(in: attributes.mode).features.intersection(.optionalKeys)
    for index in connections.indices where connections[index].open() {
      attributes.open(connections[index].id, features: features)
    }
  }

  /// Ends all of them; the driver then closes them.
  mutating func endConnections() {
    for index in connections.indices {
      connections[index].end()
      attributes.close(connections[index].id)
    }
  }

  private func connectionIndex(_ id: BearerID) -> Int? {
    connections.firstIndex { $0.id == id }
  }
}

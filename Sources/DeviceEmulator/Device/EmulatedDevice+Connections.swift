import NotibotProtocol

/// The bearers other than the serial line: connections, as over BLE. They share the store with the
/// line and with each other.
extension EmulatedDevice {
  /// The maximum number of connections. Three is usual for BLE libraries; the fourth is for a
  /// client that connects before another one's disconnection is complete.
  static let connectionsLimit = 4

  // MARK: Commands

  /// A client connects. While the device restarts its connection waits, as a central waits for an
  /// advertisement. Returns nil if the device accepts no more.
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

  /// A connection has ended, whichever side closed it, and its bearer with it. Source: PROTOCOL.md
  /// ATT-3.
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

  /// The next action of a connection; nil if none is due.
  mutating func nextAction(for id: BearerID) -> ConnectionAction? {
    guard let index = connectionIndex(id) else { return nil }
    while true {
      if let answer = connections[index].popAnswer() { return .transmit(ATTRecord.bytes(of: answer)) }
      if isHandling, connections[index].isOpen, let outgoing = attributes.nextUnsolicited(for: id) {
        // A bearer without SYNC has notifications on the ATT channel only.
        return .transmit(ATTRecord.bytes(of: outgoing.payload))
      }
      if isHandling, connections[index].hasRequest {
        handleRequests()
        continue
      }
      return connections[index].popEnd() ? .close : nil
    }
  }

  // MARK: Queries

  /// Whether the driver should not read from a client for now.
  func isFull(_ id: BearerID) -> Bool {
    connectionIndex(id).map { connections[$0].isFull } ?? true
  }

  // MARK: Running

  /// Whether the device runs, its application takes requests, and no erase of the flash is in
  /// progress.
  var isHandling: Bool { state == .running && application == .handling && flash == .idle }

  /// Handles the requests of connections. Returns whether there were any.
  mutating func handleConnections() -> Bool {
    var hasHandled = false
    for index in connections.indices {
      let wasBroken = connections[index].isBroken
      while flash == .idle, let request = connections[index].popRequest() {
        let id = connections[index].id
        let response = attributes.receive(request, on: id, at: timeOfDay?.seconds(at: clock))
        if profile.stack?.traits.notifiesInsideWrite == true {
          while let early = attributes.nextUnsolicited(for: id) { connections[index].answer(early.payload) }
        }
        if let response { connections[index].answer(response) }
        startErasing()
        hasHandled = true
      }
      if !wasBroken, connections[index].isBroken { connectionCounters.malformed += 1 }
    }
    return hasHandled
  }

  /// Begins the bearers of the waiting connections. There is no SYN with the features of the other
  /// side: the optional keys are in use if the device supports them; everything else needs a
  /// session. Source: PROTOCOL.md NTF-20, NTF-21.
  mutating func openConnections() {
    guard state == .running else { return }
    let features = profile.identity(in: attributes.mode).features.intersection(.optionalKeys)
    for index in connections.indices where connections[index].open() {
      attributes.open(connections[index].id, features: features, model: profile.connectionModel)
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

import DequeModule
package import NotibotProtocol

/// What a board said of itself when its session opened, for the lines that share it.
package struct SharedBoard: Equatable, Sendable {
  package var deviceID: DeviceID?
  package var firmwareName: String?
  package var firmwareVersion: String?
  package var buildHash: [UInt8]?
  /// Capacity of its store, in notifications.
  package var capacity: UInt16
  /// The features that a client can use.
  package var features: Features
  package var bootID: UInt32
  package var bootCount: UInt32
  package var resetReason: ResetReason

  package init(
    deviceID: DeviceID?, firmwareName: String?, firmwareVersion: String?, buildHash: [UInt8]?,
    capacity: UInt16, features: Features, bootID: UInt32, bootCount: UInt32, resetReason: ResetReason
  ) {
    self.deviceID = deviceID
    self.firmwareName = firmwareName
    self.firmwareVersion = firmwareVersion
    self.buildHash = buildHash
    self.capacity = capacity
    self.features = features
    self.bootID = bootID
    self.bootCount = bootCount
    self.resetReason = resetReason
  }
}

/// The device's end of one client's line to a shared board: the link of a device without a store.
/// It speaks PROTOCOL.md section 2 on behalf of the board, so that a client is an ordinary host.
///
/// States: those of `DeviceLink`. Inputs: `receive`, `handleTimeout`; commands: `send`, `close`;
/// outputs: `nextEvent`, `nextTransmit`, `nextDeadline`.
package struct SharedLine: Equatable, Sendable {
  /// An event for the owner of the board.
  package enum Event: Equatable, Sendable {
    /// A session is open; the SRC of its SYN.
    case opened(source: UInt32?)
    case ended
    /// An attribute PDU of the client.
    case request([UInt8])
    /// A message of channel 0.
    case message([UInt8])
    /// Bytes outside of frames.
    case text([UInt8])
  }

  /// Queued events up to which payloads are taken, and credit is given.
  static let eventsLimit = 64
  /// Queued events beyond which the client breaks its limits.
  static let floodLimit = 512
  /// The limits that a client gets. Source: PROTOCOL.md LNK-8.
  static let limits = LinkLimits(frames: 64, requests: 32, mtu: 517, bytes: 16_384)

  private var decoder = FrameDecoder(receiving: .fromHost)
  private var link: DeviceLink
  private var events: Deque<Event> = []

  /// Sends HELLO at once: a client with a session from before opens another one.
  /// - Parameter seed: decides session ids.
  package init(board: SharedBoard, seed: UInt64, now: Instant) {
    var generator = SeededGenerator(seed: seed)
    let identity = LinkIdentity(
      limits: Self.limits, outOfOrder: .kept, features: board.features, deviceID: board.deviceID,
      firmwareName: board.firmwareName ?? "", firmwareVersion: board.firmwareVersion ?? "",
      buildHash: board.buildHash ?? [], profileHash: NotibotProfile.hash, capacity: board.capacity)
    link = DeviceLink(
      identity: identity,
      boot: BootRecord(
        id: board.bootID, count: board.bootCount, reason: board.resetReason, time: now),
      firstSessionID: UInt16.random(in: 1 ... .max, using: &generator))
  }

  // MARK: Inputs

  /// Takes bytes of the client.
  package mutating func receive(_ bytes: [UInt8], now: Instant) {
    decoder.receive(bytes)
    while let event = decoder.nextEvent() {
      switch event {
      case .text(let bytes): events.append(.text(bytes))
      case .frame(let frame):
        // A FIN does not overtake a write.
        if frame.header.type == .fin { fillEvents(upTo: .max) }
        link.receive(frame, now: now)
        settle()
      }
    }
  }

  /// Executes everything that is due.
  package mutating func handleTimeout(now: Instant) {
    link.handleTimeout(now: now)
    settle()
  }

  // MARK: Commands

  /// Sends a payload; the caller has checked `hasRoom`.
  package mutating func send(_ payload: [UInt8], on channel: Channel) { link.send(payload, on: channel) }

  /// Ends the session from this side.
  package mutating func close(now: Instant) {
    link.close(now: now)
    settle()
  }

  // MARK: Outputs

  package mutating func nextEvent() -> Event? {
    defer { fillEvents(upTo: Self.eventsLimit) }
    return events.popFirst()
  }

  /// The next bytes for the client: whole frames. Nil if there are none.
  package mutating func nextTransmit() -> [UInt8]? {
    var wire: [UInt8] = []
    while wire.count < 16_384, let frame = link.nextFrame() { frame.encode(into: &wire) }
    return wire.isEmpty ? nil : wire
  }

  package var nextDeadline: Instant? { link.nextDeadline }

  // MARK: Queries

  /// Whether a payload can be sent.
  package var hasRoom: Bool { link.hasRoom }

  /// Whether more is queued than a client that keeps the protocol can send.
  package var isFlooded: Bool { events.count > Self.floodLimit }

  private mutating func settle() {
    while let event = link.nextEvent() {
      switch event {
      case .opened(let peer): events.append(.opened(source: peer.source))
      case .ended: events.append(.ended)
      }
    }
    fillEvents(upTo: Self.eventsLimit)
  }

  private mutating func fillEvents(upTo limit: Int) {
    while events.count < limit, let inbound = link.popInbound() {
      switch inbound.channel {
      case .att: events.append(.request(inbound.payload))
      case .link: events.append(.message(inbound.payload))
      default: link.counters.unserved += 1
      }
    }
  }
}

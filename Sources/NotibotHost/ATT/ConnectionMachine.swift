import DequeModule
package import NotibotProtocol
package import SerialLink

/// The host of one device over a connection, as over BLE: the attribute client on records, without
/// a session (PROTOCOL.md ATT-3). Nothing is sent again, and one request is in flight (ATT-6).
///
/// States: *idle* → `connect` → *opening*, until MTU and handles are known → *open* → *closed*.
/// After its end another connection needs another machine.
package struct ConnectionMachine: Equatable, Sendable {
  private enum State: Equatable {
    case idle
    /// Since `start`; the last answer came at `answered`.
    case opening(start: Instant, answered: Instant)
    case open
    case closed
  }

  /// How long MTU and handles can take, however many answers that needs, beyond the time-out.
  static let openingLimitNs = ATTClient.transactionLimitNs

  private let configuration: HostConfiguration
  private var state = State.idle
  private var records = RecordDecoder()
  private var client: ATTClient
  private var actions = Deque<HostAction>()
  private var output: [UInt8] = []
  private var isWritable = true
  private var requestCount: UInt64 = 0
  private var bytesReceived = 0
  private var bytesSent = 0

  package init(configuration: HostConfiguration) {
    self.configuration = configuration
    client = ATTClient(waitingLimit: configuration.pendingRequestsLimit)
  }

  // MARK: Commands

  /// Begins the bearer; ignored after that.
  package mutating func connect(clock: HostClock? = nil, now: Instant) {
    guard state == .idle else { return }
    state = .opening(start: now, answered: now)
    // Without a SYN the host cannot know whether the device has the keys of NTF-20 (NTF-5).
    client.open(ATTClient.Bearer(requestsLimit: 1, mtu: configuration.limits.mtu, isProfileKnown: false))
    settle(now: now)
  }

  /// Submits a request. Its result is a `.completed` action with the identity returned here.
  package mutating func submit(_ request: HostRequest, now: Instant) -> HostRequestID {
    let id = enqueue(request)
    settle(now: now)
    return id
  }

  /// Submits many requests at once, until `next` returns `nil`.
  package mutating func submit(now: Instant, each next: (HostRequestID) -> HostRequest?) {
    while let request = next(HostRequestID(rawValue: requestCount)) { _ = enqueue(request) }
    settle(now: now)
  }

  private mutating func enqueue(_ request: HostRequest) -> HostRequestID {
    let id = HostRequestID(rawValue: requestCount)
    requestCount += 1
    client.submit(request, id: id)
    return id
  }

  /// Ends it; the driver closes the channel. Requests without an answer fail.
  package mutating func close(now: Instant) { end(.closed) }

  // MARK: Inputs

  /// Takes the bytes of one read.
  package mutating func receive(_ bytes: Span<UInt8>, now: Instant) {
    bytesReceived += bytes.count
    records.receive(bytes.withUnsafeBufferPointer(Array.init))
    while let pdu = records.nextPDU() {
      let count = client.statistics.answers
      client.receive(pdu, now: now)
      if case .opening(let start, _) = state, client.statistics.answers > count {
        state = .opening(start: start, answered: now)
      }
      settle(now: now)
    }
    if records.isBroken { end(.bearerBroken(.badRecord)) }
  }

  /// The connection has ended.
  package mutating func receiveEndOfStream(now: Instant) { end(.connectionLost) }

  /// Executes everything that is due.
  package mutating func handleTimeout(now: Instant) {
    if let deadline = openingDeadline, now >= deadline { return end(.noAnswer) }
    client.handleTimeout(now: now)
    settle(now: now)
  }

  /// The channel accepts no more bytes, or accepts them again.
  package mutating func handleWritability(_ isWritable: Bool, now: Instant) {
    self.isWritable = isWritable
  }

  // MARK: Outputs

  /// The next action, or `nil`.
  package mutating func nextAction() -> HostAction? {
    if isWritable, !output.isEmpty {
      defer { output = [] }
      bytesSent += output.count
      return .write(output)
    }
    return actions.popFirst()
  }

  /// When to call `handleTimeout`; `nil`: not before another input.
  package var nextDeadline: Instant? {
    [openingDeadline, client.nextDeadline].compactMap(\.self).min()
  }

  private var openingDeadline: Instant? {
    guard case .opening(let start, let answered) = state else { return nil }
    let limit = configuration.connectTimeout ?? .nanoseconds(Self.openingLimitNs)
    return min(answered + limit, (start + limit).after(ns: Self.openingLimitNs))
  }

  // MARK: Queries

  /// The counters; those of a link stay 0.
  package var statistics: HostStatistics {
    HostStatistics(
      link: LinkStatistics(), att: client.statistics, decoder: DecoderCounters(), sync: SyncStatistics(),
      bytesReceived: bytesReceived, bytesSent: bytesSent)
  }

  /// Why the opening failed, after `.ended(.noAnswer)`.
  package var whyUnanswered: ConsoleEvidence.Finding { .mute }

  /// Whether it is neither opening nor open.
  package var isClosed: Bool { state == .idle || state == .closed }

  // MARK: Between the layers

  private mutating func settle(now: Instant) {
    repeat {
      while let action = client.nextAction() { handle(action) }
      while state != .closed, let outgoing = client.nextOutgoing(now: now) {
        switch outgoing {
        case .pdu(let pdu): output += ATTRecord.bytes(of: pdu)
        // Messages belong to sessions, and none is submitted here.
        case .message: break
        }
      }
    } while client.hasActions
  }

  private mutating func handle(_ action: ATTAction) {
    switch action {
    case .completed(let id, let result): actions.append(.completed(id, result))
    case .event(let event): actions.append(.event(event))
    case .ready:
      guard case .opening = state else { return }
      state = .open
      actions.append(.opened(DeviceInfo(SynAck(nonce: 0, bootID: 0), mtu: client.mtu, features: [])))
    case .failed(let reason): end(reason)
    }
  }

  private mutating func end(_ reason: SessionEnd) {
    guard state != .closed else { return }
    state = .closed
    output = []
    client.end(reason)
    while let action = client.nextAction() { handle(action) }
    actions.append(.ended(reason))
  }
}

extension ConnectionMachine: DeviceMachine {
  var endOfStream: SessionEnd { .connectionLost }
}

import DequeModule
package import NotibotProtocol
package import SerialLink

/// An action for the driver of a host machine.
package enum HostAction: Equatable, Sendable {
  /// Write these bytes: one or more whole frames.
  case write([UInt8])
  /// The result of a request; each has exactly one.
  case completed(HostRequestID, HostResult)
  case event(HostEvent)
  /// Console text, unchanged.
  case text([UInt8])
  /// A session is open, MTU and handles are known, requests are sent.
  case opened(DeviceInfo)
  /// The session is over, or could not be opened; `connect` can be called again.
  case ended(SessionEnd)
}

/// The host of one device: frames and text, link session and attribute client, as one machine.
///
/// States: *closed* → `connect` → *opening* → `.opened` → *open* → `.ended` → *closed*. Requests
/// submitted while opening wait; while closed they fail. A device that restarts ends the session
/// (`.ended(.deviceRestarted)`); the driver calls `connect` again, as required by PROTOCOL.md
/// LNK-22. A driver drains `nextAction()` after every call and then arms one timer for
/// `nextDeadline`.
package struct HostMachine: Equatable, Sendable {
  static let stalledAfterNs: Int64 = 10_000_000_000

  private var configuration: HostConfiguration
  private var random: SeededGenerator
  private var decoder = FrameDecoder(receiving: .fromDevice)
  private var silence = TextSilence()
  private var link: LinkSession
  private var client: ATTClient
  private var exchange = SyncExchange()
  private var actions = Deque<HostAction>()
  private var requestCount: UInt64 = 0
  private var bytesReceived = 0
  private var bytesSent = 0
  /// The device's description of itself in the session that is opening or open.
  private var answer: SynAck?
  private var stallCheckedAt = Instant.zero
  /// The text since `connect`, or since the session was opened.
  private var evidence = ConsoleEvidence()
  /// The counters at `connect`.
  private var earlier = DecoderCounters()

  /// - Parameter seed: for nonces. In production, the driver takes it from the system, so that no
  ///   two runs share nonces.
  package init(configuration: HostConfiguration, seed: UInt64) {
    self.configuration = configuration
    random = SeededGenerator(seed: seed)
    link = LinkSession(configuration: configuration)
    client = ATTClient(waitingLimit: configuration.pendingRequestsLimit)
  }

  // MARK: Commands

  /// Opens a session. Ignored while one is open, opening or closing.
  /// - Parameter clock: the time of day for the device; `nil`: none.
  package mutating func connect(clock: HostClock? = nil, now: Instant) {
    guard link.isClosed else { return }
    evidence = ConsoleEvidence()
    earlier = decoder.counters
    let isFirst = statistics.link.sessions == 0
    client.expectBearer()
    link.open(
      nonce: random.next(), clock: clock,
      limit: isFirst ? configuration.connectTimeout : configuration.reconnectTimeout, now: now)
    settle(now: now)
  }

  /// Submits a request. Its result is a `.completed` action with the identity returned here.
  package mutating func submit(_ request: HostRequest, now: Instant) -> HostRequestID {
    let id = enqueue(request)
    settle(now: now)
    return id
  }

  /// Submits many requests at once, which costs less than one call for each: `next` returns the
  /// request for an identity, and `nil` when there are no more.
  package mutating func submit(now: Instant, each next: (HostRequestID) -> HostRequest?) {
    while let request = next(HostRequestID(rawValue: requestCount)) {
      _ = enqueue(request)
    }
    settle(now: now)
  }

  /// Queues a SYNC: what the host believes the device holds. The answer is an
  /// `.event(.sync(.synced))` action; without an answer for 30 s the session ends.
  /// - Returns: whether it is queued: false without a session that has SYNC, or if too much is
  ///   queued.
  @discardableResult
  package mutating func sendSync(_ request: SyncRequest, now: Instant) -> Bool {
    guard features.contains(.sync), exchange.hasRoom,
      client.submitMessage(SyncMessage.sync(request).encoded())
    else { return false }
    exchange.submit(request)
    settle(now: now)
    return true
  }

  /// Queues TAKEN: the host has the presses of `source` up to `press`. Source: PROTOCOL.md NTF-41.
  /// Without a session that keeps presses, or if too much is queued, it is not sent: the device
  /// reports the presses again.
  package mutating func sendTaken(source: UInt32, press: UInt32, now: Instant) {
    guard features.contains(.keptActions),
      client.submitMessage(SyncMessage.taken(source: source, press: press).encoded())
    else { return }
    settle(now: now)
  }

  /// Sets the identity of the host for the sessions that `connect` opens from now on (SRC and RUN);
  /// an open one is not changed.
  package mutating func setIdentity(source: UInt32?, run: UInt32?) {
    configuration.source = source
    configuration.run = run
    link.configuration = configuration
  }

  private mutating func enqueue(_ request: HostRequest) -> HostRequestID {
    let id = HostRequestID(rawValue: requestCount)
    requestCount += 1
    client.submit(request, id: id)
    return id
  }

  /// Ends the session properly (LNK-24): FIN, at most 200 ms, `.ended(.closed)`. Requests without
  /// an answer fail.
  package mutating func close(now: Instant) {
    client.end(.closed)
    link.close(now: now)
    settle(now: now)
  }

  // MARK: Inputs

  /// Takes the bytes of one read. No bytes mean that a read found nothing (FRM-9).
  package mutating func receive(_ bytes: [UInt8], now: Instant) {
    receive(bytes.span, now: now)
  }

  /// Takes the bytes of one read.
  package mutating func receive(_ bytes: Span<UInt8>, now: Instant) {
    if bytes.isEmpty {
      if silence.handleEmptyRead(now: now) { decoder.flushCandidateAsText() }
    } else {
      bytesReceived += bytes.count
      decoder.receive(bytes)
      silence.handleBytes(hasCandidate: decoder.hasCandidate, now: now)
    }
    drainDecoder(now: now)
    settle(now: now)
  }

  /// The port has ended: on a tty that means that the device was disconnected; it is never success.
  package mutating func receiveEndOfStream(now: Instant) {
    decoder.flushCandidateAsText()
    silence = TextSilence()
    drainDecoder(now: now)
    link.abandon(.portGone)
    settle(now: now)
  }

  /// Executes everything that is due.
  package mutating func handleTimeout(now: Instant) {
    if silence.handleTimeout(now: now) {
      decoder.flushCandidateAsText()
      drainDecoder(now: now)
    }
    link.handleTimeout(now: now)
    client.handleTimeout(now: now)
    if exchange.isOverdue(now: now) { link.abandon(.transactionTimedOut) }
    handleStall(now: now)
    settle(now: now)
  }

  /// The line accepts no more bytes, or accepts them again. While it does not, `nextAction` returns
  /// no `.write`.
  package mutating func handleWritability(_ isWritable: Bool, now: Instant) {
    link.handleWritability(isWritable)
    settle(now: now)
  }

  // MARK: Outputs

  /// The next action, or `nil`. Bytes come first, so that the line does not wait for the caller's
  /// work.
  package mutating func nextAction() -> HostAction? {
    if link.hasOutput, link.isWritable {
      let bytes = link.drainOutput()
      bytesSent += bytes.count
      return .write(bytes)
    }
    return actions.popFirst()
  }

  /// When to call `handleTimeout`; `nil`: not before another input.
  package var nextDeadline: Instant? {
    var earliest = link.nextDeadline
    for deadline in [silence.nextDeadline, client.nextDeadline, exchange.nextDeadline, stallDeadline] {
      guard let deadline else { continue }
      earliest = earliest.map { min($0, deadline) } ?? deadline
    }
    return earliest
  }

  // MARK: Queries

  /// The counters.
  package var statistics: HostStatistics {
    HostStatistics(
      link: link.statistics, att: client.statistics, decoder: decoder.counters,
      sync: exchange.statistics, bytesReceived: bytesReceived, bytesSent: bytesSent)
  }

  /// What the text since the last opening says, after `.ended(.noAnswer)` or silence.
  package var whyUnanswered: ConsoleEvidence.Finding {
    var (evidence, decoder) = (evidence, decoder)
    decoder.flushCandidateAsText()
    while case .text(let bytes)? = decoder.nextEvent() { evidence.receive(bytes) }
    return evidence.finding(
      echoes: decoder.counters.echoes - earlier.echoes, frames: decoder.counters.frames - earlier.frames)
  }

  /// Whether no session is open, opening or closing.
  package var isClosed: Bool { link.isClosed }

  /// Requests that were submitted and have no result yet.
  package var openRequestsCount: Int {
    client.openRequestsCount
  }

  // MARK: Between the layers

  private mutating func drainDecoder(now: Instant) {
    while let event = decoder.nextEvent() {
      switch event {
      case .text(let bytes):
        evidence.receive(bytes)
        actions.append(.text(bytes))
      case .frame(let frame):
        link.receive(frame, now: now)
        drainLink(now: now)
      }
    }
  }

  /// Passes requests down and results up until there are no more, then lets the link make its
  /// frames.
  private mutating func settle(now: Instant) {
    repeat {
      drainLink(now: now)
      drainClient(now: now)
      while client.hasWaiting, link.room > 0, let outgoing = client.nextOutgoing(now: now) {
        switch outgoing {
        case .pdu(let pdu): _ = link.send(pdu)
        case .message(let payload):
          _ = link.send(payload, on: .link)
          // TAKEN has no answer.
          if payload.first == 1 { exchange.handleSent(now: now) }
        }
      }
    } while client.hasActions || link.hasActions
    link.flush(now: now)
  }

  private mutating func drainLink(now: Instant) {
    while let action = link.nextAction() {
      switch action {
      case .opened(let answer):
        self.answer = answer
        evidence = ConsoleEvidence()
        stallCheckedAt = now
        client.open(bearer(for: answer))
      case .received(let pdu):
        client.receive(pdu, now: now)
        drainClient(now: now)
      case .linkMessage(let payload):
        if let message = exchange.receive(payload) { actions.append(.event(.sync(message))) }
      case .logged(let bytes): actions.append(.event(.log(bytes)))
      case .suspected: actions.append(.event(.suspected))
      case .recovered: actions.append(.event(.recovered))
      case .ended(let reason):
        client.end(reason)
        drainClient(now: now)
        exchange.end()
        answer = nil
        actions.append(.ended(reason))
      }
    }
  }

  private mutating func drainClient(now: Instant) {
    while let action = client.nextAction() {
      switch action {
      case .completed(let id, let result): actions.append(.completed(id, result))
      case .event(let event): actions.append(.event(event))
      case .ready:
        if let answer { actions.append(.opened(DeviceInfo(answer, mtu: client.mtu, features: features))) }
      case .failed(let reason): link.abandon(reason)
      }
    }
  }

  /// The features in use in the session that is open or opening; empty without one.
  private var features: Features {
    answer.map { configuration.featuresInUse(with: $0.features) } ?? []
  }

  private func bearer(for answer: SynAck) -> ATTClient.Bearer {
    // The host offers pipelining always; it is in use when the device does as well (ATT-6).
    let isPipelined = answer.features.contains(.pipelinedRequests)
    let limit = isPipelined ? min(configuration.limits.requests, answer.limits.requests) : 1
    return ATTClient.Bearer(
      requestsLimit: Int(limit), mtu: configuration.limits.mtu,
      isProfileKnown: answer.profileHash.map(configuration.knownProfileHashes.contains) ?? false,
      hasOptionalKeys: features.contains(.optionalKeys))
  }

  // MARK: The stalled application (LNK-54)

  private var stallDeadline: Instant? {
    stallStart.map { $0.after(ns: Self.stalledAfterNs) }
  }

  /// When the oldest pending request last made progress; `nil` if no request is pending.
  private var stallStart: Instant? {
    guard let since = client.waitingSince, let progress = link.progress else { return nil }
    return max(since, progress.advancedAt, stallCheckedAt)
  }

  private mutating func handleStall(now: Instant) {
    guard let start = stallStart, now >= start.after(ns: Self.stalledAfterNs) else { return }
    if let pongAt = link.progress?.pongAt, pongAt > start {
      link.abandon(.applicationStalled)
    } else {
      // Without a PONG the link itself may be down; its own timers decide that.
      stallCheckedAt = now
    }
  }
}

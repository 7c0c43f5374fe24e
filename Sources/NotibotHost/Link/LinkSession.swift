import DequeModule
@_spi(Machines) package import NotibotProtocol

/// An action for the owner of a link session.
package enum LinkAction: Equatable, Sendable {
  /// The session is open; the value is the device's description of itself.
  case opened(SynAck)
  /// A DATA payload of the attribute channel, in order.
  case received([UInt8])
  /// A DATA payload of the session's own channel, in order. Source: PROTOCOL.md NTF-30.
  case linkMessage([UInt8])
  /// Console text that the device framed itself (UDATA on channel 1).
  case logged([UInt8])
  /// No frame was received for 3 s; the session stays open.
  case suspected
  /// A frame was received again.
  case recovered
  /// The session, or the attempt to open one, is over.
  case ended(SessionEnd)
}

/// The host's side of a session: opening, order, credit, resending, keeping alive, closing.
///
/// States: *closed* → *opening* (`open`) → *open* (SYNACK with the nonce) → *closing* (`close`, FIN
/// sent) → *closed*. From each state, an end of any kind leads back to *closed*, with one `.ended`.
/// A `.closed` machine can open again.
///
/// Inputs are `receive`, `handleTimeout` and `handleWritability`; after each batch of them the
/// owner calls `flush`, which serialises new DATA and due acknowledgements, so that one
/// acknowledgement serves a whole batch. Source: PROTOCOL.md section 2.
package struct LinkSession: Equatable, Sendable {
  enum State: Equatable, Sendable {
    case closed
    case opening(Opening)
    case open(Boxed<OpenLink>)
    case closing(Closing)
  }

  /// A SYN was sent.
  struct Opening: Equatable, Sendable {
    var nonce: UInt64
    /// The SYN's payload: every repetition is the same SYN (LNK-11).
    var payload: [UInt8]
    var since: Instant
    var repeatAt: Instant
    /// When to give up; `nil`: never.
    var deadline: Instant?
  }

  /// A FIN was sent.
  struct Closing: Equatable, Sendable {
    var session: UInt16
    var deadline: Instant
  }

  static let firstRepeatNs: Int64 = 250_000_000
  static let repeatNs: Int64 = 500_000_000
  static let slowRepeatNs: Int64 = 2_000_000_000
  static let slowAfterNs: Int64 = 10_000_000_000
  static let finWaitNs: Int64 = 200_000_000
  /// The protocol versions that this host speaks.
  static let versions = VersionRange(lowest: 1, highest: 1)
  /// Bytes queued for a blocked line, at most; frames beyond that are dropped as if the line had
  /// lost them, and the timers repeat them.
  static let outputLimitBytes = 131_072
  /// Room for what is usually written at once.
  static let outputBytes = 4096

  var configuration: HostConfiguration
  var state = State.closed
  var isWritable = true
  var output: [UInt8] = []
  var actions = Deque<LinkAction>()
  package internal(set) var statistics = LinkStatistics()

  package init(configuration: HostConfiguration) {
    self.configuration = configuration
  }

  // MARK: Commands

  /// Sends a SYN with `nonce`. Ignored unless the machine is closed.
  /// - Parameters:
  ///   - clock: the time of day in the SYN; `nil`: none.
  ///   - limit: how long to wait for the answer; `nil`: indefinitely.
  package mutating func open(nonce: UInt64, clock: HostClock?, limit: Duration?, now: Instant) {
    switch state {
    case .opening, .open, .closing: return
    case .closed: break
    }
    let syn = Syn(
      nonce: nonce, versions: Self.versions, features: configuration.features, limits: configuration.limits,
      source: configuration.source, run: configuration.run,
      clock: clock)
    let opening = Opening(
      nonce: nonce, payload: syn.encoded(), since: now, repeatAt: now.after(ns: Self.firstRepeatNs),
      deadline: limit.map { now + $0 })
    state = .opening(opening)
    emitUnnumbered(.syn, payload: opening.payload)
  }

  /// Queues a payload for a channel, to be sent as credit allows. Returns false, and queues
  /// nothing, if no session is open or the queue is full.
  package mutating func send(_ payload: [UInt8], on channel: Channel = .att) -> Bool {
    guard var link = removeOpenLink() else { return false }
    defer { state = .open(link) }
    return link.change { $0.sending.enqueue(channel: channel, payload: payload) }
  }

  /// Sends FIN and waits for its acknowledgement, at most 200 ms (LNK-24). Unacknowledged frames
  /// are given up.
  package mutating func close(now: Instant) {
    switch state {
    case .closed, .closing: break
    case .opening: end(.closed)
    case .open(var link):
      link.change { emit(.fin, link: &$0) }
      state = .closing(Closing(session: link.value.session, deadline: now.after(ns: Self.finWaitNs)))
    }
  }

  /// Ends the session for `reason` at once. An open one sends FIN, so that the device does not have
  /// to wait for its timeout.
  package mutating func abandon(_ reason: SessionEnd) {
    switch state {
    case .closed: break
    case .opening: end(reason)
    case .closing: end(.closed)
    case .open(var link):
      if reason != .portGone { link.change { emit(.fin, link: &$0) } }
      end(reason)
    }
  }

  // MARK: Outputs

  /// The next action, in order, or `nil`.
  package mutating func nextAction() -> LinkAction? {
    actions.popFirst()
  }

  /// Returns the bytes for the line, and clears them.
  package mutating func drainOutput() -> [UInt8] {
    defer { output = [] }
    return output
  }

  /// When to call `handleTimeout`; `nil`: never.
  package var nextDeadline: Instant? {
    switch state {
    case .closed: nil
    case .opening(let opening): opening.deadline.map { min($0, opening.repeatAt) } ?? opening.repeatAt
    case .open(let link): link.value.nextDeadline
    case .closing(let closing): closing.deadline
    }
  }

  // MARK: Queries

  package var hasOutput: Bool { !output.isEmpty }

  package var hasActions: Bool { !actions.isEmpty }

  package var isClosed: Bool {
    switch state {
    case .closed: true
    case .opening, .open, .closing: false
    }
  }

  /// Payloads that `send` would accept now.
  var room: Int {
    switch state {
    case .closed, .opening, .closing: 0
    case .open(let link): link.value.sending.room
    }
  }

  /// When the device last took or handled a frame, and when its last PONG came; `nil` unless a
  /// session is open.
  var progress: (advancedAt: Instant, pongAt: Instant?)? {
    switch state {
    case .closed, .opening, .closing: nil
    case .open(let link): (link.value.advancedAt, link.value.lastPong?.at)
    }
  }

  /// Moves the open session out of the state, so that its arrays are changed in place and not
  /// copied; the caller puts it back, or ends the session. `nil`, and nothing changes, in any other
  /// state.
  mutating func removeOpenLink() -> Boxed<OpenLink>? {
    guard case .open = state else { return nil }
    var taken = State.closed
    swap(&taken, &state)
    switch consume taken {
    case .open(let link): return link
    case .closed, .opening, .closing: return nil
    }
  }

  // MARK: Sending frames

  /// Ends the session or the attempt to open one, for `reason`.
  mutating func end(_ reason: SessionEnd) {
    state = .closed
    actions.append(.ended(reason))
  }

  /// Sends a frame that carries no session, number or credit (LNK-2).
  mutating func emitUnnumbered(_ type: FrameType, payload: [UInt8]) {
    write(FrameHeader(type: type, direction: .fromHost), payload: payload)
  }

  /// Sends a frame of an open session, with the present ack and credit.
  mutating func emit(
    _ type: FrameType, channel: Channel = .link, number: Int = 0, payload: [UInt8] = [], link: inout OpenLink
  ) {
    let header = FrameHeader(
      type: type, direction: .fromHost, channel: channel, session: link.session,
      // Wraps: numbers on the wire are modulo 256.
      sequence: UInt8(truncatingIfNeeded: number), ack: link.receiving.ack, credit: link.receiving.credit)
    guard write(header, payload: payload) else { return }
    link.receiving.markAcknowledged()
    if type == .nak { link.receiving.markBitmapSent() }
  }

  @discardableResult
  private mutating func write(_ header: FrameHeader, payload: [UInt8]) -> Bool {
    guard output.count < Self.outputLimitBytes else {
      statistics.outputDropped += 1
      return false
    }
    if output.isEmpty { output.reserveCapacity(Self.outputBytes) }
    Frame.encode(header, payload: payload, into: &output)
    statistics.framesSent += 1
    return true
  }
}

import DequeModule
@_spi(Machines) import NotibotProtocol

/// The identity that a device sends in HELLO.
struct LinkIdentity: Equatable, Sendable {
  var limits: LinkLimits
  var outOfOrder: OutOfOrderFrames
  var features: Features
  var deviceID: DeviceID?
  var firmwareName: String
  var firmwareVersion: String
  var buildHash: [UInt8]
  var profileHash: UInt32
  var capacity: UInt16
}

/// Values that change at each boot.
struct BootRecord: Equatable, Sendable {
  /// Random.
  var id: UInt32
  /// 1 at the first boot.
  var count: UInt32
  var reason: ResetReason
  var time: Instant
}

/// Counters of the link since the emulator started; restarts of the device do not clear them.
package struct LinkCounters: Equatable, Sendable, Codable {
  /// Sessions opened by a SYN.
  package var sessions = 0
  /// SYNs ignored because of their nonce. Source: PROTOCOL.md LNK-14.
  package var staleSyns = 0
  /// DATA frames taken in order; kept ones count when it is their turn.
  package var dataReceived = 0
  /// DATA frames that arrived before a missing one, kept or not.
  package var outOfOrder = 0
  /// DATA frames dropped because they were received before, or lie beyond the window.
  package var outOfWindow = 0
  /// DATA and UDATA on unserved channels, and messages on channel 0 other than SYNC. Source:
  /// PROTOCOL.md LNK-4, NTF-30.
  package var unserved = 0
  /// Frames whose payload is shorter than their format, and SYNs that were refused. Source:
  /// PROTOCOL.md LNK-3.
  package var malformed = 0
  /// Frames of a session that is not the live one.
  package var foreign = 0
  /// Acks outside the sent range. Source: PROTOCOL.md LNK-31.
  package var badAcks = 0
  /// Frames that only a device sends, or that answer no frame.
  package var ignored = 0
  package var naksSent = 0
  package var rstsSent = 0
  /// RSTs that the rate limit suppressed. Source: PROTOCOL.md LNK-20.
  package var rstsSuppressed = 0
  package var dataSent = 0
  /// Retransmitted DATA frames, included in `dataSent`.
  package var dataResent = 0
  /// Sessions that ended because nothing was received. Source: PROTOCOL.md LNK-53.
  package var silences = 0

  package init() {}
}

/// The device's side of the link: HELLO, one session at a time, order, credit, retransmission,
/// timers.
///
/// States: *idle* ⇄ *live* (see `DeviceSession` for its phases). A SYN with a new nonce moves to
/// *live* from either; FIN, 5 s of silence and `close` followed by its answer move back. Inputs:
/// `receive`, `handleTimeout`; commands: `send`, `popInbound`, `close`; outputs: `nextFrame`,
/// `nextEvent`, `nextDeadline`. Frames are made when they are taken, so that a line that does not
/// drain does not grow a queue. Source: PROTOCOL.md LNK-1 to LNK-54.
struct DeviceLink: Equatable, Sendable {
  enum State: Equatable, Sendable {
    case idle
    case live(Boxed<DeviceSession>)
  }

  /// An event for the layer above.
  enum Event: Equatable, Sendable {
    case opened(Peer)
    case ended(SessionEnd)
  }

  /// The host's fields of the SYN.
  struct Peer: Equatable, Sendable {
    /// The features in use. Source: PROTOCOL.md LNK-5.
    var features: Features
    /// The writer's identity. Source: PROTOCOL.md NTF-21.
    var source: UInt32?
    var clock: HostClock?
  }

  /// Why a session ended.
  enum SessionEnd: Equatable, Sendable {
    /// The host sent FIN.
    case closedByHost
    /// `close` was called and answered, or not answered in time.
    case closed
    /// Another SYN was received.
    case superseded
    /// Nothing was received for `downTime`.
    case silence
  }

  static let helloInterval = Duration.milliseconds(200)
  static let helloCount = 3
  static let noncesRemembered = 8
  static let delayedAckTime = Duration.milliseconds(5)
  static let pingInterval = Duration.seconds(1)
  static let suspectTime = Duration.seconds(3)
  static let downTime = Duration.seconds(5)
  static let finWait = Duration.milliseconds(200)
  static let rstLimit = 10
  /// Queued answers outside of a session: RST and the ACK of a FIN.
  static let repliesLimit = 16
  static let pongsLimit = 16
  /// Decoded size of the longest frame that is not an answer: an event with all members.
  static let notificationLimitBytes = 111

  /// A change is announced from the next session on.
  var identity: LinkIdentity
  let boot: BootRecord
  var state = State.idle
  var counters: LinkCounters
  /// The rate of the line, in bits per second; nil if the line is not the limit.
  var lineBitsPerSecond: UInt32?

  var clock: Instant
  var nextSessionID: UInt16
  var nonces: Deque<UInt64> = []
  var hellosLeft = Self.helloCount
  var isHelloDue = false
  var helloDeadline: Instant
  var rstLimiter = RateLimiter(limit: Self.rstLimit, window: .seconds(1))
  var replies: Deque<Frame> = []
  var events: Deque<Event> = []
  /// When the last frame that was taken will have left.
  var lineFreeAt: Instant

  /// Boots.
  /// - Parameters:
  ///   - firstSessionID: random; 0 counts as 1.
  ///   - counters: those of the previous boot.
  init(
    identity: LinkIdentity, boot: BootRecord, firstSessionID: UInt16, counters: LinkCounters = LinkCounters()
  ) {
    self.identity = identity
    self.boot = boot
    self.counters = counters
    nextSessionID = firstSessionID == 0 ? 1 : firstSessionID
    clock = boot.time
    helloDeadline = boot.time
    lineFreeAt = boot.time
    scheduleHello()
  }

  // MARK: Queries

  /// Whether the layer above is allowed to send a payload. Source: PROTOCOL.md LNK-43, LNK-44.
  var hasRoom: Bool {
    switch state {
    case .idle: false
    case .live(let session):
      session.value.phase == .open && session.value.outbound.count < session.value.outboundLimit
    }
  }

  /// Whether there is room, and the peer allows a frame of any notification. Notifications are
  /// queued above the link until then, because a numbered frame can no longer be dropped (ATT-12).
  /// Source: PROTOCOL.md LNK-41 to LNK-43.
  var sendsAtOnce: Bool {
    switch state {
    case .idle: false
    case .live(let session): hasRoom && session.value.allows(Self.notificationLimitBytes)
    }
  }

  /// How many payloads the layer above is allowed to send.
  var room: Int {
    switch state {
    case .idle: 0
    case .live(let session):
      session.value.phase == .open ? session.value.outboundLimit - session.value.outbound.count : 0
    }
  }

  /// The id of the live session; nil if there is none.
  var sessionID: UInt16? {
    switch state {
    case .idle: nil
    case .live(let session): session.value.id
    }
  }

  /// Whether nothing has been received in the open session for 3 s. Source: PROTOCOL.md LNK-53.
  var isSuspect: Bool {
    switch state {
    case .idle: false
    case .live(let session):
      session.value.phase != .offered && clock - session.value.lastReceived >= Self.suspectTime
    }
  }

  /// Whether console text is sent as UDATA now. Source: PROTOCOL.md LNK-9, bit 3.
  var framesLog: Bool {
    switch state {
    case .idle: false
    case .live(let session): session.value.phase == .open && session.value.features.contains(.framedLog)
    }
  }

  var nextDeadline: Instant? {
    var earliest: Instant? = hellosLeft > 0 ? helloDeadline : nil
    switch state {
    case .idle: break
    case .live(let session): session.value.deadlines { earliest = min(earliest ?? $0, $0) }
    }
    return earliest
  }

  // MARK: Commands

  /// Numbers a payload and sends it as DATA when the peer allows it. The caller has checked
  /// `hasRoom`; without room the payload is dropped.
  mutating func send(_ payload: [UInt8], on channel: Channel) {
    withSession { session in
      guard session.phase == .open, session.outbound.count < session.outboundLimit else { return }
      session.outbound.append(DeviceSession.Outbound(channel: channel, payload: payload))
      session.dueCount += 1
    }
  }

  /// The next payload in order, which then counts as handled; nil if there is none. Source:
  /// PROTOCOL.md LNK-40.
  mutating func popInbound() -> DeviceSession.Inbound? {
    let now = clock
    return withSession { session in session.popInbound(now: now) } ?? nil
  }

  /// Ends the session from this side. Source: PROTOCOL.md LNK-24.
  mutating func close(now: Instant) {
    clock = now
    switch state {
    case .idle: break
    case .live(let session):
      switch session.value.phase {
      case .offered:
        end(.closed)
      case .open:
        enqueueReply(Frame(session.value.header(.fin)))
        withSession { $0.phase = .closing(deadline: now + Self.finWait) }
      case .closing:
        break
      }
    }
  }

  /// The power is lost: nothing more is sent or due.
  mutating func fallSilent() {
    state = .idle
    replies.removeAll()
    events.removeAll()
    hellosLeft = 0
    isHelloDue = false
  }

  // MARK: Outputs

  mutating func nextEvent() -> Event? {
    events.popFirst()
  }

  // MARK: Shared by the extensions

  /// Lets `body` change the live session in place; nil if there is none.
  mutating func withSession<Result>(_ body: (inout DeviceSession) -> Result) -> Result? {
    // Moved out while it changes and moved back: what is shared is copied when it changes.
    switch exchange(&state, with: .idle) {
    case .idle:
      return nil
    case .live(var session):
      let result = session.change(body)
      state = .live(consume session)
      return result
    }
  }

  /// Discards the session and all its unsent data. Source: PROTOCOL.md LNK-23.
  mutating func end(_ reason: SessionEnd) {
    guard sessionID != nil else { return }
    state = .idle
    events.append(.ended(reason))
  }

  /// Makes HELLO due and sets the time of the next one. Source: PROTOCOL.md LNK-10.
  mutating func scheduleHello() {
    isHelloDue = true
    hellosLeft -= 1
    helloDeadline = helloDeadline + Self.helloInterval
  }

  /// Queues an answer that belongs to no session; on a line that does not drain, the newest is
  /// dropped.
  mutating func enqueueReply(_ frame: Frame) {
    guard replies.count < Self.repliesLimit else { return }
    replies.append(frame)
  }
}

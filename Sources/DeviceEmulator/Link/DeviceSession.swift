import DequeModule
import NotibotProtocol

/// One session at the device: received frames, sent frames, and deadlines.
///
/// Phases: *offered* (SYNACK sent, no frame of the session received yet) → *open* → *closing* (FIN
/// sent). *offered* has no deadline (LNK-16): a host that repeats its SYN after the session was
/// forgotten, but not its nonce, would be ignored forever. `DeviceLink` owns it, moves it between
/// phases and decides when it ends. Frame numbers count up from 0 without wrapping; the wire
/// carries them modulo 256. Source: PROTOCOL.md LNK-12 to LNK-54.
struct DeviceSession: Equatable, Sendable {
  enum Phase: Equatable, Sendable {
    case offered
    case open
    case closing(deadline: Instant)
  }

  /// When an ACK is sent if no other frame carries it before. Source: PROTOCOL.md LNK-50.
  enum AckDue: Equatable, Sendable {
    case no
    case at(Instant)
    case now
  }

  /// A frame in the session's memory that is not handled yet.
  struct Inbound: Equatable, Sendable {
    var channel: Channel
    var payload: [UInt8]
    var lengthBytes: Int { payload.count + WireLimits.overheadLengthBytes }
  }

  /// A frame that is not acknowledged yet, sent or not.
  struct Outbound: Equatable, Sendable {
    var channel: Channel
    var payload: [UInt8]
    var isDue = true
    /// The first and the last time it was sent, counted over all DATA of the session from 1; 0: not
    /// yet.
    var firstSending: UInt64 = 0
    var lastSending: UInt64 = 0
    /// Whether the host has reported that it holds it. Source: PROTOCOL.md LNK-33.
    var isHeld = false
    /// When its last byte was sent, as far as this side knows.
    var sentAt = Instant.zero
    var lengthBytes: Int { payload.count + WireLimits.overheadLengthBytes }
  }

  /// A missing frame that was requested again, and the last frame that was received after it.
  struct Hole: Equatable, Sendable {
    var missing: UInt64
    var lastOutOfOrder: UInt64
  }

  /// How early frames are handled. Source: PROTOCOL.md LNK-32, LNK-33.
  enum OutOfOrder: Equatable, Sendable {
    /// They are dropped; the hole is the one that was requested last.
    case dropped(Hole?)
    /// They are kept; `unreported` of them arrived since the last bitmap.
    case kept(KeptFrames, unreported: Int)
  }

  let id: UInt16
  let nonce: UInt64
  let synack: Frame
  let ownLimits: LinkLimits
  let peerLimits: LinkLimits
  let features: Features
  var phase = Phase.offered
  var isSynackDue = true

  // Received frames.
  var received: UInt64 = 0
  var handled: UInt64 = 0
  var inbound: Deque<Inbound> = []
  var inboundBytes = 0
  var outOfOrder: OutOfOrder
  var isNakDue = false
  /// When a bitmap is sent that is not due at once. Source: PROTOCOL.md LNK-33.
  var bitmapDeadline: Instant?
  var ackDue = AckDue.no
  var unacknowledgedReceived = 0
  /// `ack` + `credit` of the last frame sent.
  var grantedLimit: UInt64
  var outOfWindowAcks = RateLimiter(limit: 1, window: .milliseconds(20))

  // Sent frames.
  /// From the oldest unacknowledged frame on.
  var outbound: Deque<Outbound> = []
  var acknowledged: UInt64 = 0
  var sent: UInt64 = 0
  /// The first frame that the peer does not allow yet.
  var sendLimit: UInt64 = 0
  /// Decoded sizes of the frames that were sent and not yet handled by the peer, from `peerHandled`
  /// on.
  var unhandledSizes: Deque<Int> = []
  var unhandledBytes = 0
  var peerHandled: UInt64 = 0
  var dueCount = 0
  /// DATA frames sent so far; retransmissions count.
  var sendings: UInt64 = 0

  // Time.
  var resendTimer = ResendTimer()
  var resendDeadline: Instant?
  /// When the resend timer was last started.
  var resendStartedAt: Instant
  var lastReceived: Instant
  var pingDeadline: Instant
  var isPingDue = false
  var pongsDue = 0

  init(
    id: UInt16, nonce: UInt64, synack: Frame, ownLimits: LinkLimits, peerLimits: LinkLimits,
    features: Features, outOfOrder: OutOfOrderFrames, now: Instant
  ) {
    self.id = id
    self.nonce = nonce
    self.synack = synack
    self.ownLimits = ownLimits
    self.peerLimits = peerLimits
    self.features = features
    switch outOfOrder {
    case .dropped: self.outOfOrder = .dropped(nil)
    case .kept: self.outOfOrder = .kept(KeptFrames(), unreported: 0)
    }
    grantedLimit = UInt64(ownLimits.frames)
    lastReceived = now
    resendStartedAt = now
    pingDeadline = now
  }

  /// The number of frames a device keeps unacknowledged. Source: PROTOCOL.md LNK-43.
  var outboundLimit: Int { max(8, Int(ownLimits.requests)) }

  /// How many frames from `received` on the peer is allowed to have sent. Source: PROTOCOL.md
  /// LNK-40.
  var credit: UInt8 { UInt8(clamping: UInt64(ownLimits.frames) - (received - handled)) }

  /// Whether frames are kept until a hole is filled: a NAK then replaces the ACK. Source:
  /// PROTOCOL.md LNK-33.
  var isKeeping: Bool {
    switch outOfOrder {
    case .dropped: false
    case .kept(let kept, _): !kept.isEmpty
    }
  }

  /// The header of the next frame of this session.
  func header(_ type: FrameType, channel: Channel = .link, sequence: UInt64 = 0) -> FrameHeader {
    FrameHeader(
      type: type, direction: .fromDevice, channel: channel, session: id,
      sequence: UInt8(truncatingIfNeeded: sequence), ack: UInt8(truncatingIfNeeded: received), credit: credit)
  }
}

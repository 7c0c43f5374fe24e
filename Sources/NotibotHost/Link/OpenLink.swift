import NotibotProtocol

/// The state of a session from SYNACK to its end: both windows and the timers. Its rules are in
/// `LinkSession`.
struct OpenLink: Equatable, Sendable {
  /// The one timer for the oldest unacknowledged frame (LNK-51).
  enum ResendTimer: Equatable {
    case idle
    case running(since: Instant, deadline: Instant)
  }

  struct Pong: Equatable {
    var at: Instant
    var handled: UInt8
  }

  enum Health: Equatable {
    case live
    case suspect
  }

  static let pingIntervalNs: Int64 = 1_000_000_000
  static let suspectAfterNs: Int64 = 3_000_000_000
  static let downAfterNs: Int64 = 5_000_000_000
  static let resendCeilingNs: Int64 = 2_000_000_000
  /// More than enough doublings from the lower to the upper limit of the timer.
  static let doublingsLimit = 5

  let session: UInt16
  let bootID: UInt32
  /// Whether channel 0 is served (NTF-30).
  let hasSync: Bool
  var sending: SendWindow
  var receiving: ReceiveWindow
  var roundTrip = RoundTripEstimator()
  var resendTimer = ResendTimer.idle
  var health = Health.live
  /// When the last valid frame of the session was received; at first, the SYNACK.
  var receivedAt: Instant
  /// When a PING is due.
  var pingAt: Instant
  /// When the device last received or handled a frame.
  var advancedAt: Instant
  /// When the last PONG was received, and how many frames the device had handled by then, modulo
  /// 256.
  var lastPong: Pong?
  /// How often the timer has doubled since `ack` last advanced.
  private var doublings = 0
  private let lineBitsPerSecond: Int?

  init(
    session: UInt16, bootID: UInt32, hasSync: Bool, sending: SendWindow, receiving: ReceiveWindow,
    lineBitsPerSecond: Int?,
    now: Instant
  ) {
    self.session = session
    self.bootID = bootID
    self.hasSync = hasSync
    self.sending = sending
    self.receiving = receiving
    self.lineBitsPerSecond = lineBitsPerSecond
    receivedAt = now
    advancedAt = now
    pingAt = now.after(ns: Self.pingIntervalNs)
  }

  /// A valid frame of the session was received. Returns whether the session had been suspect.
  mutating func markAlive(now: Instant) -> Bool {
    receivedAt = now
    pingAt = now.after(ns: Self.pingIntervalNs)
    guard health == .suspect else { return false }
    health = .live
    return true
  }

  /// `ack` advanced: the timer restarts, or stops if nothing is unacknowledged.
  mutating func restartResendTimer(now: Instant) {
    doublings = 0
    resendTimer = .idle
    startResendTimer(now: now)
  }

  /// Starts the timer unless it runs already or nothing is unacknowledged.
  mutating func startResendTimer(now: Instant) {
    guard resendTimer == .idle, !sending.unacknowledged.isEmpty else { return }
    resendTimer = .running(since: now, deadline: now.after(ns: resendTimeoutNs))
  }

  /// The timer expired: it doubles if the line has been silent since its start; otherwise it keeps
  /// its value.
  mutating func handleResendTimeout(startedAt: Instant, now: Instant) {
    if receivedAt <= startedAt, doublings < Self.doublingsLimit { doublings += 1 }
    resendTimer = .running(since: now, deadline: now.after(ns: resendTimeoutNs))
  }

  /// Frames were resent for a reason other than the timer: it restarts, to wait for their answer.
  mutating func postponeResend(now: Instant) {
    resendTimer = .running(since: now, deadline: now.after(ns: resendTimeoutNs))
  }

  /// The earliest deadline.
  var nextDeadline: Instant {
    var earliest = receivedAt.after(ns: health == .live ? Self.suspectAfterNs : Self.downAfterNs)
    earliest = min(earliest, pingAt)
    if let ackDeadline = receiving.ackDeadline { earliest = min(earliest, ackDeadline) }
    switch resendTimer {
    case .idle: break
    case .running(_, let deadline): earliest = min(earliest, deadline)
    }
    return earliest
  }

  private var resendTimeoutNs: Int64 {
    var timeoutNs = min(roundTrip.timeoutNs << Int64(doublings), Self.resendCeilingNs)
    if let lineBitsPerSecond, lineBitsPerSecond > 0 {
      // A byte takes ten bits on the line.
      timeoutNs += Int64(sending.underWayBytes) * 10_000_000_000 / Int64(lineBitsPerSecond)
    }
    return timeoutNs
  }
}

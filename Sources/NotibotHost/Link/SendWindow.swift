import DequeModule
import NotibotProtocol

/// The host's send window: DATA frames that are in flight, can be sent, or must be resent.
///
/// Numbers count from 0 in each session and are not reduced here; on the wire they are modulo 256.
/// Invariant: `oldest` ≤ `next` ≤ `limit`, at most 64 apart, so a number on the wire identifies one
/// frame. Source: PROTOCOL.md LNK-30...LNK-43.
struct SendWindow: Equatable, Sendable {
  /// One DATA frame's content, from `enqueue` until it is acknowledged.
  struct Item: Equatable, Sendable {
    var channel: Channel
    var payload: [UInt8]
    var sentAt: Instant = .zero
    /// The positions of its first and its last transmission among all DATA transmissions of the
    /// session.
    var firstSending: UInt64 = 0
    var lastSending: UInt64 = 0
    /// Whether a bitmap named it (LNK-33).
    var isHeld = false

    var wasResent: Bool { firstSending != lastSending }

    /// Header, payload and CRC.
    var decodedSizeBytes: Int { payload.count + WireLimits.overheadLengthBytes }
  }

  /// The effect of an acknowledgement.
  struct Advance: Equatable, Sendable {
    /// Frames newly acknowledged.
    var frames: Int
    /// A valid round trip sample (LNK-51); `nil` when resending makes it ambiguous.
    var sampleNs: Int64?
    /// Whether the device received more frames or granted more credit.
    var hasMoved: Bool
  }

  /// Frames that wait for credit. The attribute client has at most 32 requests in flight, and few
  /// SYNCs, which bounds them.
  static let waitingLimitFrames = 64
  /// More credit than this counts as this.
  static let creditLimitFrames = 64

  /// Number of the oldest frame not acknowledged.
  private(set) var oldest = 0
  /// The first number that cannot be sent yet.
  private(set) var limit: Int
  /// Frames the device has handled (LNK-42).
  private(set) var handled = 0
  /// Total decoded size of the frames sent and neither acknowledged nor held: these can still be on
  /// the line.
  private(set) var underWayBytes = 0
  /// Total decoded size of the frames sent and not handled.
  private(set) var unhandledBytes = 0

  private let peerFrames: Int
  private let peerBytes: Int
  private(set) var unacknowledged = Deque<Item>()
  private var waiting = Deque<Item>()
  private var unhandledSizes = Deque<Int>()
  private var resentUnacknowledged = 0
  /// DATA transmissions in the session so far, including resent frames.
  private var sendings: UInt64 = 0

  /// - Parameter credit: of the SYNACK; above 64 it counts as 64.
  init(peerFrames: Int, peerBytes: Int, credit: Int) {
    self.peerFrames = peerFrames
    self.peerBytes = peerBytes
    limit = min(credit, Self.creditLimitFrames)
  }

  /// The number that the next new frame gets.
  var next: Int { oldest + unacknowledged.count }

  /// Whether a frame waits for credit.
  var hasWaiting: Bool { !waiting.isEmpty }

  /// Whether `enqueue` would accept a payload.
  /// Payloads that can be queued.
  var room: Int { max(0, Self.waitingLimitFrames - waiting.count) }

  /// Queues a payload. Returns false, and queues nothing, if the queue is full.
  mutating func enqueue(channel: Channel, payload: [UInt8]) -> Bool {
    guard room > 0 else { return false }
    waiting.append(Item(channel: channel, payload: payload))
    return true
  }

  /// Dequeues the next frame, if credit and the byte limit allow it.
  mutating func sendNext(now: Instant) -> (number: Int, item: Item)? {
    guard var item = waiting.first, next < limit else { return nil }
    let sizeBytes = item.decodedSizeBytes
    guard unhandledBytes + sizeBytes <= peerBytes else { return nil }
    waiting.removeFirst()
    let number = next
    item.sentAt = now
    sendings += 1
    item.firstSending = sendings
    item.lastSending = sendings
    unacknowledged.append(item)
    unhandledSizes.append(sizeBytes)
    unhandledBytes += sizeBytes
    underWayBytes += sizeBytes
    return (number, item)
  }

  /// Takes in `ack` and `credit` of a received frame. Returns `nil`, and changes nothing, if the
  /// ack is outside the range of unacknowledged frames (LNK-31).
  mutating func acknowledge(ack: UInt8, credit: UInt8, now: Instant) -> Advance? {
    // Wraps: both are numbers modulo 256.
    let frames = Int(ack &- UInt8(truncatingIfNeeded: oldest))
    guard frames <= unacknowledged.count else { return nil }
    var sampleNs: Int64?
    let isAmbiguous = resentUnacknowledged > 0
    for _ in 0..<frames {
      let item = unacknowledged.removeFirst()
      if !item.isHeld { underWayBytes -= item.decodedSizeBytes }
      sampleNs = isAmbiguous ? nil : now.nanoseconds - item.sentAt.nanoseconds
      if item.wasResent { resentUnacknowledged -= 1 }
    }
    oldest += frames
    let hasGrown = raiseLimit(to: oldest + min(Int(credit), Self.creditLimitFrames))
    return Advance(frames: frames, sampleNs: sampleNs, hasMoved: frames > 0 || hasGrown)
  }

  /// The frames to send again for a NAK without bitmap, whose ack is `oldest`: all, because the
  /// device holds none of them.
  mutating func resendAll() -> [(number: Int, item: Item)] {
    for index in unacknowledged.indices { setHeld(false, at: index) }
    return resend { _ in true }
  }

  /// The frames to send again for a NAK with the bitmap `held`, whose ack is `oldest`: those that
  /// are proven lost, because one that was sent for the first time after they were last sent is
  /// held (LNK-34).
  mutating func resendLost(held: UInt64) -> [(number: Int, item: Item)] {
    for index in unacknowledged.indices.dropFirst().prefix(64) where held >> UInt64(index - 1) & 1 == 1 {
      setHeld(true, at: index)
    }
    // First transmissions are in the order of the numbers. A held frame counts by its first one: if
    // it was sent twice, it is unknown which one arrived (LNK-34).
    guard let newest = unacknowledged.last(where: \.isHeld)?.firstSending else { return [] }
    return resend { $0.lastSending < newest }
  }

  /// The frames to send again when the timer expires: all that are not held. The oldest one cannot
  /// be, whatever a bitmap said (LNK-51).
  mutating func resendExpired() -> [(number: Int, item: Item)] {
    if !unacknowledged.isEmpty { setHeld(false, at: 0) }
    return resend { _ in true }
  }

  private mutating func resend(where isDue: (Item) -> Bool) -> [(number: Int, item: Item)] {
    var frames: [(number: Int, item: Item)] = []
    for index in unacknowledged.indices {
      guard !unacknowledged[index].isHeld, isDue(unacknowledged[index]) else { continue }
      if !unacknowledged[index].wasResent { resentUnacknowledged += 1 }
      sendings += 1
      unacknowledged[index].lastSending = sendings
      frames.append((oldest + index, unacknowledged[index]))
    }
    return frames
  }

  private mutating func setHeld(_ isHeld: Bool, at index: Int) {
    guard unacknowledged[index].isHeld != isHeld else { return }
    unacknowledged[index].isHeld = isHeld
    let sizeBytes = unacknowledged[index].decodedSizeBytes
    underWayBytes += isHeld ? -sizeBytes : sizeBytes
  }

  private mutating func raiseLimit(to proposed: Int) -> Bool {
    let hasGrown = proposed > limit
    limit = max(limit, proposed)
    // A peer can grant more than it announced; a frame that was not sent cannot have been handled.
    let newlyHandled = min(limit - peerFrames, next)
    while handled < newlyHandled {
      unhandledBytes -= unhandledSizes.removeFirst()
      handled += 1
    }
    return hasGrown
  }
}

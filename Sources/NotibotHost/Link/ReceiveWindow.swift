import NotibotProtocol

/// The host's receive window for the device's DATA frames: frames in order, frames held until a gap
/// is filled, and due acknowledgements.
///
/// The host handles every frame at once, so it always grants the same credit and never closes its
/// window. Source: PROTOCOL.md LNK-32, LNK-33, LNK-40, LNK-50.
struct ReceiveWindow: Equatable, Sendable {
  /// The reaction to a DATA frame.
  enum Verdict: Equatable {
    /// It was the expected one. It and the held frames that follow it are delivered.
    case delivered
    /// It is held, or was held already; `true`: it opened a gap, which a NAK reports at once.
    case held(needsNAK: Bool)
    /// A duplicate, too far ahead, or more than was granted.
    case outOfWindow
  }

  /// A DATA frame's content.
  struct Item: Equatable, Sendable {
    var channel: Channel
    var payload: [UInt8]

    /// Header, payload and CRC.
    var decodedSizeBytes: Int { payload.count + WireLimits.overheadLengthBytes }
  }

  private enum Order: Equatable {
    case inOrder
    /// Frames after a gap are held.
    case missing(highestHeld: Int)
  }

  private enum Debt: Equatable {
    case none
    case owed(frames: Int, since: Instant)

    mutating func add(now: Instant) {
      switch self {
      case .none: self = .owed(frames: 1, since: now)
      case .owed(let frames, let since): self = .owed(frames: frames + 1, since: since)
      }
    }

    func isDue(now: Instant) -> Bool {
      switch self {
      case .none: false
      case .owed(let frames, let since):
        frames >= ReceiveWindow.ackEveryFrames || now.nanoseconds(since: since) >= ReceiveWindow.ackDelayNs
      }
    }

    var deadline: Instant? {
      switch self {
      case .none: nil
      case .owed(_, let since): since.after(ns: ReceiveWindow.ackDelayNs)
      }
    }
  }

  /// How long a single frame can wait for its acknowledgement.
  static let ackDelayNs: Int64 = 5_000_000
  /// This many unacknowledged frames are acknowledged at once.
  static let ackEveryFrames = 2
  static let outOfWindowAckIntervalNs: Int64 = 20_000_000

  /// Number of the next frame in order; also the frames received, and handled.
  private(set) var expected = 0

  private let frames: Int
  private let bytes: Int
  private var held: [Item?]
  private var heldCount = 0
  private var heldBytes = 0
  private var order = Order.inOrder
  /// Frames received in order and not yet acknowledged.
  private var debt = Debt.none
  /// Out-of-order frames received after the last bitmap.
  private var bitmapDebt = Debt.none
  private var outOfWindowAckAt: Instant?

  /// - Parameters:
  ///   - frames: what this host announced, 2...64.
  ///   - bytes: what this host announced, 1080 or more.
  init(frames: Int, bytes: Int) {
    self.frames = frames
    self.bytes = bytes
    held = Array(repeating: nil, count: frames)
  }

  /// The `ack` field of a frame sent now.
  var ack: UInt8 { UInt8(truncatingIfNeeded: expected) }

  /// The `credit` field of a frame sent now: `handled` + `frames` − `ack`, with all handled.
  var credit: UInt8 { UInt8(frames) }

  /// Takes in a DATA frame. Completed frames are passed to `deliver`, in order.
  mutating func receive(sequence: UInt8, item: Item, now: Instant, deliver: (Item) -> Void) -> Verdict {
    // Wraps: both are numbers modulo 256.
    let ahead = Int(sequence &- UInt8(truncatingIfNeeded: expected))
    if ahead == 0 {
      deliver(item)
      advance(now: now)
      deliverHeld(now: now, deliver)
      return .delivered
    }
    guard ahead < frames else { return .outOfWindow }
    let number = expected + ahead
    let slot = number % frames
    if held[slot] == nil {
      guard heldBytes + item.decodedSizeBytes <= bytes else { return .outOfWindow }
      held[slot] = item
      heldCount += 1
      heldBytes += item.decodedSizeBytes
    }
    return .held(needsNAK: recordOutOfOrder(number, now: now))
  }

  /// Whether frames after a gap are held.
  var isHolding: Bool { heldCount > 0 }

  /// The payload of a NAK: bit *i* is the frame `ack` + 1 + *i* (LNK-33).
  var heldBitmap: UInt64 {
    var bitmap: UInt64 = 0
    for distance in 1..<frames where held[(expected + distance) % frames] != nil {
      bitmap |= 1 << UInt64(distance - 1)
    }
    return bitmap
  }

  /// Whether an acknowledgement, or a bitmap, is due.
  func owesAck(now: Instant) -> Bool {
    debt.isDue(now: now) || bitmapDebt.isDue(now: now)
  }

  /// The deadline for acknowledging the first unacknowledged frame.
  var ackDeadline: Instant? {
    switch (debt.deadline, bitmapDebt.deadline) {
    case (let one?, let other?): min(one, other)
    case (let one, let other): one ?? other
    }
  }

  /// A frame with `ack` and `credit` was sent.
  mutating func markAcknowledged() {
    debt = .none
  }

  /// A NAK with the bitmap was sent.
  mutating func markBitmapSent() {
    bitmapDebt = .none
  }

  /// Whether an out-of-window frame can be answered now; if so, the answer counts as sent (LNK-32).
  mutating func acquireOutOfWindowAnswer(now: Instant) -> Bool {
    if let last = outOfWindowAckAt, now.nanoseconds(since: last) < Self.outOfWindowAckIntervalNs {
      return false
    }
    outOfWindowAckAt = now
    return true
  }

  private mutating func advance(now: Instant) {
    expected += 1
    debt.add(now: now)
  }

  private mutating func deliverHeld(now: Instant, _ deliver: (Item) -> Void) {
    guard heldCount > 0 else { return }
    while let item = held[expected % frames] {
      held[expected % frames] = nil
      heldCount -= 1
      heldBytes -= item.decodedSizeBytes
      deliver(item)
      advance(now: now)
    }
    guard heldCount == 0 else { return }
    order = .inOrder
    bitmapDebt = .none
  }

  /// Returns whether the frame opened a gap; the report of any other out-of-order frame can wait
  /// (LNK-33).
  private mutating func recordOutOfOrder(_ number: Int, now: Instant) -> Bool {
    switch order {
    case .inOrder:
      order = .missing(highestHeld: number)
      return true
    case .missing(let highestHeld):
      order = .missing(highestHeld: max(highestHeld, number))
      if number > highestHeld + 1 { return true }
      bitmapDebt.add(now: now)
      return false
    }
  }
}

import NotibotProtocol

/// The device's DATA frames on their way to the host: what came in order, what is held until a hole is filled, and
/// what is owed in return.
///
/// The host takes every frame at once, so it grants the same credit always and never closes its window.
/// Source: PROTOCOL.md LNK-32, LNK-33, LNK-40, LNK-50.
struct ReceiveWindow: Equatable, Sendable {
  /// What to do about a DATA frame.
  enum Verdict: Equatable {
    /// It was the expected one. It and the held ones that follow it are in `takeDelivered`.
    case delivered
    /// It is kept; `true`: say so by NAK.
    case held(needsNAK: Bool)
    /// It is here already, or too far ahead.
    case outOfWindow
  }

  /// A DATA frame's content.
  struct Item: Equatable, Sendable {
    var channel: Channel
    var payload: [UInt8]
  }

  private enum Order: Equatable {
    case inOrder
    /// Frames after a hole are held. `last`: number of the last out-of-order frame; `reported`: the hole that the
    /// present round's NAK named.
    case missing(last: Int, reported: Int)
  }

  private enum Debt: Equatable {
    case none
    case owed(frames: Int, since: Instant)
  }

  /// A single frame may wait this long for its acknowledgement.
  static let ackDelayNs: Int64 = 5_000_000
  /// This many frames may not wait.
  static let ackEveryFrames = 2
  static let outOfWindowAckIntervalNs: Int64 = 20_000_000

  /// Number of the next frame in order; also the frames received, and handled.
  private(set) var expected = 0

  private let frames: Int
  private var held: [Item?]
  private var heldCount = 0
  private var order = Order.inOrder
  private var debt = Debt.none
  private var outOfWindowAckAt: Instant?

  /// - Parameter frames: what this host announced, 2...64.
  init(frames: Int) {
    self.frames = frames
    held = Array(repeating: nil, count: frames)
  }

  /// The `ack` field of a frame that goes out now.
  var ack: UInt8 { UInt8(truncatingIfNeeded: expected) }

  /// The `credit` field of a frame that goes out now: `handled` + `frames` − `ack`, with all handled.
  var credit: UInt8 { UInt8(frames) }

  /// Takes in a DATA frame. What it completes is handed to `deliver`, in order.
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
      held[slot] = item
      heldCount += 1
    }
    return .held(needsNAK: noteOutOfOrder(number))
  }

  /// The payload of a NAK: bit *i* is the frame `ack` + 1 + *i* (LNK-33).
  var heldBitmap: UInt64 {
    var bitmap: UInt64 = 0
    for distance in 1..<frames where held[(expected + distance) % frames] != nil {
      bitmap |= 1 << UInt64(distance - 1)
    }
    return bitmap
  }

  /// Whether an acknowledgement may not wait any longer.
  func owesAck(now: Instant) -> Bool {
    switch debt {
    case .none: false
    case .owed(let frames, let since):
      frames >= Self.ackEveryFrames || now.nanoseconds(since: since) >= Self.ackDelayNs
    }
  }

  /// When the single unacknowledged frame must be acknowledged.
  var ackDeadline: Instant? {
    switch debt {
    case .none: nil
    case .owed(_, let since): since.after(ns: Self.ackDelayNs)
    }
  }

  /// A frame with `ack` and `credit` went out.
  mutating func noteAcknowledged() {
    debt = .none
  }

  /// Whether an out-of-window frame may be answered now; if so the answer counts as given (LNK-32).
  mutating func takeOutOfWindowAnswer(now: Instant) -> Bool {
    if let last = outOfWindowAckAt, now.nanoseconds(since: last) < Self.outOfWindowAckIntervalNs {
      return false
    }
    outOfWindowAckAt = now
    return true
  }

  private mutating func advance(now: Instant) {
    expected += 1
    switch debt {
    case .none: debt = .owed(frames: 1, since: now)
    case .owed(let frames, let since): debt = .owed(frames: frames + 1, since: since)
    }
  }

  private mutating func deliverHeld(now: Instant, _ deliver: (Item) -> Void) {
    guard heldCount > 0 else { return }
    while let item = held[expected % frames] {
      held[expected % frames] = nil
      heldCount -= 1
      deliver(item)
      advance(now: now)
    }
    if heldCount == 0 { order = .inOrder }
  }

  /// One NAK for each hole and round; a round begins anew when the sender has gone back (LNK-33).
  private mutating func noteOutOfOrder(_ number: Int) -> Bool {
    switch order {
    case .inOrder:
      order = .missing(last: number, reported: expected)
      return true
    case .missing(let last, let reported):
      order = .missing(last: number, reported: expected)
      return number <= last || reported != expected
    }
  }
}

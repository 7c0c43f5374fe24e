import DequeModule

/// DATA frames that arrived before a missing one, kept until the hole is filled.
///
/// The first place is the number after the missing frame. The last place is never empty. The
/// session keeps only frames that it granted: fewer than its `frames`, and no more bytes than its
/// `bytes` (LNK-8). Source: PROTOCOL.md LNK-32, LNK-33.
struct KeptFrames: Equatable, Sendable {
  private var places: Deque<DeviceSession.Inbound?> = []
  /// The total decoded size of the kept frames.
  private(set) var lengthBytes = 0

  var isEmpty: Bool { places.isEmpty }

  /// The effect of a frame on the bitmap.
  enum Placement: Equatable, Sendable {
    /// There is another missing frame below it.
    case opensHole
    case isOneMore
    /// It was already kept.
    case isKnown
  }

  /// Keeps a frame that lies `distance` above the missing one, 1 or more.
  mutating func keep(_ frame: DeviceSession.Inbound, distance: Int) -> Placement {
    let isNewHole = places.isEmpty || distance > places.count + 1
    while places.count < distance { places.append(nil) }
    guard places[distance - 1] == nil else { return .isKnown }
    places[distance - 1] = frame
    lengthBytes += frame.lengthBytes
    return isNewHole ? .opensHole : .isOneMore
  }

  /// Whether the frame at `distance` is kept.
  func holds(distance: Int) -> Bool { distance <= places.count && places[distance - 1] != nil }

  /// The missing frame has arrived: moves up by one number. Returns the frame that is next in
  /// order; nil if it is missing too, or nothing is kept.
  mutating func advance() -> DeviceSession.Inbound? {
    guard let next = places.popFirst() ?? nil else { return nil }
    lengthBytes -= next.lengthBytes
    return next
  }

  /// Bit *i* is the frame *i* + 1 above the missing one.
  var bitmap: UInt64 {
    var bitmap: UInt64 = 0
    for (index, place) in places.prefix(64).enumerated() where place != nil { bitmap |= 1 << UInt64(index) }
    return bitmap
  }
}

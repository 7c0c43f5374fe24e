import DequeModule

/// DATA frames that came before one that is missing, kept until the hole is filled.
///
/// It begins behind the missing frame; its first place is the number after that one. Its last place is never empty.
/// The session keeps only what it granted: fewer frames than its `frames`, no more bytes than its `bytes` (LNK-8).
/// Source: PROTOCOL.md LNK-32, LNK-33.
struct KeptFrames: Equatable, Sendable {
  private var places: Deque<DeviceSession.Inbound?> = []
  /// Decoded sizes of the frames kept, together.
  private(set) var lengthBytes = 0

  var isEmpty: Bool { places.isEmpty }

  /// What a frame means for the bitmap.
  enum Placement: Equatable, Sendable {
    /// There is a further missing frame below it.
    case opensHole
    case isOneMore
    /// It was here already.
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

  /// Whether the frame at `distance` is here.
  func holds(distance: Int) -> Bool { distance <= places.count && places[distance - 1] != nil }

  /// The missing frame has come: moves one number up. Returns the frame that is next in order; nil when that one is
  /// missing, too, or nothing is kept.
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

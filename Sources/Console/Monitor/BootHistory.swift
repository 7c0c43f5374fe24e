import NotibotProtocol

/// Detects that a device does not get past its start, from the starts that nobody intended.
struct BootHistory: Equatable, Sendable {
  /// This many boots, of which the first and last are at most `loopWindow` apart, are a loop.
  static let loopBoots = 3
  static let loopWindow = Duration.seconds(10)

  private enum State: Equatable {
    /// The newest boots, fewer than `loopBoots`.
    case calm([Instant])
    /// The loop is reported; the time of the last boot.
    case looping(Instant)
  }

  private var state = State.calm([])

  /// Returns whether this boot makes a loop that was not reported yet.
  mutating func recordBoot(now: Instant) -> Bool {
    switch state {
    case .looping(let last) where now - last <= Self.loopWindow:
      state = .looping(now)
      return false
    case .looping:
      state = .calm([now])
      return false
    case .calm(let boots):
      let recent = boots.filter { now - $0 <= Self.loopWindow } + [now]
      guard recent.count >= Self.loopBoots else {
        state = .calm(recent)
        return false
      }
      state = .looping(now)
      return true
    }
  }
}

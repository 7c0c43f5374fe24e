import NotibotProtocol

/// Faults of weak boards: a supply that fails, a flash that blocks the CPU.
extension EmulatedDevice {
  /// Whether the device stands still because of a flash erase.
  enum Flash: Equatable, Sendable {
    case idle
    /// Interrupts are off; the receive buffer holds the received bytes.
    case erasing(until: Instant, held: [UInt8])
  }

  /// The size of the receive buffer while nothing runs; further bytes are lost.
  package static let heldInputLimitBytes = 8192

  /// Whether the device is between a reset and the state after it.
  package var isRestarting: Bool {
    switch state {
    case .running, .downloading: false
    case .restarting, .held: true
    }
  }

  /// Erases a page if enough was written since the last one.
  mutating func startErasing() {
    guard let model = profile.flash,
      attributes.store.acceptedCount >= (eraseCount + 1) * max(1, model.writesPerErase)
    else { return }
    eraseCount += 1
    flash = .erasing(until: clock + random(in: model.eraseTime), held: [])
  }

  /// Continues when the page is erased; returns false until then.
  mutating func finishErasing() -> Bool {
    switch flash {
    case .idle: return true
    case .erasing(let until, let held):
      guard clock >= until else { return false }
      flash = .idle
      handle(held)
      return true
    }
  }

  /// Keeps bytes until the page is erased.
  mutating func hold(_ bytes: [UInt8]) {
    guard case .erasing(let until, var held) = flash else { return }
    let room = Self.heldInputLimitBytes - held.count
    deafBytes += UInt64(max(0, bytes.count - room))
    held += bytes.prefix(room)
    flash = .erasing(until: until, held: held)
  }

  /// Draws the time of the next brownout.
  mutating func armBrownout() {
    brownoutDeadline = profile.brownoutAfter.map { clock + random(in: $0) }
  }

  private mutating func random(in range: ClosedRange<Duration>) -> Duration {
    .nanoseconds(
      Int64.random(
        in: range.lowerBound.wholeNanoseconds...range.upperBound.wholeNanoseconds, using: &generator))
  }
}

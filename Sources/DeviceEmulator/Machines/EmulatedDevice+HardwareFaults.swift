import NotibotProtocol

/// What weak boards do: a supply that fails, a flash that stands in the way.
extension EmulatedDevice {
  /// Whether everything stands still for the flash.
  enum Flash: Equatable, Sendable {
    case idle
    /// Interrupts are off; the receive buffer holds what comes.
    case erasing(until: Instant, held: [UInt8])
  }

  /// What a receive buffer takes while nothing runs; later bytes are lost.
  package static let heldInputLimitBytes = 8192

  /// Whether the device is between a reset and what comes after it.
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

  /// Goes on when the page is erased; false while it is not.
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

  /// Draws when the supply fails.
  mutating func armBrownout() {
    brownoutDeadline = profile.brownoutAfter.map { clock + random(in: $0) }
  }

  private mutating func random(in range: ClosedRange<Duration>) -> Duration {
    .nanoseconds(
      Int64.random(
        in: range.lowerBound.wholeNanoseconds...range.upperBound.wholeNanoseconds, using: &generator))
  }
}

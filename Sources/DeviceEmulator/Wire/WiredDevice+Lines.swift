package import NotibotProtocol
package import SerialLink

/// Actions of a host on the line other than sending bytes.
extension WiredDevice {
  /// Performs it. An impossible rate changes nothing.
  package mutating func apply(_ command: LineCommand, now: Instant) {
    clock = now
    switch command {
    case .rate(let rate): setBitsPerSecond(rate)
    case .lines(let lines): drive(lines)
    // A receiver decodes the beginning of a break as a byte of zeros.
    case .breakState(isOn: true): receive([0], now: now)
    case .breakState(isOn: false): break
    case .purgeInput: discard(.toHost)
    case .purgeOutput: discard(.toDevice)
    }
  }

  private mutating func drive(_ lines: ModemLines) {
    switch circuit.drive(lines) {
    case nil: return
    case .holds?: device.hold(now: clock)
    case .releases(let mode)?, .resets(let mode)?: device.release(into: mode, now: clock)
    }
    followDevice()
    drainDevice()
  }

  private mutating func discard(_ direction: PacedWire.Direction) {
    faults?.discard(direction)
    wire.discard(direction, now: clock)
  }
}

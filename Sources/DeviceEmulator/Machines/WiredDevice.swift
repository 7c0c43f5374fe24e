package import NotibotProtocol

/// A device at the far end of its line: what a host writes goes in, what a host can read comes out.
///
/// Puts `EmulatedDevice` and `PacedWire` together for the virtual rig and the PTY front alike. On a paced line the
/// device is asked for its next frame only when the line has room, as a UART driver would ask, so that acks and
/// credits are those of the moment they leave. Inputs: `receive`, `handleTimeout`; commands: `perform`,
/// `setBitsPerSecond`, `discardOutput`; outputs: `nextAction`, `nextDeadline`.
package struct WiredDevice: Equatable, Sendable {
  /// Bytes that a paced line holds before the device waits: the transmit FIFO of an ESP32.
  static let transmitBufferBytes = 128
  /// Bytes from the host that may be under way before `isFull`: what an adapter and its driver buffer.
  package static let receiveBufferBytes = 4096

  private enum Draining: Equatable, Sendable {
    /// The device had nothing more to say.
    case done
    /// The line is full until then.
    case heldBack(until: Instant)
  }

  package private(set) var device: EmulatedDevice
  package private(set) var wire: PacedWire
  private var clock: Instant
  private var draining = Draining.done

  package init(profile: DeviceProfile, seed: UInt64, now: Instant) {
    device = EmulatedDevice(profile: profile, seed: seed, now: now)
    wire = PacedWire(model: profile.wire)
    clock = now
    device.setLineRate(bitsPerSecond: wire.bitsPerSecond)
    if wire.bitsPerSecond != nil { device.transmitLimitBytes = 1 }
    drainDevice()
  }

  /// Takes what a host wrote.
  package mutating func receive(_ bytes: [UInt8], now: Instant) {
    clock = now
    if isDirect {
      device.receive(bytes, now: now)
    } else {
      wire.send(bytes, .toDevice, now: now)
      advance()
    }
  }

  /// Tells the time: bytes arrive, timers run out.
  package mutating func handleTimeout(now: Instant) {
    clock = now
    advance()
    if let deadline = device.nextDeadline, deadline <= now {
      device.handleTimeout(now: now)
      drainDevice()
    }
  }

  /// Does something to the device.
  package mutating func perform(_ command: DeviceCommand, now: Instant) -> DeviceReply {
    clock = now
    let reply = device.perform(command, now: now)
    drainDevice()
    return reply
  }

  /// Changes the rate of a paced line; no effect on an unpaced one.
  package mutating func setBitsPerSecond(_ rate: UInt32) {
    wire.setBitsPerSecond(rate)
    device.setLineRate(bitsPerSecond: wire.bitsPerSecond)
  }

  /// Throws away what the device has put on the line, and what it would put there now: nobody listens.
  package mutating func discardOutput(now: Instant) {
    clock = now
    while device.nextAction() != nil {}
    wire.discard(.toHost, now: now)
    draining = .done
  }

  /// What a host can read now; nil when there is nothing more.
  package mutating func nextAction() -> DeviceAction? {
    if isDirect { return device.nextAction() }
    drainDevice()
    return wire.nextArrival(.toHost, now: clock).map(DeviceAction.transmit)
  }

  /// When `handleTimeout` has something to do next.
  package var nextDeadline: Instant? {
    var earliest = device.nextDeadline
    if let arrival = wire.nextDeadline { earliest = min(earliest ?? arrival, arrival) }
    switch draining {
    case .done: break
    case .heldBack(let until): earliest = min(earliest ?? until, until)
    }
    return earliest
  }

  /// Whether the line holds so much of what the host wrote that its writing should wait.
  package var isFull: Bool { wire.queuedBytes(.toDevice) >= Self.receiveBufferBytes }

  /// Whether bytes pass the line the moment they are put in.
  private var isDirect: Bool { wire.model == .direct }

  private mutating func advance() {
    while let bytes = wire.nextArrival(.toDevice, now: clock) { device.receive(bytes, now: clock) }
    drainDevice()
  }

  /// Puts on the line what it has room for.
  private mutating func drainDevice() {
    guard !isDirect else { return }
    draining = .done
    while true {
      if let rate = wire.bitsPerSecond, wire.unsentBytes(.toHost, now: clock) > Self.transmitBufferBytes {
        let excess = wire.unsentBytes(.toHost, now: clock) - Self.transmitBufferBytes
        draining = .heldBack(until: clock + PacedWire.lineTime(ofBytes: excess + 1, at: rate))
        return
      }
      guard case .transmit(let bytes)? = device.nextAction() else { return }
      wire.send(bytes, .toHost, now: clock)
    }
  }
}

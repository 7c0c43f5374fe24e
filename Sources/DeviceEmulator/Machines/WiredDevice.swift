package import NotibotProtocol

/// A device at the far end of its line: what a host writes goes in, what a host can read comes out.
///
/// Puts `EmulatedDevice`, `FaultyWire` and `PacedWire` together for the virtual rig and the PTY front alike. On a paced
/// line the device is asked for its next frame only when the line has room, as a UART driver would ask, so that acks and
/// credits are those of the moment they leave. Faults happen at the device's end. Inputs: `receive`, `handleTimeout`,
/// `noticeHost`; commands: `perform`, `apply`, `setFaults`, `setBitsPerSecond`, `discardOutput`; outputs: `nextAction`,
/// `nextDeadline`, `isPresent`.
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

  /// Whether the port is there for a host.
  enum Plug: Equatable, Sendable {
    case present
    /// A fault pulled it.
    case pulled(until: Instant)
    /// The chip is its own USB device and restarts.
    case absentUntilBoot
  }

  package internal(set) var device: EmulatedDevice
  package internal(set) var wire: PacedWire
  var faults: FaultyWire?
  var plug = Plug.present
  var isRestarting = false
  /// Whether the last write was cut short, so that a zero has to come first. Source: PROTOCOL.md FRM-14.
  var owesZero = false
  /// Bytes that the device dropped because the host did not take them in time.
  package internal(set) var cutBytes: UInt64 = 0
  var clock: Instant
  /// What the lines of the port do to the chip.
  var circuit: ResetCircuit
  private let seed: UInt64
  private var draining = Draining.done

  /// Powers a device on.
  /// - Parameters:
  ///   - seed: decides boot ids and session ids, and the faults of a spec that has no seed.
  ///   - faults: what the line does to bytes.
  package init(profile: DeviceProfile, seed: UInt64, faults: FaultSpec = .off, now: Instant) {
    device = EmulatedDevice(profile: profile, seed: seed, now: now)
    wire = PacedWire(model: profile.wire)
    circuit = ResetCircuit(wiring: profile.resetWiring)
    clock = now
    self.seed = seed
    setFaults(faults)
    device.setLineRate(bitsPerSecond: wire.bitsPerSecond)
    if wire.bitsPerSecond != nil { device.transmitLimitBytes = 1 }
    drainDevice()
  }

  /// Takes what a host wrote.
  package mutating func receive(_ bytes: [UInt8], now: Instant) {
    clock = now
    guard isPresent else { return }
    if isDirect {
      deliver(bytes)
      followDevice()
    } else {
      wire.send(bytes, .toDevice, now: now)
      advance()
    }
  }

  /// Tells the time: bytes arrive, timers run out.
  package mutating func handleTimeout(now: Instant) {
    clock = now
    if case .pulled(let until) = plug, now >= until { plug = .present }
    advance()
    if let deadline = device.nextDeadline, deadline <= now {
      device.handleTimeout(now: now)
      followDevice()
      drainDevice()
    }
  }

  /// Does something to the device.
  package mutating func perform(_ command: DeviceCommand, now: Instant) -> DeviceReply {
    clock = now
    let reply = device.perform(command, now: now)
    followDevice()
    drainDevice()
    guard case .statistics = reply else { return reply }
    return .statistics(statistics)
  }

  /// Changes what the line does to bytes from now on. Counts begin anew; what waits for the end of a stall is lost.
  package mutating func setFaults(_ spec: FaultSpec) {
    faults = spec.rules.isEmpty ? nil : FaultyWire(spec: spec, seed: seed)
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
    faults?.discard(.toHost)
    wire.discard(.toHost, now: now)
    draining = .done
  }

  /// What a host can read now; nil when there is nothing more.
  package mutating func nextAction() -> DeviceAction? {
    guard isPresent else {
      discardOutput(now: clock)
      return nil
    }
    if isDirect { return nextDeparture().map(DeviceAction.transmit) }
    drainDevice()
    return wire.nextArrival(.toHost, now: clock).map(DeviceAction.transmit)
  }

  /// Whether the port is there. While it is not, bytes are lost both ways, and a front takes the port away.
  package var isPresent: Bool { plug == .present }

  /// When `handleTimeout` has something to do next.
  package var nextDeadline: Instant? {
    var earliest = device.nextDeadline
    if let arrival = wire.nextDeadline { earliest = min(earliest ?? arrival, arrival) }
    if let stallEnd = faults?.nextDeadline { earliest = min(earliest ?? stallEnd, stallEnd) }
    if case .pulled(let until) = plug { earliest = min(earliest ?? until, until) }
    switch draining {
    case .done: break
    case .heldBack(let until): earliest = min(earliest ?? until, until)
    }
    return earliest
  }

  /// Whether the line holds so much of what the host wrote that its writing should wait.
  package var isFull: Bool {
    wire.queuedBytes(.toDevice) + (faults?.queuedBytes(.toDevice) ?? 0) >= Self.receiveBufferBytes
  }

  /// Whether bytes pass the line the moment they are put in.
  private var isDirect: Bool { wire.model == .direct }

  private mutating func advance() {
    if faults != nil { drainFaults() }
    while let bytes = wire.nextArrival(.toDevice, now: clock) { deliver(bytes) }
    followDevice()
    drainDevice()
  }

  /// Puts on the line what it has room for.
  mutating func drainDevice() {
    guard !isDirect, isPresent else { return }
    draining = .done
    while true {
      if let rate = wire.bitsPerSecond, wire.unsentBytes(.toHost, now: clock) > Self.transmitBufferBytes {
        let excess = wire.unsentBytes(.toHost, now: clock) - Self.transmitBufferBytes
        draining = .heldBack(until: clock + PacedWire.lineTime(ofBytes: excess + 1, at: rate))
        return
      }
      guard let bytes = nextDeparture() else { return }
      if hasHostStoppedReading {
        cutShort(bytes)
      } else {
        wire.send(owesZero ? [0] + bytes : bytes, .toHost, now: clock)
        owesZero = false
      }
    }
  }
}

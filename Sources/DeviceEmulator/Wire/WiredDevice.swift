package import NotibotProtocol

/// A device at the far end of its line: takes the bytes that a host writes, returns those that a
/// host can read.
///
/// Combines `EmulatedDevice`, `FaultyWire` and `PacedWire` for the virtual rig and the PTY front.
/// On a paced line the device is polled for its next frame only when the line has room, as a UART
/// driver would do, so that acks and credits are current when they leave. Faults happen at the
/// device's end. Inputs: `receive`, `handleTimeout`, `noticeHost`; commands: `perform`, `apply`,
/// `setFaults`, `setBitsPerSecond`, `discardOutput`; outputs: `nextTransmit`, `nextDeadline`,
/// `isPresent`.
package struct WiredDevice: Equatable, Sendable {
  /// Bytes that a paced line holds before the device waits: the transmit FIFO of an ESP32.
  static let transmitBufferBytes = 128
  /// The limit of bytes in flight from the host before `isFull`: the buffers of an adapter and its
  /// driver.
  package static let receiveBufferBytes = 4096

  private enum Draining: Equatable, Sendable {
    /// The device had no more output.
    case done
    /// The line is full until then.
    case heldBack(until: Instant)
  }

  /// Whether the port is there for a host.
  enum Plug: Equatable, Sendable {
    case present
    /// A fault pulled the plug.
    case pulled(until: Instant)
    /// The chip is its own USB device and restarts.
    case absentUntilBoot
  }

  package internal(set) var device: EmulatedDevice
  package internal(set) var wire: PacedWire
  var faults: FaultyWire?
  var plug = Plug.present
  var isRestarting = false
  /// Whether the last write was cut short, so that a zero must be sent first. Source: PROTOCOL.md
  /// FRM-14.
  var owesZero = false
  /// Bytes that the device dropped because the host did not read them in time.
  package internal(set) var cutBytes: UInt64 = 0
  var clock: Instant
  /// The reaction of the chip to the modem lines.
  var circuit: ResetCircuit
  /// The rate that the host set last; nil if it is not known.
  private(set) var hostBitsPerSecond: UInt32?
  private let seed: UInt64
  private var draining = Draining.done

  /// Powers a device on.
  /// - Parameters:
  ///   - seed: decides boot ids and session ids, and the faults of a spec without a seed.
  ///   - faults: the faults of the line.
  ///   - loader: the chip's loader and flash; nil for none.
  package init(
    profile: DeviceProfile, seed: UInt64, faults: FaultSpec = .off, loader: LoaderMachine? = nil, now: Instant
  ) {
    device = EmulatedDevice(profile: profile, seed: seed, loader: loader, now: now)
    wire = PacedWire(model: profile.wire)
    circuit = ResetCircuit(wiring: profile.resetWiring)
    clock = now
    self.seed = seed
    setFaults(faults)
    device.setLineRate(bitsPerSecond: wire.bitsPerSecond)
    if wire.bitsPerSecond != nil { device.transmitLimitBytes = 1 }
    drainDevice()
  }

  /// Takes bytes that a host wrote.
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

  /// Sets the time: bytes arrive, timers expire.
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

  /// Performs a command on the device, or changes the faults of its line; the plug is not here.
  package mutating func perform(_ command: DeviceCommand, now: Instant) -> DeviceReply {
    clock = now
    if case .faults(let spec) = command {
      setFaults(spec)
      return .done
    }
    let reply = device.perform(command, now: now)
    followDevice()
    drainDevice()
    guard case .statistics = reply else { return reply }
    return .statistics(statistics)
  }

  /// Changes the faults of the line from now on. Counters restart; bytes queued by a stall are
  /// lost.
  package mutating func setFaults(_ spec: FaultSpec) {
    faults = spec.rules.isEmpty ? nil : FaultyWire(spec: spec, seed: seed)
  }

  /// Whether the rate that a host sets makes a difference.
  var followsHostRate: Bool { wire.bitsPerSecond != nil || device.loader != nil }

  /// The host has set this rate. It becomes the rate of a paced line; an unpaced one stays unpaced.
  package mutating func setBitsPerSecond(_ rate: UInt32) {
    hostBitsPerSecond = rate
    device.loader?.setHostRate(rate)
    wire.setBitsPerSecond(rate)
    device.setLineRate(bitsPerSecond: wire.bitsPerSecond)
  }

  /// Discards the bytes on the line, and the pending output of the device: no host is there.
  package mutating func discardOutput(now: Instant) {
    clock = now
    while device.nextTransmit() != nil {}
    faults?.discard(.toHost)
    wire.discard(.toHost, now: now)
    draining = .done
  }

  /// The bytes that a host can read now; nil if there are none.
  package mutating func nextTransmit() -> [UInt8]? {
    guard isPresent else {
      discardOutput(now: clock)
      return nil
    }
    if isDirect { return nextDeparture() }
    drainDevice()
    return wire.nextArrival(.toHost, now: clock)
  }

  /// Whether the port is there. While it is not, bytes are lost in both directions, and a front
  /// removes the port.
  package var isPresent: Bool { plug == .present }

  /// When `handleTimeout` is needed next.
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

  /// Whether the line holds so many bytes of the host that it should stop writing.
  package var isFull: Bool {
    wire.queuedBytes(.toDevice) + (faults?.queuedBytes(.toDevice) ?? 0) >= Self.receiveBufferBytes
  }

  /// Whether bytes pass the line at the moment they are sent.
  private var isDirect: Bool { wire.model == .direct }

  private mutating func advance() {
    if faults != nil { drainFaults() }
    while let bytes = wire.nextArrival(.toDevice, now: clock) { deliver(bytes) }
    followDevice()
    drainDevice()
  }

  /// Sends as much as the line has room for.
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

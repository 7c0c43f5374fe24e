package import Conformance
package import DeviceEmulator
package import NotibotProtocol

/// A device in this process on a virtual clock, a new one for each case.
package final class EmulatorRig: Rig {
  /// How a case reaches the device.
  package enum Bearer: Sendable {
    case line
    /// Connections as over BLE.
    case connections
  }

  package let name = "emulator"
  package let offers: Set<Need>
  package let server: AttributeServer
  private let profile: DeviceProfile
  private let bearer: Bearer
  private let clockStart: Instant
  private let wrapLine: (any Line) -> any Line

  /// - Parameters:
  ///   - profile: the profile of the device. One in firmware mode gets no cases that need a strict
  ///     one; a strict one changes its mode for the cases that need that.
  ///   - clockStart: the start of a bench's clock, if its case does not set it.
  ///   - wrapLine: an adapter between the case and the device, such as one with faults.
  package init(
    profile: DeviceProfile = .standard, bearer: Bearer = .line, clockStart: Instant = .zero,
    wrapLine: @escaping (any Line) -> any Line = { $0 }
  ) {
    self.profile = profile
    self.bearer = bearer
    self.clockStart = clockStart
    self.wrapLine = wrapLine
    server = bearer == .connections && profile.stack != nil ? .stack : .own
    let offers: Set<Need> = [
      .control, .virtualTime, .firmwareMode, bearer == .line ? .session : .connection,
    ]
    self.offers = profile.mode == .strict ? offers.union([.strict]) : offers
  }

  package func makeBench(for testCase: Case, seed: UInt64) -> Bench {
    var profile = profile
    if testCase.needs.contains(.firmwareMode) { profile.mode = .firmware }
    let clockStart = testCase.clockStart(otherwise: clockStart)
    let wired = WiredDevice(profile: profile, seed: seed, now: clockStart)
    let device = VirtualDevice(wired: wired, bearer: bearer)
    let line = VirtualLine(peer: device, now: clockStart)
    let bench = Bench(
      line: wrapLine(line), control: VirtualControl(line: line),
      clock: profile.wire == .direct ? .exact : .virtual, seed: seed)
    bench.probe.handles = HandleMap(first: profile.firstHandle)
    guard bearer == .connections else { return bench }
    bench.record.hasRecords = true
    bench.probe.handles = HandleMap(first: profile.stack?.firstHandle ?? profile.firstHandle)
    bench.probe.bearer = .connection(
      ProbeConnection(serverMTU: Int(profile.limits.mtu)) {
        line.discardUnread()
        line.withPeer { $0.connect(now: line.now) }
      })
    return bench
  }

  package func finish(_ bench: Bench) {}

  package func close() {}
}

/// The emulator's device at the far end of a virtual line.
package struct VirtualDevice: VirtualPeer {
  package var wired: WiredDevice
  private let bearer: EmulatorRig.Bearer
  /// The connection of now, if its bearer is one.
  private var connection: BearerID?

  package init(wired: WiredDevice, bearer: EmulatorRig.Bearer = .line) {
    (self.wired, self.bearer) = (wired, bearer)
  }

  /// Ends the connection, if there is one, and makes another.
  package mutating func connect(now: Instant) {
    if let connection { wired.disconnect(connection, now: now) }
    connection = wired.connect(now: now)
  }

  package mutating func receive(_ bytes: [UInt8], now: Instant) {
    switch bearer {
    case .line: wired.receive(bytes, now: now)
    case .connections: if let connection { wired.receive(bytes, on: connection, now: now) }
    }
  }

  package mutating func handleTimeout(now: Instant) { wired.handleTimeout(now: now) }

  package mutating func nextBytes(now: Instant) -> [UInt8]? {
    guard bearer == .connections else { return wired.nextTransmit() }
    wired.discardOutput(now: now)
    guard let connection, case .transmit(let bytes)? = wired.nextAction(for: connection) else { return nil }
    return bytes
  }

  package var nextDeadline: Instant? { wired.nextDeadline }
}

/// The control channel of a virtual line: direct calls of the device.
final class VirtualControl: DeviceControl {
  private let line: VirtualLine<VirtualDevice>

  init(line: VirtualLine<VirtualDevice>) {
    self.line = line
  }

  func attempt(_ command: DeviceCommand) throws -> String? {
    guard command != .unplug, command != .plug else {
      throw CaseEnd.skip("a line in the same process has no plug")
    }
    let reply = line.withPeer { $0.wired.perform(command, now: line.now) }
    if case .refused(let reason) = reply { return reason }
    return nil
  }

  func receiverCounters() throws -> DecoderCounters {
    DecoderCounters(line.peer.wired.device.statistics)
  }
}

extension DecoderCounters {
  /// The counters of the emulator.
  init(_ statistics: DeviceStatistics) {
    self.init(
      frames: statistics.framesReceived, crcErrors: statistics.crcErrors,
      malformed: statistics.malformedCandidates, textBytes: statistics.textBytesReceived,
      echoes: statistics.echoes, overruns: statistics.overruns)
  }
}

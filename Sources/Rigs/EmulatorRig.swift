package import Conformance
package import DeviceEmulator
package import NotibotProtocol

/// A device in this process on a virtual clock, a new one for each case.
package final class EmulatorRig: Rig {
  package let name = "emulator"
  package let offers: Set<Need>
  private let profile: DeviceProfile
  private let clockStart: Instant
  private let wrapLine: (any Line) -> any Line
  private let wrapHostLine: (any Line) -> any Line
  private let hostFlaw: HostFlaw?

  /// - Parameters:
  ///   - profile: the profile of the device. One in firmware mode gets no cases that need a strict
  ///     one; a strict one changes its mode for the cases that need that.
  ///   - clockStart: the start of a bench's clock, if its case does not set it.
  ///   - wrapLine: an adapter between the case and the device, such as one with faults.
  ///   - wrapHostLine: the same between the case and the host machine, if that is tested.
  ///   - hostFlaw: the fault of a host under test that has an outbox.
  package init(
    profile: DeviceProfile = .standard, clockStart: Instant = .zero,
    wrapLine: @escaping (any Line) -> any Line = { $0 },
    wrapHostLine: @escaping (any Line) -> any Line = { $0 }, hostFlaw: HostFlaw? = nil
  ) {
    self.profile = profile
    self.clockStart = clockStart
    self.wrapLine = wrapLine
    self.wrapHostLine = wrapHostLine
    self.hostFlaw = hostFlaw
    let offers: Set<Need> = [.control, .virtualTime, .firmwareMode, .host, .session]
    self.offers = profile.mode == .strict ? offers.union([.strict]) : offers
  }

  package func makeBench(for testCase: Case, seed: UInt64) -> Bench {
    var profile = profile
    if testCase.needs.contains(.firmwareMode) { profile.mode = .firmware }
    let clockStart = testCase.clockStart(otherwise: clockStart)
    let device = VirtualDevice(wired: WiredDevice(profile: profile, seed: seed, now: clockStart))
    let line = VirtualLine(peer: device, now: clockStart)
    let bench = Bench(
      line: wrapLine(line), control: VirtualControl(line: line),
      clock: profile.wire == .direct ? .exact : .virtual, seed: seed)
    bench.wrapHostLine = wrapHostLine
    bench.hostFlaw = hostFlaw
    return bench
  }

  package func finish(_ bench: Bench) {}

  package func close() {}
}

/// The emulator's device at the far end of a virtual line.
package struct VirtualDevice: VirtualPeer {
  package var wired: WiredDevice

  package mutating func receive(_ bytes: [UInt8], now: Instant) { wired.receive(bytes, now: now) }

  package mutating func handleTimeout(now: Instant) { wired.handleTimeout(now: now) }

  package mutating func nextBytes(now: Instant) -> [UInt8]? {
    guard let bytes = wired.nextTransmit() else { return nil }
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
      throw CaseSkipped("a line in the same process has no plug")
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

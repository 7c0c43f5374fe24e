import NotibotProtocol

/// What one case works on: a probe on the line, the way round the line if there is one, and the record of what
/// happened. A bench belongs to one case and one task.
package final class Bench {
  /// The case's end of the line, speaking as a host.
  package let probe: Probe
  /// The way to the device that is not the line; nil on a rig without one.
  package let control: (any DeviceControl)?
  package let clock: BenchClock
  /// Same seed, same nonces and same noise.
  package let seed: UInt64
  package let record: Record
  /// Closes the port and opens it again, or opens it after it was lost; nil where there is no port.
  package var reopenPort: (() async throws -> Void)?
  /// What to put between a case and the host machine under test.
  package var wrapHostLine: (any Line) -> any Line = { $0 }
  /// What is wrong with a host under test that has an outbox.
  package var hostFlaw: HostFlaw?

  package init(
    line: any Line, control: (any DeviceControl)?, clock: BenchClock, seed: UInt64
  ) {
    record = Record()
    probe = Probe(line: line, role: .host, record: record, seed: seed)
    if clock == .real { probe.settleTime = Lateness.limit }
    self.control = control
    self.clock = clock
    self.seed = seed
  }

  /// Whether waiting costs nothing.
  package var hasVirtualTime: Bool { clock != .real }

  /// Whether bytes take no time, so that what a timer does can be read off to the microsecond.
  package var hasExactTime: Bool { clock == .exact }

  /// Skips the case where bytes take time.
  package func requireExactTime() throws {
    guard hasExactTime else { throw CaseSkipped("the line takes time, which moves what the case looks at") }
  }

  /// The control channel; the runner has seen to it that a case which needs one gets one.
  package func requireControl() throws -> any DeviceControl {
    guard let control else { throw CaseSkipped("the rig has no control channel") }
    return control
  }

  /// Closes the port and opens it again; the device runs on.
  package func reopen() async throws {
    guard let reopenPort else { throw CaseSkipped("there is no port to open again") }
    try await reopenPort()
    probe.discardReceived()
  }

  /// Restarts the device and waits until it runs again.
  package func restart(file: String = #fileID, line: Int = #line) async throws {
    switch probe.bearer {
    case .session: _ = try await restartSession(file: file, line: line)
    case .connection:
      try await requireControl().perform(.reboot)
      // The connection waits for the boot.
      try await probe.open(file: file, line: line)
      _ = try await probe.readCount(file: file, line: line)
    }
  }

  /// Restarts the device and returns its first HELLO. A session that is opened before ends the HELLOs of an
  /// earlier start, so that they are not taken for this one's.
  package func restartSession(file: String = #fileID, line: Int = #line) async throws -> WireFrame {
    let control = try requireControl()
    try await probe.open(file: file, line: line)
    let before = probe.session.bootID
    try await control.perform(.reboot)
    return try await probe.awaitFrame("HELLO with another boot id", file: file, line: line) {
      $0.kind == .hello && TLV.parse($0.payload)?.number(of: 0x0A) != before
    }
  }
}

/// What a bench's clock is worth.
package enum BenchClock: Sendable {
  /// Real time, on a machine that may be busy.
  case real
  /// Virtual time, on a line that takes some.
  case virtual
  /// Virtual time, on a line that takes none.
  case exact
}

/// A way to the device that is not the line under test.
package protocol DeviceControl: AnyObject {
  /// Makes the device do something; returns when it has been done.
  ///
  /// - Throws: `RigTrouble` when the device cannot be reached or does not know the command.
  func perform(_ command: ControlCommand) async throws

  /// What the device's receiver has counted since some moment in the past.
  ///
  /// - Throws: `CaseSkipped` when this way does not report it; `RigTrouble` as `perform`.
  func receiverCounters() async throws -> ReceiverCounters
}

extension DeviceControl {
  package func receiverCounters() async throws -> ReceiverCounters {
    throw CaseSkipped("the control channel does not report the receiver's counters")
  }
}

/// The counters of a receiver. Source: PROTOCOL.md FRM-12.
package struct ReceiverCounters: Equatable, Sendable, CustomStringConvertible {
  package var frames: UInt64 = 0
  package var crcErrors: UInt64 = 0
  package var malformed: UInt64 = 0
  package var textBytes: UInt64 = 0
  package var echoes: UInt64 = 0
  package var overruns: UInt64 = 0

  package init(
    frames: UInt64 = 0, crcErrors: UInt64 = 0, malformed: UInt64 = 0, textBytes: UInt64 = 0,
    echoes: UInt64 = 0,
    overruns: UInt64 = 0
  ) {
    (self.frames, self.crcErrors, self.malformed) = (frames, crcErrors, malformed)
    (self.textBytes, self.echoes, self.overruns) = (textBytes, echoes, overruns)
  }

  package static func - (later: Self, earlier: Self) -> Self {
    // Wrap-around: a counter may have gone back to 0.
    Self(
      frames: later.frames &- earlier.frames, crcErrors: later.crcErrors &- earlier.crcErrors,
      malformed: later.malformed &- earlier.malformed, textBytes: later.textBytes &- earlier.textBytes,
      echoes: later.echoes &- earlier.echoes, overruns: later.overruns &- earlier.overruns)
  }

  package var description: String {
    let named = [
      ("frames", frames), ("CRC errors", crcErrors), ("malformed", malformed), ("text bytes", textBytes),
      ("echoes", echoes), ("overruns", overruns),
    ]
    let counted = named.filter { $0.1 != 0 }.map { "\($0.0) \($0.1)" }
    return counted.isEmpty ? "nothing" : counted.joined(separator: ", ")
  }
}

/// What a case can make happen to a device.
package enum ControlCommand: Equatable, Sendable {
  /// Starts anew, with another boot id and an empty store.
  case reboot
  /// The user dismisses a notification, named by its item number (NTF-11).
  case dismiss(UInt32)
  /// The user chooses an action of a notification.
  case action(UInt32, UInt8)
  /// Console text, with a line end behind it.
  case log(String)
  /// Other writers have so many notifications in the store, instead of as many as before.
  case fill(Int)
  /// Every notification is dismissed at once, and only the count tells.
  case clear
  /// The application stops taking what the link hands it, and takes it up again.
  case stall
  case resume
  /// The device closes its open session (LNK-24).
  case close
  case strictMode
  case firmwareMode
  /// The plug is pulled: the port goes, the device runs on. And put in again.
  case unplug
  case plug
}

package import DeviceEmulator
package import NotibotProtocol
package import SuiteWire

/// The workplace of one case: a probe on the line, the control channel if there is one, and the
/// record of what happened. A bench belongs to one case and one task.
package final class Bench {
  /// The case's end of the line, acting as a host.
  package let probe: Probe
  /// The path to the device other than the line; nil on a rig without one.
  package let control: (any DeviceControl)?
  package let clock: BenchClock
  /// The same seed gives the same nonces and the same noise.
  package let seed: UInt64
  package let record: Record
  /// Closes the port and opens it again, or opens it after it was lost; nil if there is no port.
  package var reopenPort: (() async throws -> Void)?
  /// What the rig has in addition to a device on the line; its cases know the type.
  package var equipment: AnyObject?
  /// Whether the case may wait for many seconds, many times: in virtual time, or with `--slow`.
  package var waitsLong = false

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

  /// Whether bytes take no time, so that the effect of a timer can be measured to the microsecond.
  package var hasExactTime: Bool { clock == .exact }

  /// Skips the case if bytes take time.
  package func requireExactTime() throws {
    guard hasExactTime else {
      throw CaseEnd.skip("the line takes time, which shifts the times that the case measures")
    }
  }

  /// The control channel; the runner makes sure that a case which needs one gets one.
  package func requireControl() throws -> any DeviceControl {
    guard let control else { throw CaseEnd.skip("the rig has no control channel") }
    return control
  }

  /// Closes the port and opens it again; the device keeps running.
  package func reopen() async throws {
    guard let reopenPort else { throw CaseEnd.skip("there is no port to open again") }
    try await reopenPort()
    probe.discardReceived()
  }

  /// Restarts the device and waits until it runs again.
  package func restart(
    _ reason: ResetReason = .software, file: String = #fileID, line: Int = #line
  ) async throws {
    switch probe.bearer {
    case .session: _ = try await restarted(reason, file: file, line: line)
    case .connection:
      try await requireControl().perform(.reboot(reason))
      // The connection waits for the boot.
      try await probe.open(file: file, line: line)
      _ = try await probe.readCount(file: file, line: line)
    }
  }

  /// Restarts the device and returns its first HELLO. A session that is opened before ends the
  /// HELLOs of an earlier start, so that they are not mistaken for those of this one.
  ///
  /// - Throws: `CaseEnd.skip` if the port goes away with the device, and its HELLO with it.
  package func restartSession(file: String = #fileID, line: Int = #line) async throws -> WireFrame {
    guard let hello = try await restarted(.software, file: file, line: line) else {
      throw CaseEnd.skip("the port goes away when the device restarts, and its HELLO with it")
    }
    return hello
  }

  /// Restarts the device; its first HELLO, or nil if its port went away and had to be opened again.
  private func restarted(_ reason: ResetReason, file: String, line: Int) async throws -> WireFrame? {
    let control = try requireControl()
    try await probe.open(file: file, line: line)
    let before = probe.session.bootID
    try await control.perform(.reboot(reason))
    do {
      return try await probe.awaitFrame("HELLO with another boot id", file: file, line: line) {
        $0.kind == .hello && TLV.parse($0.payload)?.number(of: 0x0A) != before
      }
    } catch let error as RigTrouble {
      // A chip that is its own USB device takes its port away when it restarts.
      guard reopenPort != nil else { throw error }
      try await reopen()
      try await probe.open(file: file, line: line)
      probe.expect(
        probe.session.bootID != before, "the boot id is the one before the restart", file: file, line: line)
      return nil
    }
  }
}

/// The properties of a bench's clock.
package enum BenchClock: Sendable {
  /// Real time, on a computer that can be busy.
  case real
  /// Virtual time, on a line with a transmission time.
  case virtual
  /// Virtual time, on a line without a transmission time.
  case exact
}

/// A path to the device other than the line under test.
package protocol DeviceControl: AnyObject {
  /// Performs an action on the device; returns when it is done or refused.
  ///
  /// - Returns: why the device refuses it in its state; nil when it is done.
  /// - Throws: `RigTrouble` if the device cannot be reached or does not know the command; a finding
  ///   if it can be reached and does not answer.
  func attempt(_ command: DeviceCommand) async throws -> String?

  /// The counters of the device's receiver since an arbitrary time in the past.
  ///
  /// - Throws: `CaseEnd.skip` if this path does not report them; otherwise as `attempt`.
  func receiverCounters() async throws -> DecoderCounters
}

extension DeviceControl {
  /// Undoes what an earlier case can have left, and sets the mode that a case needs.
  package func prepare(for testCase: Case) async throws {
    try await perform(.resume)
    try await perform(testCase.needs.contains(.firmwareMode) ? .mode(.firmware) : .mode(.strict))
    try await perform(.fill(0))
    try await perform(.clear)
  }

  /// Performs an action that a device in the expected state does not refuse.
  ///
  /// - Throws: a finding if it does: what it did not keep or do is its failure, not the rig's;
  ///   otherwise as `attempt`.
  package func perform(
    _ command: DeviceCommand, file: String = #fileID, line: Int = #line
  ) async throws {
    guard let reason = try await attempt(command) else { return }
    let failure = command.item.map { "did not keep item \($0)" } ?? "refuses \(command)"
    throw CaseEnd.fault("the device \(failure): \(reason)", file: file, line: line)
  }

  package func receiverCounters() async throws -> DecoderCounters {
    throw CaseEnd.skip("the control channel does not report the receiver's counters")
  }
}

extension DecoderCounters: CustomStringConvertible {
  /// The change from `earlier` to `later`.
  package static func - (later: Self, earlier: Self) -> Self {
    // Wrap-around: a counter can have returned to 0.
    Self(
      frames: later.frames &- earlier.frames, crcErrors: later.crcErrors &- earlier.crcErrors,
      malformed: later.malformed &- earlier.malformed, textBytes: later.textBytes &- earlier.textBytes,
      echoes: later.echoes &- earlier.echoes, overruns: later.overruns &- earlier.overruns)
  }

  /// Those that are not 0.
  package var description: String {
    let named = [
      ("frames", frames), ("CRC errors", crcErrors), ("malformed", malformed), ("text bytes", textBytes),
      ("echoes", echoes), ("overruns", overruns),
    ]
    let counted = named.filter { $0.1 != 0 }.map { "\($0.0) \($0.1)" }
    return counted.isEmpty ? "nothing" : counted.joined(separator: ", ")
  }
}

import Conformance
import HostSuite
import DeviceEmulator
import NotibotProtocol

@testable import Rigs

/// The emulator on a virtual clock that is declared as a rig in real time: its cases have the
/// tolerances of a port, and the reader of its line is late by a given time.
final class LateRig: Rig {
  let name = "late"
  let offers: Set<Need> = [.control, .strict, .session]
  private let lateness: [Duration]
  private let mutant: Mutant?
  private let faults: FaultSpec
  private(set) var runs = 0

  /// - Parameters:
  ///   - lateness: of the reader, run by run; the last one applies to all others.
  ///   - mutant: the fault of the device.
  ///   - faults: those of the line.
  init(lateness: [Duration] = [.zero], mutant: Mutant? = nil, faults: FaultSpec = .off) {
    (self.lateness, self.mutant, self.faults) = (lateness, mutant, faults)
  }

  func makeBench(for testCase: Case, seed: UInt64) -> Bench {
    let device = VirtualDevice(wired: WiredDevice(profile: .standard, seed: seed, now: .zero))
    let line = VirtualLine(peer: device, now: .zero)
    _ = line.withPeer { $0.wired.perform(.faults(faults), now: .zero) }
    let late = LateLine(line, by: lateness[min(runs, lateness.count - 1)])
    runs += 1
    let changed =
      mutant.map { MutantLine(late, sent: $0.sent(), received: $0.received()) as any Line } ?? late
    return Bench(line: changed, control: VirtualControl(line: line), clock: .real, seed: seed)
  }

  func finish(_ bench: Bench) {}

  func close() {}
}

/// A line whose reader gets bytes too late: meanwhile the peer's timers have run.
final class LateLine: Line {
  private let line: any Line
  private let lateness: Duration

  init(_ line: any Line, by lateness: Duration) {
    self.line = line
    self.lateness = lateness
  }

  var now: Instant { line.now }

  func write(_ bytes: [UInt8]) async throws { try await line.write(bytes) }

  func read(until deadline: Instant) async throws -> [UInt8] {
    var bytes = try await line.read(until: deadline)
    guard !bytes.isEmpty else { return bytes }
    let end = now + lateness
    while now < end { bytes += try await line.read(until: end) }
    return bytes
  }

  func drainLateness() -> Duration { lateness }
}

/// A gauge that reports given values, window by window.
actor ScriptedGauge: LatenessGauge {
  private let lateness: [Lateness]
  private(set) var windows = 0
  private(set) var waits = 0

  /// - Parameter lateness: of each window; the last one applies to all others.
  init(_ lateness: [Lateness] = [Lateness()]) {
    self.lateness = lateness
  }

  func beginWindow() {}

  func endWindow() -> Lateness {
    defer { windows += 1 }
    return lateness[min(windows, lateness.count - 1)]
  }

  func awaitCalm() -> Bool {
    waits += 1
    return true
  }
}

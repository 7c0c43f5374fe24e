import HostSuite
import DeviceEmulator
import NotibotProtocol
import Testing

@testable import Conformance
@testable import Rigs
import SuiteWire

/// The conclusions about the peer from PINGs after a failed case.
@Suite struct EchoTests {
  private func lateness(
    _ delay: @escaping (Int) -> Duration, sent: @escaping MutantLine.Change = { $0 }
  ) async -> Duration {
    let device = VirtualDevice(wired: WiredDevice(profile: .quiet, seed: 1, now: .zero))
    let line = UnevenLine(VirtualLine(peer: device, now: .zero), delay: delay)
    let bench = Bench(
      line: MutantLine(line, sent: sent, received: { $0 }), control: nil, clock: .real, seed: 1)
    return await Echo.lateness(of: bench)
  }

  @Test func `a peer with a constant delay is not late, however long it takes`() async {
    #expect(await lateness { _ in .zero } == .zero)
    #expect(await lateness { _ in .milliseconds(120) } == .zero)
  }

  @Test func `a peer with a single long delay is late by the difference`() async {
    #expect(await lateness { $0 == 3 ? .milliseconds(80) : .milliseconds(1) } == .milliseconds(79))
  }

  @Test func `a bridge that collects bytes is not late`() async {
    #expect(await lateness { $0 % 2 == 0 ? .milliseconds(16) : .zero } == .zero)
  }

  @Test func `a device that does not answer gives no information about its lateness`() async {
    #expect(await lateness({ _ in .zero }, sent: { _ in [] }) == .zero)
    #expect(
      await lateness({ _ in .zero }, sent: FrameFilter.frames { $0.kind == .ping ? [] : [$0] }) == .zero)
  }
}

/// A line whose reads with bytes are late, each by its own time.
private final class UnevenLine: Line {
  private let line: any Line
  private let delay: (Int) -> Duration
  private var reads = 0

  init(_ line: any Line, delay: @escaping (Int) -> Duration) {
    self.line = line
    self.delay = delay
  }

  var now: Instant { line.now }

  func write(_ bytes: [UInt8]) async throws { try await line.write(bytes) }

  func read(until deadline: Instant) async throws -> [UInt8] {
    var bytes = try await line.read(until: deadline)
    guard !bytes.isEmpty else { return bytes }
    let end = now + delay(reads)
    reads += 1
    while now < end { bytes += try await line.read(until: end) }
    return bytes
  }
}

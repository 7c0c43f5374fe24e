package import Conformance
import NotibotProtocol
import SuiteWire

/// A board on a desk, in virtual time: one device in this process for all cases, which only its
/// line reaches. The next case finds whatever a case leaves there.
package final class PlainBoardRig<Peer: VirtualPeer>: Rig {
  package let name = "board"
  package let offers: Set<Need>
  private let line: VirtualLine<Peer>
  private var identities: SeededGenerator

  /// - Parameters:
  ///   - device: freshly powered on.
  ///   - seed: decides nonces and sources; those of a run are also new in the next one.
  ///   - isStrict: whether the device refuses invalid values.
  ///   - prepare: the earlier actions of other writers on the device.
  package init(
    _ device: Peer, seed: UInt64, isStrict: Bool, prepare: (Probe) async throws -> Void = { _ in }
  ) async throws {
    line = VirtualLine(peer: device, now: .zero)
    identities = SeededGenerator(seed: seed)
    offers = [.virtualTime, .session, isStrict ? .strict : .firmwareMode]
    let probe = Probe(line: line, role: .host, record: Record(), seed: seed)
    try await prepare(probe)
    try await probe.pushOutOtherWriters()
  }

  package func makeBench(for testCase: Case, seed: UInt64) throws -> Bench {
    while try !line.read(until: line.now + .milliseconds(2)).isEmpty {}
    let bench = Bench(line: line, control: nil, clock: .exact, seed: seed)
    bench.probe.identities = SeededGenerator(seed: identities.next())
    bench.probe.footprint = Footprint()
    return bench
  }

  package func finish(_ bench: Bench) async { await bench.tidyUp() }

  package func close() {}
}

import NotibotProtocol

/// A board on a desk, in virtual time: one device in this process for all cases, which only its line reaches. What a case
/// leaves there the next one finds.
package final class PlainBoardRig<Peer: VirtualPeer>: Rig {
  package let name = "board"
  package let offers: Set<Need>
  private let line: VirtualLine<Peer>
  private var identities: SeededGenerator

  /// - Parameters:
  ///   - device: just switched on.
  ///   - seed: decides nonces and sources; those of a run are new in the next one as well.
  ///   - isStrict: whether the device refuses what it does not take.
  ///   - prepare: what other writers have done to the device before.
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

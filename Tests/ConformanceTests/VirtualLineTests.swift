import Conformance
import NotibotProtocol
import Testing

/// A peer in the same process that never comes to rest: the fault is its own, and no wait hangs.
@Suite struct VirtualLineTests {
  private struct Restless: VirtualPeer {
    var sendsForever = false

    func receive(_ bytes: [UInt8], now: Instant) {}
    func handleTimeout(now: Instant) {}
    func nextBytes(now: Instant) -> [UInt8]? {
      sendsForever ? [UInt8](repeating: 1, count: 1 << 16) : nil
    }
    var nextDeadline: Instant? { sendsForever ? nil : .zero }
  }

  @Test(arguments: [false, true])
  func `a peer that never rests is found`(sendsForever: Bool) {
    let line = VirtualLine(peer: Restless(sendsForever: sendsForever), now: .zero)
    #expect(throws: CaseEnd.self) { try line.read(until: .zero + .seconds(1)) }
  }
}

import GatewayRules
import Testing

@Suite struct OutboxBondTests {
  private func isKept(_ source: UInt32, _ run: UInt32, hasBegun: Bool = true) -> Bool {
    OutboxBond(sources: [7, 8], run: 5, hasBegun: hasBegun).isKept(source: source, run: run)
  }

  @Test func `the outbox of the last run is kept, also under the source that it was about to take`() {
    #expect(isKept(7, 5))
    #expect(isKept(8, 5))
  }

  @Test func `another outbox, an older copy and one that another program has used are not`() {
    #expect(!isKept(9, 5))
    for run in [0, 1, 4, 6, 7] as [UInt32] { #expect(!isKept(7, run)) }
  }

  @Test func `after a crash before the run began its number is the one before`() {
    #expect(isKept(7, 4, hasBegun: false))
    #expect(isKept(7, 5, hasBegun: false))
    for run in [3, 6] as [UInt32] { #expect(!isKept(7, run, hasBegun: false)) }
  }
}

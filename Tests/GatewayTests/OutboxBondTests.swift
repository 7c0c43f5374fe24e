import GatewayRules
import Testing

@Suite struct OutboxBondTests {
  private func isKept(_ source: UInt32, _ token: UInt32) -> Bool {
    OutboxBond(sources: [7, 8], tokens: [50, 60]).isKept(source: source, token: token)
  }

  @Test func `the outbox of the last run is kept, also under the source that it was about to take`() {
    #expect(isKept(7, 60))
    #expect(isKept(8, 60))
  }

  @Test func `another outbox, and one that another program has used, are not`() {
    #expect(!isKept(9, 60))
    for token in [0, 51, 61, 7] as [UInt32] { #expect(!isKept(7, token)) }
  }

  @Test func `after a crash before the run began its token is the one before`() {
    #expect(isKept(7, 50))
    #expect(isKept(8, 50))
  }
}

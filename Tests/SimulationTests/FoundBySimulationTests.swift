import Conformance
import Testing

/// Seeds that failed once, and what they showed.
struct FoundBySimulationTests {
  private func expectPeace(_ seed: UInt64, _ profile: String, _ variant: Scenario.Variant) {
    let outcome = Simulation.run(seed: seed)
    #expect(outcome.profile == profile && outcome.variant == variant, "the seed draws another run now")
    #expect(outcome.violation == nil, "\(String(describing: outcome.violation))")
  }

  @Test func `a write of an old session is not sent in the next one before SYNC`() {
    expectPeace(13, "reset-on-open", .single)
  }

  @Test func `a session that ends while the program stops is not opened again`() {
    expectPeace(406, "wide", .lostJournal)
  }

  @Test func `a report of a dismissal that dies with the host is not made again`() {
    expectPeace(2, "ftdi", .twoHosts)
  }

  @Test func `a copy of a journal goes on when the other copy has used its numbers`() {
    expectPeace(246, "slow-flash", .copiedJournal)
  }
}

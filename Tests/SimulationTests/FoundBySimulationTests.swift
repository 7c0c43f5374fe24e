import DeviceEmulator
import Simulation
import Testing

/// Seeds that failed once, as regressions.
struct FoundBySimulationTests {
  private func expectPeace(_ seed: UInt64, _ profile: String, _ variant: Scenario.Variant) {
    let outcome = Simulation.run(seed: seed)
    #expect(outcome.profile == profile && outcome.variant == variant, "the seed draws another run now")
    #expect(outcome.violation == nil, "\(String(describing: outcome.violation))")
  }

  @Test func `a write of an old session is not sent in the next one before SYNC`() {
    expectPeace(13, "reset-on-open", .single)
  }

  @Test func `a session that ends during the stop is not opened again`() {
    expectPeace(406, "wide", .lostJournal)
  }

  @Test func `a report of a dismissal that is lost with the host is not repeated`() {
    expectPeace(2, "ftdi", .twoHosts)
  }

  @Test(arguments: [(1570, "default"), (5412, "slow-flash"), (6539, "ftdi")] as [(UInt64, String)])
  func `a higher rev of one copy does not hide the other's notification`(
    seed: UInt64, profile: String
  ) {
    expectPeace(seed, profile, .copiedJournal)
  }

  @Test func `a restored journal and its device reach agreement on a slow line`() {
    expectPeace(4719, "mtu23", .restoredJournal)
  }

  @Test
  func `a notification without room in a small store after a restart is reported once, even over a crash`() {
    let outcome = Simulation.run(seed: 901, profile: .tiny)
    #expect(outcome.violation == nil, "\(String(describing: outcome.violation))")
  }

  @Test func `a copy of a journal continues when the other copy has used its numbers`() {
    expectPeace(246, "slow-flash", .copiedJournal)
  }
}

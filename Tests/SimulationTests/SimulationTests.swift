import DeviceEmulator
import Simulation
import Testing

/// Host, wire, device and disk in virtual time, with all kinds of faults.
struct SimulationTests {
  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `nothing is lost or duplicated, whatever fails`(seed: UInt64) {
    let outcome = Simulation.run(seed: seed)
    #expect(outcome.violation == nil, "seed \(seed), \(outcome.profile), \(outcome.variant.rawValue)")
    #expect(outcome.counts.notifications >= 10)
  }

  @Test(arguments: Scenario.profiles.map(\.name))
  func `every kind of device settles`(name: String) throws {
    let profile = try #require(Scenario.profiles.first { $0.name == name })
    for seed in 900...902 as ClosedRange<UInt64> {
      let outcome = Simulation.run(seed: seed, profile: profile)
      #expect(outcome.violation == nil, "seed \(seed), \(name), \(outcome.variant.rawValue)")
    }
  }

  @Test(arguments: Scenario.Variant.allCases)
  func `lost, restored or copied journals lose no new notification`(variant: Scenario.Variant) {
    for seed in 950...954 as ClosedRange<UInt64> {
      let outcome = Simulation.run(seed: seed, profile: .standard, variant: variant)
      #expect(outcome.violation == nil, "seed \(seed), \(variant.rawValue)")
    }
  }

  @Test(arguments: [3, 17, 29] as [UInt64])
  func `one seed is one run, line by line`(seed: UInt64) {
    let first = Simulation.run(seed: seed, isTraced: true)
    #expect(first.trace.count > 100)
    #expect(Simulation.run(seed: seed, isTraced: true) == first)
    #expect(Simulation.run(seed: seed + 1, isTraced: true).trace != first.trace)
  }

  @Test func `the summary does not depend on the number of jobs`() async {
    let selection = Simulation.Selection(seeds: 200...215)
    let alone = await Simulation.run(selection, jobs: 1)
    let together = await Simulation.run(selection, jobs: 4)
    #expect(alone == together)
    #expect(alone.counts.runs == 16)
  }

  @Test func `on a line without faults a delivery is reported at once`() {
    var scenario = Scenario(seed: 1, profile: .standard, variant: .single)
    scenario.faults = .off
    // Nothing expires.
    scenario.hasClock = false
    scenario.steps = scenario.steps.filter { step in
      if case .add = step.event { true } else { false }
    }
    let outcome = Simulation.run(scenario)
    #expect(outcome.violation == nil)
    #expect(outcome.counts.delivered == outcome.counts.notifications)
    #expect(outcome.counts.slowestReport < .milliseconds(300), "\(outcome.counts.slowestReport)")
  }

  @Test func `a run has faults: reboots, unplugs, kills and power losses`() async {
    let counts = await Simulation.run(Simulation.Selection(seeds: 300...319), jobs: 2).counts
    #expect(counts.reboots > 10 && counts.unplugs > 10 && counts.kills > 10 && counts.powerLosses > 10)
    #expect(counts.resends > 20)
    #expect(counts.repeated > 100 && counts.duplicates > 50 && counts.duplicates < counts.repeated)
    #expect(counts.expired > 5)
    #expect(counts.delivered > 200 && counts.sessions > 40 && counts.presses > 20)
  }
}

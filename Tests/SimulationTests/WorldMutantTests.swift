import DeviceEmulator
import Simulation
import Testing

/// The checkers detect faults: injected in the world around the machines, because the machines are
/// correct.
struct WorldMutantTests {
  /// The rules that a mutant breaks first in the runs of some seeds.
  private func broken(by mutant: WorldMutant) -> Set<Violation.Rule> {
    var rules: Set<Violation.Rule> = []
    for seed in 1...12 as ClosedRange<UInt64> {
      let outcome = Simulation.run(seed: seed, profile: .standard, variant: .single, mutant: mutant)
      if let violation = outcome.violation { rules.insert(violation.rule) }
    }
    return rules
  }

  @Test(arguments: WorldMutant.allCases)
  func `no mutant survives`(mutant: WorldMutant) {
    #expect(!broken(by: mutant).isEmpty)
  }

  @Test func `a changed character on the display is detected`() {
    #expect(broken(by: .changedLetter) == [.shownBytes])
  }

  @Test func `a notification that is stored twice is detected`() {
    #expect(broken(by: .doublingDevice) == [.storedOnce])
  }

  @Test func `a dismissed notification that returns is detected`() {
    #expect(broken(by: .deviceWithoutMemory).contains(.staysAway))
  }

  @Test func `a port that never opens, and a host without a deadline for it, are detected`() {
    #expect(broken(by: .endlessOpenings) == [.neverStuck])
  }

  @Test func `a repeated report, and an early one, are detected`() {
    #expect(broken(by: .repeatedReports).isSubset(of: [.reportedOnce, .deliveredWasShown]))
    #expect(broken(by: .prematureDelivery) == [.deliveredWasShown])
  }
}

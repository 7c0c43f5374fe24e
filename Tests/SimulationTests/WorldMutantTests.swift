import Conformance
import DeviceEmulator
import Testing

/// The checkers notice when something is broken: in the world around the machines, for the machines are right.
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
  func `no mutant lives`(mutant: WorldMutant) {
    #expect(!broken(by: mutant).isEmpty)
  }

  @Test func `a letter that changes on the display is seen`() {
    #expect(broken(by: .changedLetter) == [.shownBytes])
  }

  @Test func `a notification that is stored twice is seen`() {
    #expect(broken(by: .doublingDevice) == [.storedOnce])
  }

  @Test func `a dismissed notification that comes back is seen`() {
    #expect(broken(by: .deviceWithoutMemory).contains(.staysAway))
  }

  @Test func `a report that comes twice, and one that comes too early, are heard`() {
    #expect(broken(by: .repeatedReports).isSubset(of: [.reportedOnce, .deliveredWasShown]))
    #expect(broken(by: .prematureDelivery) == [.deliveredWasShown])
  }
}

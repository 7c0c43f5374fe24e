import Simulation
import Testing

/// Journals with a bit flip while they are not in use; `notibot-dev simulate --rot` does many more
/// runs.
struct RotTests {
  @Test func `a flipped bit loses nothing silently, and an intact journal is never refused`() async {
    let summary = await RotSimulation.run(1...150, jobs: 2)
    #expect(summary.broken == [])
    #expect(summary.runs == 150)
    // The runs have an effect.
    #expect(summary.detectedInLog > 20 && summary.detectedInDatabase > 10 && summary.controls > 5)
    #expect(summary.salvagedEntries > summary.refusedEntries / 2)
  }

  @Test func `one seed is one run`() {
    #expect(RotSimulation.run(seed: 7) == RotSimulation.run(seed: 7))
  }
}

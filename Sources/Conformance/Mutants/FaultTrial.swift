/// Judges many devices that may be broken, one after the other, and stops at the first case that fails: of thousands of
/// mutants it only matters whether some case detects each.
///
/// Cases that detect much come first, cheap ones before costly ones: mutants that follow each other are often of one
/// function, so that what detected the last one is tried first on the next.
package struct FaultTrial {
  /// One suite to pass: a rig for each device, and the cases of it that pass on a sound one.
  private struct Stage {
    let name: String
    let makeRig: (String?) throws -> any Rig
    var cheap: [Case] = []
    var costly: [Case] = []
  }

  /// What became of one device.
  package struct Verdict: Equatable, Sendable {
    /// The case that failed; nil when the device passed all of them.
    package var failed: String?
    /// The stage of that case.
    package var stage: String?
    /// What the case found.
    package var detail: String?
    /// Cases that were run.
    package var runs: Int
  }

  /// Longer than this, and a case is costly: it is run behind the cheap ones, and in the first stage only.
  private static var cheapLimit: Duration { .milliseconds(15) }

  private let seed: UInt64
  private var stages: [Stage]

  /// - Parameters:
  ///   - stages: the name of each suite, and what makes its rig: from the name of a device, or of a sound one for nil.
  ///   - seed: decides nonces, noise and damage of every case.
  package init(
    stages: [(name: String, makeRig: (String?) throws -> any Rig)], seed: UInt64
  ) {
    self.stages = stages.map { Stage(name: $0.name, makeRig: $0.makeRig) }
    self.seed = seed
  }

  /// Cases that are run on a device that passes all.
  package var caseCount: Int { stages.reduce(0) { $0 + $1.cheap.count + $1.costly.count } }

  /// Runs all cases on sound devices, and keeps those that pass in the order of what they cost.
  ///
  /// - Returns: the cases that fail without a fault. They are left out.
  /// - Throws: `RigTrouble` when there is no sound device.
  package mutating func learn(_ cases: [Case]) async throws -> [CaseResult] {
    var wrong: [CaseResult] = []
    for index in stages.indices {
      let rig = try stages[index].makeRig(nil)
      var passed: [CaseResult] = []
      for result in await Runner(rig: rig, seed: seed).run(cases, onResult: { _ in }) {
        switch result.outcome {
        case .passed: passed.append(result)
        case .skipped: break
        case .failed, .errored: wrong.append(result)
        }
      }
      await rig.close()
      passed.sort { $0.duration < $1.duration }
      stages[index].cheap = passed.filter { $0.duration <= Self.cheapLimit }.map(\.testCase)
      guard index == stages.startIndex else { continue }
      stages[index].costly = passed.filter { $0.duration > Self.cheapLimit }.map(\.testCase)
    }
    return wrong
  }

  /// What was learned, and from what was judged: the ids of cheap and costly cases of each stage.
  package var order: [[[String]]] {
    get { stages.map { [$0.cheap.map(\.id), $0.costly.map(\.id)] } }
    set {
      let cases = Dictionary(uniqueKeysWithValues: Suite.all.map { ($0.id, $0) })
      for (index, ids) in zip(stages.indices, newValue) where ids.count == 2 {
        stages[index].cheap = ids[0].compactMap { cases[$0] }
        stages[index].costly = ids[1].compactMap { cases[$0] }
      }
    }
  }

  /// Runs cases on the device with this name until one fails.
  ///
  /// - Throws: `RigTrouble` when there is no such device.
  package mutating func judge(_ device: String) async throws -> Verdict {
    var runs = 0
    for index in stages.indices {
      let rig = try stages[index].makeRig(device)
      let runner = Runner(rig: rig, seed: seed)
      let verdict =
        if let verdict = await Self.first(of: &stages[index].cheap, failing: runner, runs: &runs) {
          verdict
        } else {
          await Self.first(of: &stages[index].costly, failing: runner, runs: &runs)
        }
      await rig.close()
      if var verdict {
        verdict.stage = stages[index].name
        return verdict
      }
    }
    return Verdict(runs: runs)
  }

  /// Finds the first case that fails and moves it to the front.
  private static func first(
    of cases: inout [Case], failing runner: Runner, runs: inout Int
  ) async -> Verdict? {
    for index in cases.indices {
      let result = await runner.run(cases[index])
      runs += 1
      let detail: String
      switch result.outcome {
      case .passed, .skipped: continue
      case .failed(let findings): detail = findings[0].description
      case .errored(let reason): detail = reason
      }
      cases.insert(cases.remove(at: index), at: 0)
      return Verdict(failed: result.testCase.id, detail: detail, runs: runs)
    }
    return nil
  }
}

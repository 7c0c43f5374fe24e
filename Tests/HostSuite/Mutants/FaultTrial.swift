package import Conformance
/// Tests many devices that can be broken, in sequence, and stops at the first case that fails: for
/// thousands of mutants it only matters whether some case detects each.
///
/// Cases that detect many faults are run first, cheap ones before expensive ones: consecutive
/// mutants are often of one function, so the case that detected the last one is tried first on the
/// next.
package struct FaultTrial {
  /// One suite to pass: a rig for each device, and its cases that pass on a correct device.
  private struct Stage {
    let name: String
    let makeRig: (String?) throws -> any Rig
    var cheap: [Case] = []
    var costly: [Case] = []
  }

  /// The result for one device.
  package struct Verdict: Equatable, Sendable {
    /// The case that failed; nil if the device passed all of them.
    package var failed: String?
    /// The stage of that case.
    package var stage: String?
    /// The finding of the case.
    package var detail: String?
    /// Whether the case blamed the rig.
    package var isErrored = false
    /// The number of cases that were run.
    package var runs: Int
  }

  /// A case that takes longer than this is expensive: it is run after the cheap ones, and in the
  /// first stage only.
  private static var cheapLimit: Duration { .milliseconds(15) }

  private let seed: UInt64
  private var stages: [Stage]

  /// - Parameters:
  ///   - stages: the name of each suite, and the constructor of its rig: from the name of a device,
  ///     or nil for a correct one.
  ///   - seed: decides the nonces, noise and faults of every case.
  package init(
    stages: [(name: String, makeRig: (String?) throws -> any Rig)], seed: UInt64
  ) {
    self.stages = stages.map { Stage(name: $0.name, makeRig: $0.makeRig) }
    self.seed = seed
  }

  /// The number of cases that are run on a device that passes all.
  package var caseCount: Int { stages.reduce(0) { $0 + $1.cheap.count + $1.costly.count } }

  /// Runs all cases on correct devices, and keeps those that pass in the order of their cost.
  ///
  /// - Returns: the cases that fail without a fault. They are left out.
  /// - Throws: `RigTrouble` if there is no correct device.
  package mutating func learn(_ cases: [Case]) async throws -> [CaseResult] {
    var wrong: [CaseResult] = []
    for index in stages.indices {
      let rig = try stages[index].makeRig(nil)
      var passed: [CaseResult] = []
      for result in await Runner(rig: rig, seed: seed).run(cases, onResult: { _ in }) {
        switch result.outcome {
        case .passed: passed.append(result)
        case .skipped: break
        case .failed, .differs, .errored: wrong.append(result)
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

  /// The learned order, and its basis: the ids of cheap and expensive cases of each stage.
  package var order: [[[String]]] {
    get { stages.map { [$0.cheap.map(\.id), $0.costly.map(\.id)] } }
    set {
      let cases = Dictionary(uniqueKeysWithValues: (Suite.cases + HostSuite.cases).map { ($0.id, $0) })
      for (index, ids) in zip(stages.indices, newValue) where ids.count == 2 {
        stages[index].cheap = ids[0].compactMap { cases[$0] }
        stages[index].costly = ids[1].compactMap { cases[$0] }
      }
    }
  }

  /// Runs cases on the device with this name until one fails.
  ///
  /// - Throws: `RigTrouble` if there is no such device.
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
      var verdict = Verdict(failed: result.testCase.id, runs: runs)
      switch result.outcome {
      case .passed, .skipped: continue
      case .failed(let findings), .differs(let findings): verdict.detail = findings[0].description
      case .errored(let reason): (verdict.detail, verdict.isErrored) = (reason, true)
      }
      cases.insert(cases.remove(at: index), at: 0)
      return verdict
    }
    return nil
  }
}

import Conformance
import Testing

/// A list of cases, run once for all the tests that use a result: on one rig in sequence, or shared
/// by several.
struct SuiteRun: Sendable {
  static let seed: UInt64 = 2026

  private let results: Task<[CaseResult], any Error>

  init(_ cases: [Case], rigs: Int = 1, on makeRig: @escaping @Sendable () async throws -> any Rig) {
    results = Task {
      let queue = CaseQueue(cases, policy: RunPolicy()) { _ in }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<rigs {
          group.addTask {
            let rig = try await makeRig()
            await queue.run(on: rig, seed: Self.seed)
            await rig.close()
          }
        }
        try await group.waitForAll()
      }
      return await queue.results
    }
  }

  /// Throws the rig's error if it could not be created.
  func result(of id: String) async throws -> CaseResult {
    try #require(try await results.value.first { $0.testCase.id == id })
  }
}

/// Records an issue unless the case passed, or was skipped because of a need that its rig cannot
/// meet: nothing else is skipped, and such a case cannot pass.
func expectPassed(_ result: CaseResult, onRigWithout absent: Set<Need>) {
  let isOffered = result.testCase.needs.isDisjoint(with: absent)
  switch result.outcome {
  case .passed: #expect(isOffered)
  case .skipped(let reason): #expect(!isOffered, "skipped: \(reason)")
  case .errored(let trouble): Issue.record("rig: \(trouble)")
  case .failed(let findings), .differs(let findings):
    let text = (findings.map(\.description) + result.transcript).joined(separator: "\n")
    Issue.record("\(result.testCase.id), seed \(SuiteRun.seed)\n\(text)")
  }
}

/// Records an issue for each failed or errored case; returns the reasons of skipped ones by id.
func reasonsOfSkipped(among results: [CaseResult], _ run: String) -> [String: String] {
  var reasons: [String: String] = [:]
  for result in results {
    switch result.outcome {
    case .passed: break
    case .skipped(let reason): reasons[result.testCase.id] = reason
    case .failed, .differs, .errored:
      let text = (result.outcome.details + result.transcript).joined(separator: "\n")
      Issue.record("\(result.testCase.id), \(run), seed \(SuiteRun.seed)\n\(text)")
    }
  }
  return reasons
}

/// What became of a case.
package enum Outcome: Equatable, Sendable {
  case passed
  /// The device, or the host under test, is wrong.
  case failed([Finding])
  /// Not run, for this reason.
  case skipped(String)
  /// The rig is wrong.
  case errored(String)
}

/// One line of a report.
package struct CaseResult: Sendable {
  package let testCase: Case
  package let outcome: Outcome
  /// Wall time.
  package let duration: Duration
  /// What passed on the line; empty unless the case failed or errored.
  package let transcript: [String]

  package init(testCase: Case, outcome: Outcome, duration: Duration, transcript: [String]) {
    self.testCase = testCase
    self.outcome = outcome
    self.duration = duration
    self.transcript = transcript
  }
}

/// Runs cases on a rig, one after the other.
package struct Runner {
  private let rig: any Rig
  private let seed: UInt64

  /// - Parameter seed: decides nonces, noise and damage of every case.
  package init(rig: any Rig, seed: UInt64) {
    self.rig = rig
    self.seed = seed
  }

  /// Why a case cannot run on a rig; nil when it can.
  package static func reasonToSkip(_ testCase: Case, on rig: any Rig) -> String? {
    let missing = testCase.needs.subtracting(rig.offers).sorted()
    guard !missing.isEmpty else { return nil }
    return "needs \(missing.map(\.rawValue).joined(separator: ", "))"
  }

  /// Runs one case.
  package func run(_ testCase: Case) async -> CaseResult {
    let start = ContinuousClock.now
    if let reason = Self.reasonToSkip(testCase, on: rig) {
      return CaseResult(testCase: testCase, outcome: .skipped(reason), duration: .zero, transcript: [])
    }
    let bench: Bench
    do {
      bench = try await rig.makeBench(for: testCase, seed: seed &+ UInt64(Wire.crc(Array(testCase.id.utf8))))
    } catch {
      return CaseResult(
        testCase: testCase, outcome: .errored("\(error)"), duration: ContinuousClock.now - start,
        transcript: [])
    }
    var outcome = Outcome.passed
    do {
      try await testCase.run(bench)
    } catch let finding as Finding {
      bench.record.add(finding)
    } catch let skip as CaseSkipped {
      outcome = .skipped(skip.reason)
    } catch {
      outcome = .errored("\(error)")
    }
    if !bench.record.findings.isEmpty { outcome = .failed(bench.record.findings) }
    await rig.finish(bench)
    let isWorthReading =
      switch outcome {
      case .passed, .skipped: false
      case .failed, .errored: true
      }
    return CaseResult(
      testCase: testCase, outcome: outcome, duration: ContinuousClock.now - start,
      transcript: isWorthReading ? bench.record.transcript : [])
  }

  /// Runs cases in their order and hands each result on when it is there. Stops early when the task is cancelled.
  package func run(_ cases: [Case], onResult: (CaseResult) async -> Void) async -> [CaseResult] {
    var results: [CaseResult] = []
    for testCase in cases where !Task.isCancelled {
      let result = await run(testCase)
      // One that was cut off says nothing about the device.
      if Task.isCancelled, case .errored = result.outcome { break }
      results.append(result)
      await onResult(result)
    }
    return results
  }
}

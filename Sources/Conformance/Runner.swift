import SuiteWire

/// The outcome of a case.
package enum Outcome: Equatable, Sendable {
  case passed
  /// The device is wrong.
  case failed([Finding])
  /// The device's Bluetooth stack answers in its own way, which the protocol permits.
  case differs([Finding])
  /// Not run, for this reason.
  case skipped(String)
  /// The rig is wrong.
  case errored(String)

  /// The outcome of a run that ended with an error; the only place that decides who is to blame.
  init(of error: any Error, server: AttributeServer) {
    self =
      switch error {
      case CaseEnd.finding(let finding): Self.judged([finding], server: server)
      case CaseEnd.skip(let reason): .skipped(reason)
      case _: .errored("\(error)")
      }
  }

  /// The outcome of a run with findings.
  package static func judged(_ findings: [Finding], server: AttributeServer) -> Outcome {
    server == .stack && findings.allSatisfy(\.isOfServer) ? .differs(findings) : .failed(findings)
  }
}

/// One line of a report.
package struct CaseResult: Sendable {
  package let testCase: Case
  package let outcome: Outcome
  /// Wall time of its runs, without the waits for a turn.
  package let duration: Duration
  /// The traffic on the line; empty unless the case failed or errored.
  package let transcript: [String]
  /// How often it ran; more than once if a run on a late rig did not count.
  package let runs: Int
  /// Notes about its runs for the reader, one sentence each.
  package let notes: [String]
  /// The checks of the line after its runs.
  package let line: LineQuality
  /// How the device answered in the decisive run, in order.
  package let answers: [Answer]

  package init(
    testCase: Case, outcome: Outcome, duration: Duration, transcript: [String], runs: Int = 1,
    notes: [String] = [], line: LineQuality = LineQuality(), answers: [Answer] = []
  ) {
    self.testCase = testCase
    self.outcome = outcome
    self.duration = duration
    self.transcript = transcript
    self.runs = runs
    self.notes = notes
    self.line = line
    self.answers = answers
  }
}

/// Runs cases on a rig, in sequence. In real time a case whose failure might be caused by the rig
/// runs again.
package struct Runner {
  private let rig: any Rig
  private let seed: UInt64
  private let gauge: (any LatenessGauge)?
  private let turns: BenchTurns
  private let waitsLong: Bool
  private var trace: TraceFolder?

  /// A runner with the policy of a run.
  init(rig: any Rig, seed: UInt64, policy: RunPolicy) {
    self.init(rig: rig, seed: seed, waitsLong: policy.waitsLong)
    trace = policy.trace
  }

  /// - Parameters:
  ///   - seed: decides the nonces, noise and faults of every case.
  ///   - waitsLong: whether cases with waits of many seconds run in real time, too.
  package init(rig: any Rig, seed: UInt64, waitsLong: Bool = false) {
    let isRealTime = !rig.offers.contains(.virtualTime)
    self.init(
      rig: rig, seed: seed, gauge: isRealTime ? LatenessMeter(peers: rig.peerProcesses) : nil,
      waitsLong: waitsLong)
  }

  /// - Parameter gauge: measures how late the rig is; nil if there is no clock that can be late.
  package init(
    rig: any Rig, seed: UInt64, gauge: (any LatenessGauge)?, turns: BenchTurns = .ofProcess,
    waitsLong: Bool = false
  ) {
    self.rig = rig
    self.seed = seed
    self.gauge = gauge
    self.turns = turns
    self.waitsLong = waitsLong || rig.offers.contains(.virtualTime)
  }

  /// Why a case cannot run; nil if it can.
  private func reasonToSkip(_ testCase: Case) -> String? {
    let offers = waitsLong ? rig.offers.union([.longWaits]) : rig.offers
    let missing = testCase.needs.subtracting(offers).sorted()
    guard !missing.isEmpty else { return nil }
    return "needs \(missing.map(\.summary).joined(separator: ", "))"
  }

  /// Runs one case, as often as necessary to decide it.
  package func run(_ testCase: Case) async -> CaseResult {
    if let reason = reasonToSkip(testCase) {
      return CaseResult(testCase: testCase, outcome: .skipped(reason), duration: .zero, transcript: [])
    }
    var verdict = CaseVerdict()
    var duration = Duration.zero
    repeat {
      let isRepeated = !verdict.runs.isEmpty
      let turn = gauge == nil ? nil : await turns.begin(alone: isRepeated)
      if let turn, Task.isCancelled {
        await turns.end(turn, isLate: false)
        break
      }
      let start = ContinuousClock.now
      if isRepeated { await gauge?.awaitCalm() }
      let run = await runOnce(testCase, number: verdict.runs.count, gauge)
      duration += ContinuousClock.now - start
      verdict.add(run)
      if let turn {
        await turns.end(turn, isLate: verdict.decision == nil && run.lateness?.isCalm == false)
      }
    } while verdict.decision == nil && !Task.isCancelled
    let decision = verdict.decision ?? verdict.undecided
    return CaseResult(
      testCase: testCase, outcome: decision.outcome, duration: duration,
      transcript: decision.transcript, runs: verdict.runs.count, notes: decision.notes,
      line: verdict.line, answers: decision.answers)
  }

  private func runOnce(_ testCase: Case, number: Int, _ gauge: (any LatenessGauge)?) async -> CaseRun {
    await gauge?.beginWindow()
    // The effects of a run on a board must not affect the next one, so that it has another seed.
    let seed = seed &+ UInt64(Wire.crc(Array(testCase.id.utf8))) &+ UInt64(number) << 32
    let bench: Bench
    do {
      bench = try await rig.makeBench(for: testCase, seed: seed)
    } catch {
      return CaseRun(Outcome(of: error, server: rig.server), lateness: await gauge?.endWindow())
    }
    bench.waitsLong = waitsLong
    bench.record.isTraced = trace != nil
    defer { trace?.write(bench.record, of: testCase) }
    var outcome = Outcome.passed
    do {
      try await testCase.run(bench)
    } catch {
      outcome = Outcome(of: error, server: rig.server)
      if case CaseEnd.finding(let finding) = error { bench.record.add(finding) }
    }
    if !bench.record.findings.isEmpty {
      outcome = .judged(bench.record.findings, server: rig.server)
    }
    let answers = bench.record.answers
    let isWorthReading = outcome.isBad
    var lateness: Lateness?
    var quality = LineQuality()
    if let gauge {
      let atLine = bench.probe.line.drainLateness()
      // A peer that still waits for a processor shows its lateness when it has answered.
      let atPeer = isWorthReading && !Task.isCancelled ? await Echo.lateness(of: bench) : .zero
      lateness = await gauge.endWindow().union(Lateness(bench: atLine, peer: atPeer))
      if isWorthReading, !Task.isCancelled { quality = await LineCheck.quality(of: bench) }
      // The lateness of these checks is not that of the next run.
      if isWorthReading { _ = bench.probe.line.drainLateness() }
    }
    await rig.finish(bench)
    return CaseRun(
      outcome, lateness: lateness, line: quality,
      transcript: isWorthReading ? bench.record.transcript : [], answers: answers)
  }

  /// Runs cases in order and returns each result when it is available. Stops early if the task is
  /// cancelled.
  package func run(_ cases: [Case], onResult: (CaseResult) async -> Void) async -> [CaseResult] {
    var results: [CaseResult] = []
    for testCase in cases where !Task.isCancelled {
      let result = await run(testCase)
      // An interrupted run is not evidence about the device.
      if Task.isCancelled, case .errored = result.outcome { break }
      results.append(result)
      await onResult(result)
    }
    return results
  }
}

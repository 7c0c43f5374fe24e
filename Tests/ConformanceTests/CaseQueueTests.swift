import Conformance
import Rigs
import Synchronization
import Testing

/// Cases that several devices share.
@Suite struct CaseQueueTests {
  /// A step in one case that another one waits for.
  private final class Gate: Sendable {
    private let stream = AsyncStream<Void>.makeStream()

    func open() { stream.continuation.finish() }
    func wait() async { for await _ in stream.stream {} }
  }

  private func testCase(_ id: String, run: @escaping @Sendable () async throws -> Void) -> Case {
    Case(id, "Is a test", chapter: .att, needs: [.virtualTime]) { _, _ in try await run() }
  }

  /// Runs cases on two devices; returns the ids in the order in which their results were passed on.
  private func run(_ cases: [Case], _ policy: RunPolicy = RunPolicy()) async -> [String] {
    let passedOn = Mutex<[String]>([])
    let queue = CaseQueue(cases, policy: policy) { result in
      passedOn.withLock { $0.append(result.testCase.id) }
    }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 { group.addTask { await queue.run(on: EmulatorRig(), seed: 1) } }
    }
    let ids = passedOn.withLock(\.self)
    #expect(await queue.results.map(\.testCase.id) == ids)
    return ids
  }

  @Test func `two devices run two cases at once, and the results come as they end`() async {
    let gate = Gate()
    let ids = await run([
      testCase("ATT-1/waits") { await gate.wait() }, testCase("ATT-1/opens") { gate.open() },
      testCase("ATT-1/last") {},
    ])
    #expect(Set(ids) == ["ATT-1/waits", "ATT-1/opens", "ATT-1/last"] && ids.first == "ATT-1/opens")
  }

  @Test func `a case runs on one device only, as often as demanded`() async {
    let runs = Mutex<[String: Int]>([:])
    let cases = (0..<20).map { number in
      testCase("ATT-1/\(number)") { runs.withLock { $0["\(number)", default: 0] += 1 } }
    }
    let ids = await run(cases, RunPolicy(repetitions: 3))
    #expect(Set(ids) == Set(cases.map(\.id)) && ids.count == 20)
    #expect(runs.withLock(\.self) == Dictionary(uniqueKeysWithValues: (0..<20).map { ("\($0)", 3) }))
  }

  @Test func `the first failure is the last result`() async {
    let gate = Gate()
    let failure = CaseEnd.fault("is wrong", file: "x", line: 1)
    let ids = await run(
      [
        testCase("ATT-1/first") { await gate.wait() },
        testCase("ATT-1/second") {
          gate.open()
          throw failure
        },
        testCase("ATT-1/third") {}, testCase("ATT-1/fourth") { throw failure },
      ], RunPolicy(endsAtFailure: true))
    #expect(ids.last == "ATT-1/second" && !ids.contains("ATT-1/third"))
  }

  @Test func `a cancelled run passes on what was decided`() async {
    let passedOn = Mutex<[String]>([])
    let started = Gate()
    let queue = CaseQueue(
      [
        testCase("ATT-1/first") {},
        testCase("ATT-1/second") {
          started.open()
          await Gate().wait()  // ends when it is cancelled
          try Task.checkCancellation()
        },
        testCase("ATT-1/third") {},
      ], policy: RunPolicy()
    ) { result in passedOn.withLock { $0.append(result.testCase.id) } }
    let task = Task { await queue.run(on: EmulatorRig(), seed: 1) }
    await started.wait()
    task.cancel()
    await task.value
    #expect(passedOn.withLock(\.self) == ["ATT-1/first"])
  }
}

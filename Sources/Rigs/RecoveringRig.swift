package import Conformance
import NotibotProtocol

/// A rig in real time whose device can stop answering: after a case that went wrong it checks
/// whether the device still answers, so that one wedged device, or a dead line, does not fail all
/// later cases, half a minute each. A device that does not answer is recovered, if the user allows
/// that; one that stays silent ends the run.
package final class RecoveringRig: Rig {
  /// The number of SYNs, 500 ms apart, that a device can leave unanswered before it is recovered.
  private static let attemptsLimit = 4
  /// The same before the run ends, or as many seconds of reads, each on a new connection.
  private static let silentAttemptsLimit = 30

  private static let silencesLimit = 3

  private enum Answer {
    case sound
    case wrong
    case none
  }

  private var rig: any Rig
  private let recover: (() async throws -> any Rig)?
  /// The case after which the device has to show that it still answers, and whether it sent
  /// anything in it.
  private var suspect: (id: String, wasHeard: Bool)?
  private var current = ""
  /// Consecutive cases for which the rig did not answer.
  private var silences = 0
  package private(set) var loss: RigTrouble?

  /// - Parameter recover: recovers the device and opens the port again; throws if nothing helps.
  ///   Nil: not allowed.
  package init(_ rig: any Rig, recover: (() async throws -> any Rig)? = nil) {
    self.rig = rig
    self.recover = recover
  }

  /// The boot id of the port below, when it was last opened.
  package var bootID: String? { rig.bootID }
  package var name: String { rig.name }
  package var server: AttributeServer { rig.server }
  package var offers: Set<Need> { rig.offers }
  package var peerProcesses: [Int32] { rig.peerProcesses }

  package func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench {
    if let loss { throw loss }
    current = testCase.id
    do {
      let bench = try await rig.makeBench(for: testCase, seed: seed)
      silences = 0
      guard let suspect else { return bench }
      switch (await answer(to: bench), recover) {
      case (.sound, _), (.wrong, nil):
        self.suspect = nil
        return try await rig.makeBench(for: testCase, seed: seed)
      case (.none, nil):
        let words = "the device has sent nothing since \(suspect.id), and answers no opening"
        let trouble = Self.lost(words)
        loss = trouble
        // A device that falls silent in a case does so in its repetition, too.
        if suspect.wasHeard, suspect.id == testCase.id {
          throw CaseEnd.fault(words, file: #fileID, line: #line)
        }
        throw trouble
      case (.wrong, .some), (.none, .some): break
      }
    } catch let trouble as RigTrouble {
      guard recover != nil, loss == nil else {
        silences += trouble.part == .silent ? 1 : 0
        if silences == Self.silencesLimit || trouble.part == .port { loss = trouble }
        throw trouble
      }
      // The port is gone, which the recovery can also fix.
    }
    await rig.close()
    do {
      if let recover { rig = try await recover() }
    } catch {
      loss = Self.lost("the device stopped answering, and nothing brought it back")
      throw error
    }
    suspect = nil
    return try await rig.makeBench(for: testCase, seed: seed)
  }

  package func finish(_ bench: Bench) async {
    suspect = bench.record.findings.isEmpty ? nil : (current, bench.probe.hasReceived)
    await rig.finish(bench)
  }

  package func close() async {
    await rig.close()
  }

  private static func lost(_ reason: String) -> RigTrouble {
    RigTrouble(reason, remedy: "restart the device, and check its line; then run the rest of the suite")
  }

  /// Whether the device answers an opening.
  private func answer(to bench: Bench) async -> Answer {
    let attempts = recover == nil ? Self.silentAttemptsLimit : Self.attemptsLimit
    let probe = bench.probe
    do {
      switch probe.bearer {
      case .session: try await probe.open(attempts: attempts)
      case .connection:
        let end = probe.now + .milliseconds(500 * Int64(attempts))
        repeat {
          try await probe.open()
          if (try? await probe.readCount()) != nil { break }
        } while !probe.hasReceived && probe.now < end
        guard probe.hasReceived else { return .none }
      }
      await rig.finish(bench)
      return .sound
    } catch {
      return probe.hasReceived ? .wrong : .none
    }
  }
}

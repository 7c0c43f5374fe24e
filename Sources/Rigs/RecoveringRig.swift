package import Conformance

/// A rig on a port whose device can stop answering: after a case that went wrong it checks whether
/// the device still answers, and recovers it if not, so that one wedged device does not fail all
/// later cases.
package final class RecoveringRig: Rig {
  /// The number of SYNs, 500 ms apart, that a device can leave unanswered.
  private static let attemptsLimit = 4

  private var rig: any Rig
  private let recover: () async throws -> any Rig
  private var isSuspect = false
  private var isLost = false

  /// - Parameter recover: recovers the device and opens the port again; throws if nothing helps.
  package init(_ rig: any Rig, recover: @escaping () async throws -> any Rig) {
    self.rig = rig
    self.recover = recover
  }

  /// The boot id of the port below, when it was last opened.
  package var bootID: String? { rig.bootID }

  package var name: String { rig.name }
  package var offers: Set<Need> { rig.offers }

  package func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench {
    guard !isLost else {
      throw RigTrouble(
        "the device stopped answering, and nothing brought it back",
        remedy: "see the recovery section of the report")
    }
    do {
      let bench = try await rig.makeBench(for: testCase, seed: seed)
      guard isSuspect else { return bench }
      if await answers(bench) {
        isSuspect = false
        return try await rig.makeBench(for: testCase, seed: seed)
      }
    } catch is RigTrouble {
      // The port is gone, which the recovery can also fix.
    }
    await rig.close()
    do {
      rig = try await recover()
    } catch {
      isLost = true
      throw error
    }
    isSuspect = false
    return try await rig.makeBench(for: testCase, seed: seed)
  }

  package func finish(_ bench: Bench) async {
    isSuspect = !bench.record.findings.isEmpty
    await rig.finish(bench)
  }

  package func close() async {
    await rig.close()
  }

  private func answers(_ bench: Bench) async -> Bool {
    do {
      try await bench.probe.open(attempts: Self.attemptsLimit)
      await rig.finish(bench)
      return true
    } catch {
      return false
    }
  }
}

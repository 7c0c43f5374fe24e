import Conformance
import HostSuite
import Rigs
import Testing
import SuiteWire

/// Cases can fail: a peer that breaks a rule is detected by the case that names it. A device is
/// here only if no mutant in firmware-fixtures/mutants has its case.
@Suite struct MutantTests {
  @Test(
    arguments: Mutant.devices + Mutant.holes + Mutant.delivery + Mutant.hosts + Mutant.hostHoles
      + Mutant.hostDelivery)
  func `a broken peer is detected`(mutant: Mutant) async throws {
    let cases = mutant.isHost ? HostSuite.cases : Suite.cases
    let testCase = try #require(cases.first { $0.id == mutant.caught }, "no case \(mutant.caught)")
    let sound = await Runner(rig: mutant.soundRig, seed: 7).run(testCase)
    #expect(sound.outcome == .passed)
    let broken = await Runner(rig: mutant.makeRig(), seed: 7).run(testCase)
    guard case .failed(let findings) = broken.outcome else {
      Issue.record("\(mutant.name): \(broken.outcome)\n\(broken.transcript.joined(separator: "\n"))")
      return
    }
    #expect(!findings.isEmpty)
    #expect(!broken.transcript.isEmpty)
  }
}

extension Mutant {
  static let devices: [Mutant] = [
    Mutant(
      name: "announces no limits", caught: "LNK-8/limits-announced",
      received: changingTLV(6, in: .synAck, to: [1, 1, 5, 0, 0, 0, 0, 0])),
    Mutant(
      name: "sends everything twice", caught: "LNK-51/resend-stops",
      received: {
        var last: WireFrame?
        return FrameFilter.frames { frame in
          defer { if frame.kind == .data { last = frame } }
          return frame.kind == .ping ? [frame] + [last].compactMap { $0 } : [frame]
        }
      }),
    Mutant(
      name: "keeps its boot id", caught: "LNK-12/boot-id-after-reboot",
      received: {
        FrameFilter.frames { frame in
          guard let tlvs = TLV.parse(frame.payload), tlvs.value(of: 0x0A) != nil else { return [frame] }
          var changed = frame
          changed.payload = tlvs.map { $0.type == 0x0A ? .bootID(1) : $0 }.payload
          return [changed]
        }
      }),
  ]
}

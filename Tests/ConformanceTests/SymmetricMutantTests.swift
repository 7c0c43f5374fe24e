import Conformance
import HostSuite
import DeviceEmulator
import NotibotHost
import NotibotProtocol
import Rigs
import Testing
import SuiteWire

/// Faults that a host and a device have in common: the two agree, and the suite detects each.
@Suite struct SymmetricMutantTests {
  private static let faults = SymmetricMutant.all.filter { $0.name != SymmetricMutant.none.name }

  @Test func `there are enough of them, each with a unique name`() {
    #expect(Self.faults.count >= 15)
    #expect(Set(SymmetricMutant.all.map(\.name)).count == SymmetricMutant.all.count)
  }

  @Test(arguments: SymmetricMutant.all)
  func `a host and a device with the same fault deliver a notification to each other`(fault: SymmetricMutant)
    throws
  {
    let both = HostAndDevice(profile: .standard, seed: 11, configuration: HostConfiguration())
    var senders = [WireFrame.Sender.host: CandidateFilter(fault.codec.onSend)]
    senders[.device] = CandidateFilter(fault.codec.onSend)
    var receivers = [WireFrame.Sender.host: CandidateFilter(fault.codec.onReceive)]
    receivers[.device] = CandidateFilter(fault.codec.onReceive)
    both.lineFilter = { bytes, sender in
      let sent = senders[sender]?.pass(bytes) ?? []
      return receivers[sender.other]?.pass(sent) ?? []
    }
    let json = Array("{\"app\":\"a\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1}".utf8)
    let (sent, count) = both.withHost { host, now in
      host.connect(now: now)
      return (
        host.submit(.sendEncoded(json), now: now), host.submit(.readCount, now: now)
      )
    }
    #expect(both.run(within: .seconds(5)) { $0.host.results.count == 2 })
    #expect(both.host.results[sent] == .accepted)
    #expect(both.host.results[count] == .count(1))
    // Nothing was retransmitted: each understood the other at once.
    #expect(both.now < .zero + .milliseconds(200))
  }

  @Test(arguments: faults)
  func `the device of the two is detected by a case whose rule names the fault`(fault: SymmetricMutant)
    async throws
  {
    try await expectCaught(fault, by: fault.deviceCase, isHost: false)
  }

  @Test(arguments: faults)
  func `the host of the two is detected by a case whose rule names the fault`(fault: SymmetricMutant)
    async throws
  {
    try await expectCaught(fault, by: fault.hostCase, isHost: true)
  }

  @Test func `the line adapter alone fails no case`() async {
    let none = SymmetricMutant.none
    let results =
      await Runner(rig: none.makeRig(isHost: false), seed: 7).run(Suite.cases) { _ in }
      + Runner(rig: none.makeRig(isHost: true), seed: 7).run(HostSuite.cases) { _ in }
    let bad = results.filter { ["failed", "errored"].contains($0.outcome.word) }
    #expect(bad.map { "\($0.testCase.id): \($0.outcome.details)" } == [])
  }

  private func expectCaught(_ fault: SymmetricMutant, by id: String, isHost: Bool) async throws {
    let cases = isHost ? HostSuite.cases : Suite.cases
    let testCase = try #require(cases.first { $0.id == id }, "no case \(id)")
    #expect(!Set(testCase.rules).isDisjoint(with: fault.rules), "\(id) checks \(testCase.rules)")
    let sound = await Runner(rig: SymmetricMutant.none.makeRig(isHost: isHost), seed: 7).run(testCase)
    #expect(sound.outcome == .passed)
    let broken = await Runner(rig: fault.makeRig(isHost: isHost), seed: 7).run(testCase)
    guard case .failed(let findings) = broken.outcome else {
      Issue.record("\(fault.name): \(broken.outcome)\n\(broken.transcript.joined(separator: "\n"))")
      return
    }
    #expect(!findings.isEmpty)
  }
}

extension SymmetricMutant {
  /// The host or the device of the two.
  func makeRig(isHost: Bool) -> any Rig {
    isHost
      ? HostRig(wrapLine: { SymmetricLine($0, fault: self) })
      : EmulatorRig(wrapLine: { SymmetricLine($0, fault: self) })
  }
}

package import Conformance
import NotibotHost
import NotibotProtocol

/// The cases that test the host of this project, by playing the device (PROTOCOL.md).
package enum HostSuite {
  package static let cases: [Case] = [
    hostFraming, hostSession, hostFlow, hostHoles, hostWindows, hostLimits, hostATT, hostNotifications,
    hostDelivery, hostDeliverySynced, hostDeliverySources, hostActions, system, systemReconnection,
  ].flatMap { $0 }
}

extension Case {
  /// A case that makes the host, and what else it needs, with its bench.
  static func host(
    _ id: String, _ title: String, also: [String] = [],
    run: @escaping @Sendable (_ probe: Probe, _ bench: HostCaseBench) async throws -> Void
  ) -> Case {
    Case(id, title, also: also) { probe, bench in
      guard let bench = bench.equipment as? HostCaseBench else {
        throw CaseEnd.skip("it tests a host, not a device")
      }
      try await run(probe, bench)
    }
  }

  /// A case of the host machine: `run` gets the machine on its own virtual line, and the probe at
  /// the other end of that line.
  static func ofHost(
    _ id: String, _ title: String, also: [String] = [],
    run: @escaping @Sendable (_ device: HostBench, _ probe: Probe) async throws -> Void
  ) -> Case {
    host(id, title, also: also) { _, bench in
      let device = bench.makeHost()
      try await run(device, device.probe)
    }
  }
}

/// Makes the hosts of a case, each on a line of its own.
package final class HostCaseBench {
  let seed: UInt64
  let record: Record
  /// Records findings only.
  let probe: Probe
  /// An adapter between the case and the host.
  let wrapLine: (any Line) -> any Line
  /// The fault of a host that has an outbox.
  let flaw: HostFlaw?

  init(_ bench: Bench, wrapLine: @escaping (any Line) -> any Line, flaw: HostFlaw?) {
    (seed, record, probe) = (bench.seed, bench.record, bench.probe)
    (self.wrapLine, self.flaw) = (wrapLine, flaw)
  }
}

/// Makes hosts in virtual time.
package final class HostRig: Rig {
  package let name = "host"
  package let offers: Set<Need> = [.virtualTime, .session]
  private let wrapLine: (any Line) -> any Line
  private let flaw: HostFlaw?

  package init(wrapLine: @escaping (any Line) -> any Line = { $0 }, flaw: HostFlaw? = nil) {
    (self.wrapLine, self.flaw) = (wrapLine, flaw)
  }

  package func makeBench(for testCase: Case, seed: UInt64) -> Bench {
    let idle = VirtualHost(configuration: HostConfiguration(), seed: seed)
    let bench = Bench(line: VirtualLine(peer: idle, now: .zero), control: nil, clock: .exact, seed: seed)
    bench.equipment = HostCaseBench(bench, wrapLine: wrapLine, flaw: flaw)
    return bench
  }

  package func finish(_ bench: Bench) {}

  package func close() {}
}

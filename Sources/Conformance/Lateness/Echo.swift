import NotibotProtocol
import SerialLink
import SuiteWire

/// Checks whether a peer answers in time, after a case that failed: with PING, or a read if there
/// is no session.
enum Echo {
  private static let count = 4
  private static let openingAttempts = 2
  /// The largest difference between echoes on a peer that is not late: more than the 16 ms for
  /// which a USB bridge collects bytes, far less than the 200 ms after which a device is allowed to
  /// retransmit (LNK-51).
  static let spreadLimit = Duration.milliseconds(50)

  /// The lateness of the peer's slowest echo, compared with its fastest; zero if it always takes
  /// the same time, and if it does not answer: that is the device's own fault.
  static func lateness(of bench: Bench) async -> Duration {
    let probe = Probe(line: bench.probe.line, role: .host, record: Record(), seed: ~bench.seed)
    probe.bearer = bench.probe.bearer
    probe.discardReceived()
    do {
      try await probe.open(attempts: openingAttempts)
      var times: [Duration] = []
      for _ in 0..<count {
        let start = probe.now
        switch probe.bearer {
        case .session:
          try await probe.write(probe.frame(.ping))
          _ = try await probe.awaitFrame(.pong)
        case .connection: _ = try await probe.readCount()
        }
        times.append(probe.now - start)
      }
      if case .session = probe.bearer { try await probe.write(probe.frame(.fin)) }
      let spread = (times.max() ?? .zero) - (times.min() ?? .zero)
      return spread > spreadLimit ? spread : .zero
    } catch {
      return .zero
    }
  }
}

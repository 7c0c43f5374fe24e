package import Conformance
package import NotibotHost
package import NotibotProtocol
package import SuiteWire

/// The host machine under test, as a peer on a virtual line: it writes bytes for the case, and all
/// its other output is kept here.
package struct VirtualHost: VirtualPeer {
  package var machine: HostMachine
  package var text: [UInt8] = []
  package var results: [HostRequestID: HostResult] = [:]
  package var events: [HostEvent] = []
  package var openedCount = 0
  package var ends: [SessionEnd] = []

  package init(configuration: HostConfiguration, seed: UInt64) {
    machine = HostMachine(configuration: configuration, seed: seed)
  }

  /// The results so far, which are removed.
  package mutating func drainResults() -> [HostRequestID: HostResult] {
    defer { results = [:] }
    return results
  }

  package mutating func receive(_ bytes: [UInt8], now: Instant) { machine.receive(bytes, now: now) }

  package mutating func handleTimeout(now: Instant) { machine.handleTimeout(now: now) }

  package mutating func nextBytes(now: Instant) -> [UInt8]? {
    while let action = machine.nextAction() {
      switch action {
      case .write(let bytes): return bytes
      case .completed(let id, let result): results[id] = result
      case .event(let event): events.append(event)
      case .text(let bytes): text += bytes
      case .opened: openedCount += 1
      case .ended(let end): ends.append(end)
      }
    }
    return nil
  }

  package var nextDeadline: Instant? { machine.nextDeadline }
}

/// A case that plays the device, step by step, against the host machine in virtual time.
///
/// The device answers nothing on its own; `open` plays the beginning of a session and `serve` a
/// small attribute server, for cases that test neither of them.
package final class HostBench: PlayedDevice {
  /// The case's end of the line, acting as a device.
  package let probe: Probe
  private let line: VirtualLine<VirtualHost>
  /// The session id of the next SYNACK.
  package var sessionID: UInt16 = 0x3A7C
  package var bootID: UInt32 = 0xB007_1D42

  /// - Parameter wrapLine: an adapter between the case and the host, such as one with faults.
  package init(
    configuration: HostConfiguration, seed: UInt64, record: Record,
    wrapLine: (any Line) -> any Line = { $0 }
  ) {
    line = VirtualLine(peer: VirtualHost(configuration: configuration, seed: seed), now: .zero)
    probe = Probe(line: wrapLine(line), role: .device, record: record, seed: seed)
  }

  /// The host's output so far.
  package var host: VirtualHost { line.peer }

  /// Makes the host open a session.
  package func connect() { line.withPeer { $0.machine.connect(now: line.now) } }

  /// Submits a request to the host.
  package func submit(_ request: HostRequest) -> HostRequestID {
    line.withPeer { $0.machine.submit(request, now: line.now) }
  }

  /// Makes the host close its session.
  package func close() { line.withPeer { $0.machine.close(now: line.now) } }

  /// Drops the text that the host has returned so far.
  package func forgetText() { line.withPeer { $0.text = [] } }

  // MARK: Sessions

  /// Connects the host and answers its SYN; returns when the host's first ACK is there.
  ///
  /// - Parameter tlvs: the TLVs of the SYNACK, given the nonce; default: usual ones.
  package func openLink(
    credit: UInt8 = 16, file: String = #fileID, line: Int = #line, _ tlvs: ((UInt64) -> [TLV])? = nil
  ) async throws {
    connect()
    try await answerSyn(credit: credit, file: file, line: line, tlvs)
  }

  /// Opens a session and serves the host's first requests until it reports that it is ready.
  package func open(
    credit: UInt8 = 16, file: String = #fileID, line: Int = #line, _ tlvs: ((UInt64) -> [TLV])? = nil
  ) async throws {
    let before = host.openedCount
    try await openLink(credit: credit, file: file, line: line, tlvs)
    try await serve(file: file, line: line) { self.host.openedCount > before }
  }
}

extension HostCaseBench {
  /// A host machine on its own virtual line.
  package func makeHost(_ configure: (inout HostConfiguration) -> Void = { _ in }) -> HostBench {
    var configuration = HostConfiguration()
    configuration.connectTimeout = nil
    configuration.reconnectTimeout = nil
    configure(&configuration)
    return HostBench(
      configuration: configuration, seed: seed, record: record, wrapLine: wrapLine)
  }
}

package import Conformance
import DeviceEmulator
import Glibc
import NIOCore
import NIOPosix
import NotibotProtocol
import SerialLink
import SuiteWire

/// A device that serves the attribute protocol as over BLE, on a Unix socket instead of a radio:
/// each connection is a bearer, a record a PDU. In real time.
package final class BLERig: Rig {
  /// What makes a link over the air of each connection to the socket.
  package struct Air: Sendable {
    /// Waits for the link of the connection that was made last; returns its interval.
    let awaitLink: @Sendable () async throws -> Duration
    /// Ends it.
    package let close: @Sendable () async -> Void

    package init(
      _ awaitLink: @escaping @Sendable () async throws -> Duration,
      close: @escaping @Sendable () async -> Void
    ) {
      (self.awaitLink, self.close) = (awaitLink, close)
    }
  }

  /// What an earlier connection has found out.
  private struct Device {
    var serverMTU = 23
    /// Whether it refuses an invalid notification.
    var isStrict = false
    var handles = HandleMap()
  }

  /// The links so far.
  private final class Links {
    /// Of the last one; nil before the first.
    var interval: Duration?
  }

  package let name = "ble"
  package let offers: Set<Need>
  package let server: AttributeServer
  package var peerProcesses: [Int32] { emulator.map { [$0.processID] } ?? [] }
  private let line: ChannelLine
  private let device: Device
  private let control: SocketControl?
  private let emulator: EmulatorProcess?
  private let air: Air?
  private let links: Links
  private let wrapLine: (any Line) -> any Line

  /// Starts `program emulate` and connects to its attribute socket.
  ///
  /// - Parameters:
  ///   - program: the `notibot` executable.
  ///   - profile: the profile of the device.
  ///   - arguments: further options of `emulate`.
  ///   - server: nil: as the profile has it.
  ///   - wrapLine: an adapter between the case and the device.
  /// - Throws: `RigTrouble` if the program does not start or prints nothing, otherwise as `open`.
  package static func start(
    program: String, profile: String = "default", seed: UInt64 = 1, arguments: [String] = [],
    server: AttributeServer? = nil, wrapLine: @escaping (any Line) -> any Line = { $0 }
  ) async throws -> BLERig {
    let emulator = try await EmulatorProcess.start(
      program: program, profile: profile, seed: seed, arguments: arguments)
    let usual: AttributeServer = DeviceProfile.named(profile)?.stack == nil ? .own : .stack
    do {
      return try await open(
        emulator.att, control: emulator.control, server: server ?? usual, emulator: emulator,
        wrapLine: wrapLine)
    } catch {
      await emulator.stop()
      throw error
    }
  }

  /// Connects to an attribute socket and determines the capabilities of the device: it writes an
  /// invalid notification to find out whether it can refuse a write.
  ///
  /// - Parameters:
  ///   - path: the socket.
  ///   - control: the control socket of the emulator behind it; nil for any other device.
  ///   - server: what answers there.
  ///   - answerTimeout: for each of the first answers.
  ///   - air: what the socket leads to; nil for the device itself.
  /// - Throws: `PortError` if nothing listens there, `Failure` if the listener is not a
  ///   Notibot.
  package static func open(
    _ path: String, control: String? = nil, server: AttributeServer = .own,
    answerTimeout: Duration = Probe.patience, air: Air? = nil,
    wrapLine: @escaping (any Line) -> any Line = { $0 }
  ) async throws -> BLERig {
    try await open(
      path, control: control, server: server, emulator: nil, answerTimeout, air: air, wrapLine: wrapLine)
  }

  private static func open(
    _ path: String, control: String?, server: AttributeServer, emulator: EmulatorProcess?,
    _ answerTimeout: Duration = Probe.patience, air: Air? = nil,
    wrapLine: @escaping (any Line) -> any Line
  ) async throws -> BLERig {
    let links = Links()
    let line = try await ChannelLine { try await connect(to: path, air, links) }
    do {
      let socket = control.map { SocketControl(client: ControlClient(path: $0), line: line) }
      let device = try await learn(line, path, answerTimeout, attempts: emulator == nil ? 1 : 6)
      var offers: Set<Need> = [.connection]
      switch socket {
      case .some: offers.formUnion([.control, .strict, .firmwareMode])
      case nil: offers.insert(device.isStrict ? .strict : .firmwareMode)
      }
      return BLERig(
        offers: offers, server: server, line: line, device: device, control: socket, emulator: emulator,
        air: air, links: links, wrapLine: wrapLine)
    } catch {
      await line.close()
      throw error
    }
  }

  private init(
    offers: Set<Need>, server: AttributeServer, line: ChannelLine, device: Device, control: SocketControl?,
    emulator: EmulatorProcess?, air: Air?, links: Links, wrapLine: @escaping (any Line) -> any Line
  ) {
    self.offers = offers
    self.server = server
    self.line = line
    self.device = device
    self.control = control
    self.emulator = emulator
    self.air = air
    self.links = links
    self.wrapLine = wrapLine
  }

  package func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench {
    // Data of the previous case is discarded together with its connection.
    try await line.reopen()
    try await control?.prepare(for: testCase)
    let bench = Bench(line: wrapLine(line), control: control, clock: .real, seed: seed)
    bench.reopenPort = { [line] in try await line.reopen() }
    bench.probe.bearer = Self.bearer(over: line, serverMTU: device.serverMTU)
    bench.probe.handles = device.handles
    bench.record.hasRecords = true
    // A notification can come with the next connection event.
    if let interval = links.interval {
      bench.probe.settleTime = max(bench.probe.settleTime, interval * 2)
    }
    bench.probe.identities = SeededGenerator(seed: .random(in: 0 ... .max))
    if control == nil { bench.probe.footprint = Footprint(device.handles) }
    return bench
  }

  package func finish(_ bench: Bench) async { await bench.tidyUp() }

  package func close() async {
    await control?.giveBack()
    await line.close()
    await air?.close()
    await emulator?.stop()
  }

  private static func bearer(over line: ChannelLine, serverMTU: Int) -> ProbeBearer {
    .connection(ProbeConnection(serverMTU: serverMTU) { try await line.reopen() })
  }

  /// Finds out what the cases need to know.
  ///
  /// - Parameter attempts: more than one if the device is an emulator of this rig: if that does not
  ///   answer in time, this computer is too busy.
  private static func learn(
    _ line: ChannelLine, _ path: String, _ answerTimeout: Duration, attempts: Int
  ) async throws -> Device {
    for _ in 1..<attempts {
      do { return try await learn(line, path, answerTimeout) } catch is Failure {}
    }
    return try await learn(line, path, answerTimeout)
  }

  private static func learn(
    _ line: ChannelLine, _ path: String, _ answerTimeout: Duration
  ) async throws -> Device {
    let probe = Probe(line: line, role: .host, record: Record(), seed: 0)
    probe.answerLimit = answerTimeout
    probe.bearer = bearer(over: line, serverMTU: 23)
    do {
      try await probe.open()
      let answer = try await probe.request([0x02, 0x05, 0x02])
      guard answer.count == 3, answer[0] == 0x03 else {
        throw noAnswer(path, "Exchange MTU gives [\(Wire.hex(answer, limit: 16))]")
      }
      probe.handles = try await probe.findService()
      let refusal = try await probe.request([0x12, 6, 0, 0x7B])
      return Device(
        serverMTU: Int(Wire.word(answer, at: 1)), isStrict: refusal != [0x13], handles: probe.handles)
    } catch CaseEnd.finding(let finding) {
      throw noAnswer(path, finding.message)
    }
  }

  private static func noAnswer(_ path: String, _ reason: String) -> Failure {
    Failure(
      untestable: path, reason, remedy: "check that the device runs, and serves its attributes there")
  }

  /// Connects, and waits for the link if there is one. A device that is away is silent: after some
  /// cases the run ends.
  private static func connect(to path: String, _ air: Air?, _ links: Links) async throws -> ChannelLine.Port {
    let port = try await connect(to: path)
    guard let air else { return port }
    do {
      links.interval = try await air.awaitLink()
      return port
    } catch {
      port.channel.close(promise: nil)
      guard links.interval != nil, !(error is CancellationError) else { throw error }
      throw RigTrouble("\(error)", remedy: "then run the rest of the suite", part: .silent)
    }
  }

  private static func connect(to path: String) async throws -> ChannelLine.Port {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let inbox = loop.makePromise(of: NIOLoopBound<ChannelInbox>.self)
    do {
      let channel = try await ClientBootstrap(group: loop)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let handler = ChannelInbox(loop: channel.eventLoop)
            try channel.pipeline.syncOperations.addHandler(handler)
            inbox.succeed(NIOLoopBound(handler, eventLoop: channel.eventLoop))
          }
        }
        .connect(unixDomainSocketPath: path).get()
      return ChannelLine.Port(
        channel: channel, inbox: try await inbox.futureResult.get(), isShutDownFirst: true)
    } catch {
      inbox.fail(error)
      throw PortError(.unreachable(errorText(error)), port: "att:\(path)", operation: "connect to")
    }
  }
}

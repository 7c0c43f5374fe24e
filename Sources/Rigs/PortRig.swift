package import Conformance
import DeviceEmulator
import Glibc
import NIOCore
import NIOPosix
import NotibotProtocol
package import SerialLink
import SuiteWire

/// A device on any port, in real time: a board, or an emulator in another process.
package final class PortRig: Rig {
  /// The number of SYNs, 500 ms apart, that a device can leave unanswered before it counts as
  /// missing. The interval of the probe's SYNs.
  private static let openingInterval = Duration.milliseconds(500)
  /// How often the first request is sent, each time in a new session.
  private static let requestsLimit = 4
  /// How long a USB device that was away can take to be a port again.
  private static let returnLimit = Duration.seconds(30)

  package let name: String
  package private(set) var offers: Set<Need>
  /// The boot id when the port was opened: eight hexadecimal digits; nil if a control socket
  /// reports the device's capabilities.
  package private(set) var bootID: String?
  private let port: PortName
  private let line: ChannelLine
  private var handles = HandleMap()
  private let control: (any DeviceControl)?
  /// Whether a case has set the device's clock.
  private var hasSetClock = false
  private let wrapLine: (any Line) -> any Line

  /// Opens the port and determines the capabilities of the device: it writes an invalid
  /// notification to find out whether it can refuse a write.
  ///
  /// - Parameters:
  ///   - control: the socket of the emulator behind the port; nil for a board.
  ///   - deviceID: the required device; nil for any device. Checked before anything else is
  ///     written.
  ///   - answerTimeout: the timeout of the first answer.
  /// - Throws: `PortError` if the port cannot be opened, `Failure` if no device on it uses the
  ///   protocol, of kind `noBoard` if another device answers than the named one.
  package static func open(
    _ port: PortName, name: String, options: SerialOptions = SerialOptions(),
    control: String? = nil, deviceID: String? = nil, answerTimeout: Duration = .seconds(1.5),
    wrapLine: @escaping (any Line) -> any Line = { $0 }
  ) async throws -> PortRig {
    try await open(
      port, name: name, options: options, deviceID: deviceID, answerTimeout: answerTimeout,
      wrapLine: wrapLine
    ) { line in control.map { SocketControl(client: ControlClient(path: $0), line: line) } }
  }

  /// The same with another control channel, which `makeControl` makes; nil for none.
  static func open(
    _ port: PortName, name: String, options: SerialOptions = SerialOptions(),
    deviceID: String? = nil,
    answerTimeout: Duration = .seconds(1.5),
    wrapLine: @escaping (any Line) -> any Line = { $0 }, makeControl: (ChannelLine) -> (any DeviceControl)?
  ) async throws -> PortRig {
    let line = try await ChannelLine { try await openChannel(port, options) }
    do {
      let socket = makeControl(line)
      let attempts = max(1, Int(answerTimeout / openingInterval))
      var (offers, bootID, handles) = try await learnOffers(
        line, hasControl: socket != nil, name: name, deviceID: deviceID, attempts: attempts)
      offers.formUnion([.reopen, .session])
      let rig = PortRig(
        name: name, offers: offers, port: port, line: line, control: socket, wrapLine: wrapLine)
      rig.bootID = bootID.map { Wire.hexNumber($0) }
      rig.handles = handles
      return rig
    } catch let error as Failure where error.kind != .noBoard {
      await line.close()
      // Without a lock another program can have the port open as well, and read the answers.
      if let path = port.address?.path, let user = PortHolder.user(of: path) {
        throw PortError(.busy(user), port: name, operation: "test")
      }
      throw error
    } catch {
      await line.close()
      throw error
    }
  }

  static func openChannel(
    _ port: PortName, _ options: SerialOptions
  ) async throws -> ChannelLine.Port {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let inbox = loop.makePromise(of: NIOLoopBound<ChannelInbox>.self)
    do throws(PortError) {
      // A board that comes back can be at another path.
      let address = try PortList().address(of: port)
      let channel = try await SerialChannel.open(address, options: options, on: loop) { channel in
        let handler = ChannelInbox(loop: channel.eventLoop)
        try channel.pipeline.syncOperations.addHandler(handler)
        inbox.succeed(NIOLoopBound(handler, eventLoop: channel.eventLoop))
      }
      return ChannelLine.Port(channel: channel, inbox: try await futureValue(inbox, address))
    } catch {
      inbox.fail(error)
      throw error
    }
  }

  private static func futureValue(
    _ inbox: EventLoopPromise<NIOLoopBound<ChannelInbox>>, _ address: PortAddress
  ) async throws(PortError) -> NIOLoopBound<ChannelInbox> {
    do {
      return try await inbox.futureResult.get()
    } catch {
      throw PortError(.deviceGone, port: address.description, operation: "open")
    }
  }

  private init(
    name: String, offers: Set<Need>, port: PortName, line: ChannelLine, control: (any DeviceControl)?,
    wrapLine: @escaping (any Line) -> any Line
  ) {
    self.name = name
    self.offers = offers
    self.port = port
    self.line = line
    self.control = control
    self.wrapLine = wrapLine
  }

  package func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench {
    try await control?.prepare(for: testCase)
    let bench = Bench(line: wrapLine(line), control: control, clock: .real, seed: seed)
    bench.reopenPort = { try await self.reopen() }
    // The device could have seen the nonces of an earlier run with this seed.
    bench.probe.identities = SeededGenerator(seed: .random(in: 0 ... .max))
    bench.probe.handles = handles
    if control == nil { bench.probe.footprint = Footprint(handles) }
    do {
      try await settle()
    } catch is RigTrouble {
      // A case can have left the plug pulled, or a board come back on its own: one more try
      // decides.
      try? await control?.perform(.plug)
      try await reopen()
      try await settle()
    }
    return bench
  }

  /// Opens the port again; waits for one that is not there yet, as a USB device that was plugged in
  /// again, until udev has finished with it.
  private func reopen() async throws {
    let end = ContinuousClock.now + Self.returnLimit
    while true {
      do {
        try await line.reopen()
        return
      } catch let error as PortError where error.isAbsence {
        try Task.checkCancellation()
        guard ContinuousClock.now < end else { throw RigTrouble.portIsGone(error) }
        await PortWait.forArrival(
          at: port.address?.path, upTo: Self.openingInterval,
          on: MultiThreadedEventLoopGroup.singleton.next())
      }
    }
  }

  package func finish(_ bench: Bench) async {
    // On a board the footprint of each case says so, and is removed.
    if control != nil, bench.probe.hasSetClock { hasSetClock = true }
    guard bench.probe.session.id != 0 else { return }
    await bench.tidyUp()
    // Only cleans up: the next case reports a lost line.
    try? await bench.probe.line.write([0] + bench.probe.frame(.fin).bytes)
  }

  package func close() async {
    await (control as? SocketControl)?.giveBack()
    if hasSetClock { await giveBackClock() }
    await line.close()
  }

  /// Sets the device's clock to the time; the cases have set it to theirs. In a cancelled task,
  /// which waits for nothing, the session stays open.
  private func giveBackClock() async {
    let probe = Probe(line: line, role: .host, record: Record(), seed: .random(in: 0 ... .max))
    let tlvs = Probe.synTLVs(nonce: probe.makeNonce()) + [.clock(UInt64(max(0, time(nil))))]
    try? await line.write([0] + probe.syn(tlvs).bytes)
    guard let reply = try? await probe.awaitFrame(.synAck, within: .seconds(1)) else { return }
    probe.session.id = reply.session
    try? await line.write(probe.frame(.fin).bytes)
  }

  /// Reads until the line has been quiet for a moment, so that no case receives data of the
  /// previous one.
  private func settle() async throws {
    let end = line.now + .milliseconds(500)
    while line.now < end, try await !line.read(until: line.now + .milliseconds(2)).isEmpty {}
  }

  private static func learnOffers(
    _ line: ChannelLine, hasControl: Bool, name: String, deviceID: String?, attempts: Int
  ) async throws -> (offers: Set<Need>, bootID: UInt64?, handles: HandleMap) {
    let seed = UInt64.random(in: 0 ... .max)
    let probe = Probe(line: line, role: .host, record: Record(), seed: seed)
    if hasControl, deviceID == nil {
      // A device that does not answer fails its cases.
      let handles = (try? await findService(of: probe, attempts: 1)) ?? HandleMap()
      return ([.control, .strict, .firmwareMode], nil, handles)
    }
    do {
      try await probe.open(attempts: attempts)
      if let deviceID {
        let answer = probe.session.announced.value(of: 0x0E)?.map { Wire.hex([$0]).uppercased() }.joined(
          separator: ":")
        guard let answer, answer == deviceID.uppercased() else {
          try await line.write(probe.frame(.fin).bytes)
          let seen = answer ?? "one without an id"
          throw Failure(
            .noBoard, "\(name.printable): the device here is \(seen.printable), not \(deviceID.printable)",
            remedy: "find its port with: notibot devices --probe")
        }
      }
      if hasControl {
        let handles = try await probe.findService()
        try await line.write(probe.frame(.fin).bytes)
        return ([.control, .strict, .firmwareMode], probe.session.bootID, handles)
      }
      let answer = try await firstAnswer(to: probe, attempts: attempts)
      let bootID = probe.session.bootID
      // A device that does this wrong fails cases, and is judged there.
      try? await probe.pushOutOtherWriters()
      try await line.write(probe.frame(.fin).bytes)
      return (answer == [0x13] ? [.firmwareMode] : [.strict], bootID, probe.handles)
    } catch CaseEnd.finding(let finding) {
      throw noAnswer(of: probe, finding, port: name)
    }
  }

  private static func findService(of probe: Probe, attempts: Int) async throws -> HandleMap {
    try await probe.open(attempts: attempts)
    let handles = try await probe.findService()
    try await probe.write(probe.frame(.fin))
    return handles
  }

  /// Why a device cannot be tested: what it has sent decides before what is missing.
  private static func noAnswer(of probe: Probe, _ finding: Finding, port: String) -> Failure {
    var decoder = FrameDecoder(receiving: .fromDevice)
    decoder.receive(probe.record.received)
    decoder.flushCandidateAsText()
    var evidence = ConsoleEvidence()
    var refusal: Rst?
    while let event = decoder.nextEvent() {
      switch event {
      case .text(let text): evidence.receive(text)
      case .frame(let frame) where frame.header.type == .rst: refusal = try? Rst(parsing: frame.payload)
      case .frame: break
      }
    }
    let why = evidence.finding(echoes: decoder.counters.echoes, frames: decoder.counters.frames)
    let ofText = Failure(untestable: port, why.reason, kind: why.kind, remedy: why.hint)
    if why.kind == .deviceRestarted { return ofText }
    if probe.session.id != 0 {
      return Failure(
        untestable: port, "it opens a session, but \(finding.message)",
        remedy: "its firmware does not keep the protocol: read its console text with notibot monitor")
    }
    guard let refusal else { return ofText }
    return Failure(
      untestable: port,
      "it refuses the session (RST reason \(refusal.reason.wire), "
        + "versions \(refusal.versions.lowest) to \(refusal.versions.highest))",
      kind: .refused, remedy: "update its firmware, or report this to its developers")
  }

  /// Finds the service, and returns the answer to an invalid notification. A device that has
  /// answered the SYN is asked again in another session: with many boards on a busy computer one
  /// missing answer proves nothing.
  private static func firstAnswer(to probe: Probe, attempts: Int) async throws -> [UInt8] {
    let ask = {
      probe.handles = HandleMap()
      probe.handles = try await probe.findService()
      return try await probe.request([0x12, 6, 0, 0x7B])
    }
    for _ in 1..<requestsLimit {
      do {
        return try await ask()
      } catch CaseEnd.finding {
        try await probe.open(attempts: attempts)
      }
    }
    return try await ask()
  }
}

extension Failure {
  /// The port opens, but no device on it uses the protocol.
  init(
    untestable port: String, _ reason: String, kind: FailureKind = .noAnswer,
    remedy: String = "check that the board runs firmware that speaks it, and the baud rate"
  ) {
    let text = "\(port): the device on this port cannot be tested: \(reason)"
    self.init(kind, text.printable, remedy: remedy)
  }
}

extension PortError {
  /// Whether there is no such port, or it is just coming or leaving.
  fileprivate var isAbsence: Bool {
    switch code {
    // Before udev has applied its rules, the permission is missing.
    case .notFound, .nodeMissing, .noBoard, .deviceGone, .permissionDenied: true
    case .ambiguous, .severalInterfaces, .busy, .locked, .serverBusy, .notATTY, .noModemLines,
      .unsupportedBaud, .badPortName,
      .unavailableForm, .badRate, .linkOccupied, .badPlace, .placeRefused, .unreachable, .share,
      .unconfirmed, .noTerminals, .noVirtualUSB, .system:
      false
    }
  }
}

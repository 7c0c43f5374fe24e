import DeviceEmulator
import NIOCore
import NIOPosix
import NotibotProtocol
package import SerialLink

/// A device on any port, in real time: a board, or an emulator in another process.
package final class PortRig: Rig {
  /// SYNs that a device may leave unanswered, 500 ms apart, before it is not one.
  /// How far apart the probe's SYNs are.
  private static let openingInterval = Duration.milliseconds(500)

  package let name: String
  package private(set) var offers: Set<Need>
  /// When the port was opened: eight hexadecimal digits; nil where a control socket says what the device offers.
  package private(set) var bootID: String?
  private let line: ChannelLine
  private let control: (any DeviceControl)?
  private let wrapLine: (any Line) -> any Line

  /// Opens the port and learns what the device offers: whether it can refuse a write is found out by writing
  /// it what is no notification.
  ///
  /// - Parameters:
  ///   - control: the socket of the emulator behind the port; nil for a board.
  ///   - deviceID: who the device must be; nil: whoever answers. Asked before anything else is written.
  ///   - answerTimeout: how long the device has to answer the first time.
  /// - Throws: `PortError` when the port cannot be opened, `NoAnswer` when nothing on it speaks the protocol, `WrongDevice`.
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

  /// The same with another way round the line, which `makeControl` makes; nil for none.
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
      var (offers, bootID) = try await learnOffers(
        line, hasControl: socket != nil, name: name, deviceID: deviceID, attempts: attempts)
      offers.formUnion([.reopen, .session])
      let rig = PortRig(name: name, offers: offers, line: line, control: socket, wrapLine: wrapLine)
      rig.bootID = bootID.map { Wire.hexNumber($0) }
      return rig
    } catch let error as NoAnswer {
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

  private static func openChannel(
    _ port: PortName, _ options: SerialOptions
  ) async throws -> ChannelLine.Port {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let inbox = loop.makePromise(of: NIOLoopBound<ChannelInbox>.self)
    do throws(PortError) {
      // A board that comes back may be at another path.
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
    name: String, offers: Set<Need>, line: ChannelLine, control: (any DeviceControl)?,
    wrapLine: @escaping (any Line) -> any Line
  ) {
    self.name = name
    self.offers = offers
    self.line = line
    self.control = control
    self.wrapLine = wrapLine
  }

  package func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench {
    if let control {
      try await control.perform(.resume)
      try await control.perform(testCase.needs.contains(.firmwareMode) ? .firmwareMode : .strictMode)
      try await control.perform(.fill(0))
      try await control.perform(.clear)
    }
    let bench = Bench(line: wrapLine(line), control: control, clock: .real, seed: seed)
    bench.reopenPort = { [line] in try await line.reopen() }
    // The device may have seen what an earlier run with this seed has drawn.
    bench.probe.identities = SeededGenerator(seed: .random(in: 0 ... .max))
    if control == nil { bench.probe.footprint = Footprint() }
    do {
      try await settle()
    } catch is RigTrouble {
      // A case may have left the port pulled out, or a board come back on its own: one more try decides.
      try? await control?.perform(.plug)
      try await line.reopen()
      try await settle()
    }
    return bench
  }

  package func finish(_ bench: Bench) async {
    guard bench.probe.session.id != 0 else { return }
    await bench.tidyUp()
    // Only tidies up: a line that is gone is told by the next case.
    try? await bench.probe.line.write([0] + bench.probe.frame(.fin).bytes)
  }

  package func close() async {
    await line.close()
  }

  /// Reads until the line has been quiet for a moment, so that no case sees what was meant for the one before.
  private func settle() async throws {
    let end = line.now + .milliseconds(500)
    while line.now < end, try await !line.read(until: line.now + .milliseconds(2)).isEmpty {}
  }

  private static func learnOffers(
    _ line: ChannelLine, hasControl: Bool, name: String, deviceID: String?, attempts: Int
  ) async throws -> (offers: Set<Need>, bootID: UInt64?) {
    if hasControl, deviceID == nil { return ([.control, .strict, .firmwareMode], nil) }
    let seed = UInt64.random(in: 0 ... .max)
    let probe = Probe(line: line, role: .host, record: Record(), seed: seed)
    do {
      try await probe.open(attempts: attempts)
      if let deviceID {
        let answer = probe.session.announced.value(of: 0x0E)?.map { Wire.hex([$0]).uppercased() }.joined(
          separator: ":")
        guard let answer, answer == deviceID.uppercased() else {
          try await line.write(probe.frame(.fin).bytes)
          throw WrongDevice(port: name, wanted: deviceID, seen: answer)
        }
      }
      if hasControl {
        try await line.write(probe.frame(.fin).bytes)
        return ([.control, .strict, .firmwareMode], probe.session.bootID)
      }
      let answer = try await probe.request([0x12, 6, 0, 0x7B])
      let bootID = probe.session.bootID
      // A device that does this wrong fails cases, which is where it is judged.
      try? await probe.pushOutOtherWriters()
      try await line.write(probe.frame(.fin).bytes)
      return (answer == [0x13] ? [.firmwareMode] : [.strict], bootID)
    } catch let finding as Finding {
      throw NoAnswer(port: name, cause: finding.message)
    }
  }

  /// Another device answers than the one that was named.
  package struct WrongDevice: Error, CustomStringConvertible {
    package let port: String
    package let wanted: String
    package let seen: String?
    package var description: String { "the device here is \(seen ?? "one without an id"), not \(wanted)" }
    package var remedy: String { "see where it is with: notibot devices --probe" }
  }

  /// The port opens, and nothing on it speaks the protocol.
  package struct NoAnswer: Error, CustomStringConvertible {
    package let port: String
    package let cause: String
    package var description: String { "nothing on this port answers as a Notibot: \(cause)" }
    package var remedy: String { "check that the board runs firmware that speaks it, and the baud rate" }
  }
}

/// The way round the line through an emulator's control socket.
final class SocketControl: DeviceControl {
  private let client: ControlClient
  private let line: ChannelLine

  init(client: ControlClient, line: ChannelLine) {
    self.client = client
    self.line = line
  }

  func perform(_ command: ControlCommand) async throws {
    let end = line.now + .seconds(3)
    while true {
      let reply: ControlReply
      do {
        reply = try await client.perform(command.emulatorCommand)
      } catch {
        throw RigTrouble("\(error)", remedy: "see whether the emulator still runs")
      }
      if reply.ok { return }
      let reason = reply.error ?? "no reason given"
      // A case that failed may have left the device restarting; what it says meanwhile is nobody's.
      guard reason.contains("restarting"), line.now < end else {
        throw RigTrouble("the emulator refuses \(command): \(reason)", remedy: "see the emulator's log")
      }
      _ = try await line.read(until: line.now + .milliseconds(20))
    }
  }

  func receiverCounters() async throws -> ReceiverCounters {
    let reply: ControlReply
    do {
      reply = try await client.perform(.device(.statistics))
    } catch {
      throw RigTrouble("\(error)", remedy: "see whether the emulator still runs")
    }
    guard let statistics = reply.statistics else {
      throw RigTrouble("the emulator reports no statistics", remedy: "see the emulator's log")
    }
    return ReceiverCounters(statistics)
  }
}

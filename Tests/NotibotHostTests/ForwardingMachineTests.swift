import NotibotProtocol
import Testing

@testable import NotibotHost

/// Supervisor, host and outbox together, with a device that the test simulates frame by frame.
struct ForwardingMachineTests {
  struct Rig {
    static let source: UInt32 = 0xC0FF_EE01

    var machine: ForwardingMachine
    var display = ModelDisplay()
    var now = Instant.zero
    var actions: [ForwardingAction] = []
    var syns: [Syn] = []
    var finsCount = 0
    /// Whether the device answers at all, and whether it answers writes.
    var answers = true
    var answersWrites = true
    var answersFIN = true
    var ports = ["/dev/ttyUSB0"]
    private var decoder = FrameDecoder(receiving: .fromHost)
    private var sequence: UInt8 = 0
    private var ack: UInt8 = 0

    init(_ configuration: ForwardingConfiguration = ForwardingConfiguration()) {
      var header = JournalHeader(source: Self.source)
      header.run = 4
      machine = ForwardingMachine(
        configuration: configuration, journal: JournalContents(header: header), seed: 1)
    }

    /// Executes the machine's actions, as a driver with one good port; records them for the test.
    mutating func drain() {
      while let action = machine.nextAction() {
        switch action {
        case .write(let bytes): receive(bytes)
        case .findPorts:
          actions.append(action)
          machine.portsFound(ports, now: now)
        case .open:
          actions.append(action)
          machine.portOpened(now: now)
        case .commit:
          actions.append(action)
          machine.committed(now: now)
        case .close, .report, .connection, .text, .finished: actions.append(action)
        }
      }
    }

    mutating func pass(_ duration: Duration) {
      let end = now + duration
      while let deadline = machine.nextDeadline, deadline <= end {
        now = max(now, deadline)
        machine.handleTimeout(now: now)
        drain()
      }
      now = end
    }

    mutating func perform(_ body: (inout ForwardingMachine, Instant) -> Void) {
      body(&machine, now)
      drain()
    }

    mutating func drainActions() -> [ForwardingAction] {
      defer { actions = [] }
      return actions
    }

    var reports: [OutboxReport] {
      actions.compactMap { if case .report(let report) = $0 { report } else { nil } }
    }

    var states: [ConnectionChange.State] {
      actions.compactMap { if case .connection(let change) = $0 { change.state } else { nil } }
    }

    // MARK: The device

    mutating func say(_ frame: Frame) {
      machine.receive(frame.encoded().span, now: now)
    }

    private mutating func receive(_ bytes: [UInt8]) {
      decoder.receive(bytes)
      while let event = decoder.nextEvent() {
        guard case .frame(let frame) = event, answers else { continue }
        receive(frame)
      }
    }

    private mutating func receive(_ frame: Frame) {
      switch frame.header.type {
      case .syn:
        guard let syn = try? Syn(parsing: frame.payload) else { return }
        syns.append(syn)
        sequence = 0
        ack = 0
        let features: Features =
          display.hasIdentity ? [.pipelinedRequests, .optionalKeys, .sync] : [.pipelinedRequests]
        say(ScriptedDevice.synack(nonce: syn.nonce, bootID: display.bootID, features: features))
      case .fin:
        finsCount += 1
        if answersFIN { say(ScriptedDevice.frame(.ack, ack: ack)) }
      case .data:
        ack = frame.header.sequence &+ 1
        answer(frame)
      case .hello, .synack, .ack, .nak, .udata, .ping, .pong, .rst: break
      }
    }

    private mutating func answer(_ frame: Frame) {
      if frame.header.channel == .link {
        guard case .sync(let request)? = try? SyncMessage(parsing: frame.payload) else { return }
        return handle(display.sync(request))
      }
      switch frame.payload[0] {
      case 0x02: send([0x03, 0x05, 0x02])
      case 0x12 where frame.payload[1] == 6:
        guard answersWrites else { return }
        handle(display.write(Array(frame.payload[3...]), tag: 0))
      case 0x12: send([0x13])
      case _: break
      }
    }

    mutating func handle(_ messages: [ModelDisplay.Message]) {
      for message in messages {
        switch message {
        case .answered(_, .refused(let error)): send([0x01, 0x12, 6, 0, error.rawValue])
        case .answered: send([0x13])
        case .event(let event): send([0x1B, 6, 0] + event.encoded())
        case .sync(let message): send(message.encoded(), channel: .link)
        case .count(let count): send([0x1B, 3, 0, UInt8(count), 0])
        }
      }
    }

    private mutating func send(_ payload: [UInt8], channel: Channel = .att) {
      say(
        ScriptedDevice.frame(
          .data, channel: channel, sequence: sequence, ack: ack, credit: 16, payload: payload))
      sequence &+= 1
    }
  }

  private static func notification(_ text: String) -> DisplayNotification { OutboxWorld.notification(text) }
  private static let first = OutboxNumber(rawValue: 1)

  private static func makeUp(_ configuration: ForwardingConfiguration = ForwardingConfiguration()) -> Rig {
    var rig = Rig(configuration)
    rig.perform { $0.start(now: $1) }
    rig.pass(.milliseconds(50))
    return rig
  }

  @Test func `it finds the port, opens a session as the journal's source, and delivers queued entries`() {
    var rig = Rig()
    rig.perform { $0.submit(.add(Self.notification("a")), token: 7, now: $1) }
    #expect(rig.reports == [.queued(Self.first, token: 7)])
    rig.perform { $0.setClock(HostClock(seconds: 1000, zoneOffsetMinutes: 60), now: $1) }
    rig.pass(.seconds(5))
    rig.perform { $0.start(now: $1) }
    rig.pass(.milliseconds(50))
    #expect(rig.syns.map(\.source) == [Rig.source])
    #expect(rig.syns.map(\.run) == [4])
    #expect(rig.syns.map(\.clock) == [HostClock(seconds: 1005, zoneOffsetMinutes: 60)])
    #expect(rig.display.shown.map(\.text) == ["a"])
    #expect(rig.reports.suffix(2) == [.synced(rounds: 0), .delivered(Self.first)])
    #expect(rig.machine.isIdle)
    #expect(rig.machine.statistics.entries == 1)
  }

  @Test func `a HELLO alone reports a restart and opens the next session, without a later input`() {
    var rig = Self.makeUp()
    rig.perform { $0.submit(.add(Self.notification("a")), token: 1, now: $1) }
    rig.pass(.milliseconds(50))
    _ = rig.drainActions()
    rig.display.restart()
    rig.say(ScriptedDevice.hello(bootID: rig.display.bootID))
    rig.drain()
    let reasons = rig.actions.compactMap { action -> ConnectionReason? in
      if case .connection(let change) = action { change.reason } else { nil }
    }
    #expect(reasons == [.deviceRestarted, .deviceRestarted, .answered])
    #expect(rig.display.shown.map(\.text) == ["a"])
  }

  @Test func `a lost port leads to another session, which compares everything`() {
    var rig = Self.makeUp()
    rig.perform { $0.submit(.add(Self.notification("a")), token: 1, now: $1) }
    rig.pass(.milliseconds(50))
    _ = rig.drainActions()
    rig.perform { $0.receiveEndOfStream(now: $1) }
    rig.pass(.seconds(1))
    #expect(rig.drainActions().contains(.report(.synced(rounds: 0))))
    #expect(rig.syns.count == 2)
    #expect(rig.syns[0].nonce != rig.syns[1].nonce)
  }

  @Test func `a write in flight when the port is lost is delivered once`() {
    var rig = Self.makeUp()
    rig.answersWrites = false
    rig.perform { $0.submit(.add(Self.notification("a")), token: 1, now: $1) }
    rig.pass(.milliseconds(50))
    rig.answersWrites = true
    rig.perform { $0.receiveEndOfStream(now: $1) }
    rig.pass(.seconds(1))
    #expect(rig.display.shown.map(\.text) == ["a"])
    #expect(rig.reports.filter { $0 == .delivered(Self.first) }.count == 1)
  }

  @Test func `events and counts of the device reach the outbox`() {
    var rig = Self.makeUp()
    rig.perform { $0.submit(.add(Self.notification("a")), token: 1, now: $1) }
    rig.pass(.milliseconds(50))
    _ = rig.drainActions()
    rig.handle(rig.display.leave(1, of: Rig.source, .dismissed))
    rig.drain()
    rig.pass(.milliseconds(50))
    #expect(rig.reports == [.gone(Self.first, .dismissed)])
    #expect(rig.display.sources[Rig.source]?.gone == [:])
  }

  @Test func `finish waits until all is delivered, sends FIN and closes`() {
    var rig = Self.makeUp()
    rig.display.capacity = 0
    rig.perform { $0.submit(.add(Self.notification("a")), token: 1, now: $1) }
    rig.perform { $0.finish(now: $1) }
    rig.pass(.seconds(1))
    #expect(!rig.actions.contains(.finished))
    rig.display.capacity = 1
    rig.pass(.seconds(10))
    #expect(rig.finsCount == 1)
    #expect(rig.reports.last == .delivered(Self.first))
    #expect(rig.actions.last == .finished)
    #expect(rig.actions.contains(.close))
    #expect(rig.machine.nextDeadline == nil)
  }

  @Test func `finish without a board and without entries ends at once`() {
    var rig = Rig()
    rig.answers = false
    rig.perform { $0.start(now: $1) }
    rig.perform { $0.finish(now: $1) }
    #expect(rig.drainActions().last == .finished)
  }

  @Test func `stop waits at most two seconds for an answer`() {
    var rig = Self.makeUp()
    rig.answersWrites = false
    rig.perform { $0.submit(.add(Self.notification("a")), token: 1, now: $1) }
    rig.perform { $0.submit(.add(Self.notification("b")), token: 2, now: $1) }
    rig.perform { $0.stop(now: $1) }
    let start = rig.now
    while rig.actions.last != .finished, rig.now - start < .seconds(5) { rig.pass(.milliseconds(10)) }
    #expect(rig.actions.last == .finished)
    #expect(rig.now - start <= .milliseconds(2210))
    #expect(rig.now - start >= .seconds(2))
    #expect(rig.finsCount == 1)
    #expect(rig.machine.entriesCount == 2)
  }

  @Test func `stop ends even if its timer fires late`() {
    var rig = Self.makeUp()
    rig.answersWrites = false
    rig.perform { $0.submit(.add(Self.notification("a")), token: 1, now: $1) }
    rig.perform { $0.stop(now: $1) }
    rig.now = rig.now + .milliseconds(2500)
    rig.perform { $0.handleTimeout(now: $1) }
    #expect(rig.actions.last == .finished)
    #expect(rig.finsCount == 1)
  }

  @Test func `stop without a port ends at once`() {
    var rig = Rig()
    rig.ports = []
    rig.perform { $0.start(now: $1) }
    rig.perform { $0.stop(now: $1) }
    #expect(rig.actions.last == .finished)
  }

  @Test func `stop without writes in flight ends when the device acknowledges it`() {
    var rig = Self.makeUp()
    rig.perform { $0.stop(now: $1) }
    #expect(rig.actions.last == .finished)
    #expect(rig.finsCount == 1)
    rig.perform { $0.submit(.add(Self.notification("a")), token: 9, now: $1) }
    #expect(rig.reports.last == .rejected(.stopped, token: 9))
  }

  @Test func `a failed commit ends it`() {
    var rig = Self.makeUp()
    rig.machine.submit(.add(Self.notification("a")), token: 1, now: rig.now)
    rig.machine.commitFailed(now: rig.now)
    rig.drain()
    // The driver of this test confirms each commit, which has no effect after a failed one.
    #expect(rig.reports.contains(.rejected(.journalFailed, token: 1)))
    #expect(rig.actions.last == .finished)
    #expect(rig.display.shown.isEmpty)
    rig.perform { $0.submit(.add(Self.notification("b")), token: 2, now: $1) }
    #expect(rig.reports.last == .rejected(.journalFailed, token: 2))
  }

  @Test func `a permanent port failure ends it, and queued entries stay in the journal`() {
    var machine = Rig().machine
    machine.submit(.add(Self.notification("a")), token: 1, now: .zero)
    machine.start(now: .zero)
    let failure = PortFailure(
      code: .noPermission, port: "/dev/ttyUSB0", reason: "permission denied", healsByWaiting: false)
    machine.openFailed(failure, now: .zero)
    var actions: [ForwardingAction] = []
    while let action = machine.nextAction() { actions.append(action) }
    #expect(actions.contains(.connection(ConnectionChange(.ended, .openFailed(failure)))))
    #expect(!actions.contains(.finished))
    machine.committed(now: .zero)
    #expect(machine.nextAction() == .report(.queued(Self.first, token: 1)))
    #expect(machine.nextAction() == .finished)
  }

  @Test func `another board is left alone with all that waits`() {
    var configuration = ForwardingConfiguration()
    configuration.supervisor.expectedDeviceID = "24:6F:28:AA:BB:CC"
    var rig = Rig(configuration)
    rig.perform { $0.submit(.add(Self.notification("a")), token: 1, now: $1) }
    rig.perform { $0.start(now: $1) }
    rig.pass(.seconds(1))
    #expect(rig.display.shown.isEmpty)
    #expect(rig.finsCount > 0)
    #expect(rig.actions.contains(.close))
    #expect(!rig.states.contains { if case .up = $0 { true } else { false } })
  }

  @Test func `the next port is asked at once, whether or not the other board answered the FIN`() {
    var configuration = ForwardingConfiguration()
    configuration.supervisor.expectedDeviceID = "24:6F:28:AA:BB:CC"
    var rig = Rig(configuration)
    rig.answersFIN = false
    rig.ports = ["/dev/ttyUSB0", "/dev/ttyUSB1"]
    rig.perform { $0.start(now: $1) }
    rig.pass(.milliseconds(20))
    #expect(rig.syns.count == 2)
    #expect(rig.finsCount == 2)
  }

  @Test func `text of the console is handed on`() {
    var rig = Self.makeUp()
    rig.machine.receive(Array("I (12) boot\n".utf8).span, now: rig.now)
    rig.drain()
    #expect(rig.actions.contains(.text(Array("I (12) boot\n".utf8))))
  }
}

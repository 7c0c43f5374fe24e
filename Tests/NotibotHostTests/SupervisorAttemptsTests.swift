import NotibotProtocol
import Testing

@testable import NotibotHost

/// The limits of a supervisor's attempts: pauses, avoided ports, remembered reports.
struct SupervisorAttemptsTests {
  @Test func `attempts that end before their session opens are repeated with growing pauses`() {
    var port = SupervisedPort.make(.connecting)
    port.machine.sessionEnded(.deviceRestarted(bootID: 2), now: port.now)
    #expect(port.name == .connecting)
    var pauses: [Duration] = []
    for bootID in 3...7 as ClosedRange<UInt32> {
      port.machine.sessionEnded(.deviceRestarted(bootID: bootID), now: port.now)
      if let pause = port.passToDeadline() { pauses.append(pause) }
    }
    #expect(pauses == [100, 200, 400, 800, 1600].map { .milliseconds($0) })
  }

  @Test func `an attempt without a result is given up after 15 s, reported once, and repeated`() {
    var port = SupervisedPort.make(.opening)
    for _ in 1...3 {
      #expect(port.passToDeadline() == .seconds(15))
      #expect(port.actions() == [.close])
      _ = port.passToDeadline()
      #expect(port.actions() == [.findPorts])
      port.machine.portsFound(["/p"], now: port.now)
      #expect(port.actions() == [.open(path: "/p")])
    }
    let failure = PortFailure.late("open", "/p", after: .seconds(15))
    #expect(port.changes == [ConnectionChange(.down, .openFailed(failure))])
    port.machine.portOpened(now: port.now)
    #expect(port.name == .connecting)
  }

  @Test func `the next candidate is tried after one that does not open`() {
    var port = SupervisedPort()
    port.begin(with: ["/stuck", "/p"])
    _ = port.actions()
    _ = port.passToDeadline()
    #expect(port.actions() == [.close, .open(path: "/p")])
  }

  @Test func `a search without a result is repeated`() {
    var port = SupervisedPort.make(.finding)
    #expect(port.passToDeadline() == .seconds(15))
    _ = port.passToDeadline()
    #expect(port.actions() == [.findPorts])
  }

  @Test func `a port that is lost after failures is looked for after a pause`() {
    var port = SupervisedPort.make(.resting)
    port.machine.portGone(now: port.now)
    #expect(port.passToDeadline() == .milliseconds(100))
  }

  @Test func `another board's port is tried again after 30 s`() {
    var options = SupervisorOptions()
    options.expectedDeviceID = SupervisedPort.board
    var port = SupervisedPort(options: options)
    port.becomeUp(["/a"], id: SupervisedPort.other)
    #expect(port.machine.isAvoided("/a", now: port.now + .seconds(29)))
    port.pass(.seconds(31))
    _ = port.actions()
    port.machine.portsFound(["/a"], now: port.now)
    #expect(port.actions() == [.open(path: "/a")])
  }

  @Test func `64 ports are avoided at most, and a repetition does not forget the others`() {
    var port = SupervisedPort.make(.up)
    for index in 1...SupervisorMachine.avoidedLimit { port.machine.avoid("/\(index)", now: port.now) }
    port.machine.avoid("/1", now: port.now)
    #expect(port.machine.avoided.count == SupervisorMachine.avoidedLimit)
    port.machine.avoid("/more", now: port.now)
    #expect(port.machine.avoided.keys.sorted() == ["/more"])
  }

  @Test func `64 changes are remembered as reported at most`() {
    var port = SupervisedPort.make(.up)
    port.machine.reported = []
    for index in 1...SupervisorMachine.reportedLimit {
      port.machine.report(.connecting(port: "/\(index)"), .retried)
    }
    _ = port.actions()
    port.changes = []
    port.machine.report(.connecting(port: "/1"), .retried)
    _ = port.actions()
    #expect(port.changes == [])
    port.machine.report(.connecting(port: "/more"), .retried)
    port.machine.report(.connecting(port: "/1"), .retried)
    _ = port.actions()
    #expect(port.changes.count == 2)
  }

  @Test func `a silent board in place of the missing one is avoided, the missing one is not`() {
    var port = SupervisedPort.make(.up)
    port.pass(.seconds(2))
    port.machine.portGone(now: port.now)
    for path in ["/a", "/p"] {
      port.machine.portsFound([path], now: port.now)
      port.machine.portOpened(now: port.now)
      _ = port.passToDeadline()
      #expect(port.machine.isAvoided(path, now: port.now) == (path == "/a"))
      _ = port.passToDeadline()
    }
  }

  @Test func `a port that can heal, or is lost, keeps a busy one from ending the first round`() {
    let busy = SupervisedPort.failure(.portBusy, heals: false)
    var port = SupervisedPort()
    port.begin(with: ["/missing", "/busy"])
    port.machine.openFailed(SupervisedPort.failure(.noBoard, heals: true), now: port.now)
    port.machine.openFailed(busy, now: port.now)
    #expect(port.name == .waiting)

    port = SupervisedPort()
    port.begin(with: ["/busy", "/p"])
    port.machine.openFailed(busy, now: port.now)
    port.machine.portOpened(now: port.now)
    port.machine.portGone(now: port.now)
    #expect(port.name == .waiting)
  }

  @Test func `ports are looked for at once 20 ms after the last attempt`() {
    var port = SupervisedPort.make(.waiting)
    port.now = port.now + .milliseconds(20)
    port.machine.portsChanged(now: port.now)
    #expect(port.actions() == [.findPorts])
  }

  @Test func `while no session opens, each new reason is reported once`() {
    var port = SupervisedPort.make(.up)
    port.machine.portGone(now: port.now)
    for end in [SessionEnd.noAnswer, .profileMissing, .noAnswer, .profileMissing] {
      if port.name == .resting || port.name == .waiting { _ = port.passToDeadline() }
      if port.name == .finding { port.machine.portsFound(["/p"], now: port.now) }
      if port.name == .opening { port.machine.portOpened(now: port.now) }
      #expect(port.name == .connecting)
      port.machine.sessionEnded(end, now: port.now)
      _ = port.actions()
    }
    let downs = port.changes.filter { $0.state == .down }.map(\.reason)
    #expect(downs == [.portGone, .noAnswer, ConnectionReason(.profileMissing)])
  }
}

import NotibotProtocol
import Testing

@testable import NotibotHost

/// The behaviour of a supervisor over time.
struct SupervisorBehaviourTests {
  @Test func `without a port it retries indefinitely, with doubled pauses from 0.1 to 2 s`() {
    var port = SupervisedPort()
    port.start()
    var pauses: [Duration] = []
    for _ in 0..<8 {
      port.machine.portsFound([], now: port.now)
      if let pause = port.passToDeadline() { pauses.append(pause) }
      #expect(port.actions().last == .findPorts)
    }
    let milliseconds = [100, 200, 400, 800, 1600, 2000, 2000, 2000]
    #expect(pauses == milliseconds.map { .milliseconds($0) })
  }

  @Test func `a port that opens and is lost at once is retried with growing pauses`() {
    var port = SupervisedPort()
    port.start()
    var pauses: [Duration] = []
    for _ in 0..<6 {
      port.machine.portsFound(["/p"], now: port.now)
      port.machine.portOpened(now: port.now)
      port.machine.portGone(now: port.now)
      if let pause = port.passToDeadline() { pauses.append(pause) }
    }
    #expect(pauses == [100, 200, 400, 800, 1600, 2000].map { .milliseconds($0) })
  }

  @Test func `sessions that end at once are not requested in a busy loop`() {
    var port = SupervisedPort.make(.up)
    port.machine.sessionEnded(.closedByDevice, now: port.now)
    #expect(port.name == .connecting)
    var pauses: [Duration] = []
    for _ in 0..<6 {
      port.machine.sessionOpened(SupervisedPort.info(), now: port.now)
      port.machine.sessionEnded(.closedByDevice, now: port.now)
      if let pause = port.passToDeadline() { pauses.append(pause) }
      #expect(port.name == .connecting)
    }
    #expect(pauses == [100, 200, 400, 800, 1600, 2000].map { .milliseconds($0) })
  }

  @Test(arguments: [Duration.seconds(1), .seconds(2)])
  func `a session of a second or more resets the failures`(length: Duration) {
    var port = SupervisedPort.make(.waiting)
    for _ in 0..<5 {
      _ = port.passToDeadline()
      port.machine.portsFound([], now: port.now)
    }
    _ = port.passToDeadline()
    port.machine.portsFound(["/p"], now: port.now)
    port.machine.portOpened(now: port.now)
    port.machine.sessionOpened(SupervisedPort.info(), now: port.now)
    port.pass(length)
    port.machine.portGone(now: port.now)
    #expect(port.name == .finding)
    port.machine.portsFound([], now: port.now)
    #expect(port.passToDeadline() == .milliseconds(100))
  }

  @Test func `a port is tried as soon as it appears, but at most every 20 ms`() {
    var port = SupervisedPort.make(.waiting)
    port.now = port.now + .milliseconds(5)
    port.machine.portsChanged(now: port.now)
    #expect(port.actions() == [])
    #expect(port.passToDeadline() == .milliseconds(15))
    #expect(port.actions() == [.findPorts])
    port.machine.portsFound(["/p"], now: port.now)
    port.machine.portsChanged(now: port.now)
    port.machine.openFailed(SupervisedPort.failure(.noBoard, heals: true), now: port.now)
    #expect(port.passToDeadline() == .milliseconds(20))
  }

  @Test func `without a session the port is reopened, after growing time limits`() {
    var port = SupervisedPort()
    port.start()
    var patience: [Duration] = []
    for _ in 0..<5 {
      port.machine.portsFound(["/p"], now: port.now)
      port.machine.portOpened(now: port.now)
      _ = port.actions()
      if let time = port.passToDeadline() { patience.append(time) }
      #expect(port.actions() == [.close])
      #expect(port.passToDeadline() == .milliseconds(100))
      #expect(port.actions() == [.findPorts])
    }
    #expect(patience == [2, 4, 8, 10, 10].map { .seconds($0) })
  }

  @Test func `a device that shows activity has 10 s`() {
    var port = SupervisedPort.make(.connecting)
    port.pass(.seconds(1))
    port.machine.handleSignOfLife(now: port.now)
    #expect(port.passToDeadline() == .seconds(9))
    #expect(port.actions() == [.close])
  }

  @Test func `a device that restarted has 10 s`() {
    var port = SupervisedPort.make(.up)
    port.machine.sessionEnded(.deviceRestarted(bootID: 2), now: port.now)
    #expect(port.passToDeadline() == .seconds(10))
  }

  @Test func `a permanent failure ends the first round, and only that`() {
    var port = SupervisedPort()
    port.begin(with: ["/p"])
    let busy = SupervisedPort.failure(.portBusy, heals: false)
    port.machine.openFailed(busy, now: port.now)
    _ = port.actions()
    #expect(port.changes == [ConnectionChange(.ended, .openFailed(busy))])

    port = .make(.up)
    port.pass(.seconds(2))
    port.machine.portGone(now: port.now)
    port.machine.portsFound(["/p"], now: port.now)
    port.machine.openFailed(busy, now: port.now)
    #expect(port.name == .waiting)
    _ = port.actions()
    #expect(port.changes.last == ConnectionChange(.down, .openFailed(busy)))
  }

  @Test func `a busy port among silent ones does not end it`() {
    var port = SupervisedPort()
    port.begin(with: ["/busy", "/silent"])
    port.machine.openFailed(SupervisedPort.failure(.portBusy, heals: false), now: port.now)
    port.machine.portOpened(now: port.now)
    _ = port.passToDeadline()
    #expect(port.name == .waiting)
  }

  @Test func `the board is found by its id, the port used last first`() {
    var port = SupervisedPort.make(.up)
    port.pass(.seconds(2))
    port.machine.portGone(now: port.now)
    _ = port.actions()
    port.machine.portsFound(["/a", "/p", "/b", "/a"], now: port.now)
    #expect(port.actions() == [.open(path: "/p")])
    port.machine.openFailed(SupervisedPort.failure(.noBoard, heals: true), now: port.now)
    #expect(port.actions() == [.open(path: "/a")])
    port.machine.portOpened(now: port.now)
    port.machine.sessionOpened(SupervisedPort.info(SupervisedPort.other), now: port.now)
    #expect(port.actions() == [.connect, .close, .open(path: "/b")])
    port.machine.portOpened(now: port.now)
    port.machine.sessionOpened(SupervisedPort.info(), now: port.now)
    #expect(port.name == .up)
    _ = port.actions()
    #expect(port.changes.last == ConnectionChange(.up(port: "/b", SupervisedPort.info()), .answered))
  }

  @Test func `the requested id is not case-sensitive`() {
    var options = SupervisorOptions()
    options.expectedDeviceID = SupervisedPort.board.lowercased()
    var port = SupervisedPort(options: options)
    port.becomeUp(["/a"])
    #expect(port.name == .up)
  }

  @Test func `a different board is reported once and skipped until the ports change`() {
    var options = SupervisorOptions()
    options.expectedDeviceID = SupervisedPort.board
    var port = SupervisedPort(options: options)
    port.becomeUp(["/a"], id: SupervisedPort.other)
    _ = port.actions()
    for _ in 0..<3 {
      _ = port.passToDeadline()
      port.machine.portsFound(["/a"], now: port.now)
      #expect(port.actions() == [.findPorts])
    }
    port.now = port.now + .milliseconds(50)
    port.machine.portsChanged(now: port.now)
    port.machine.portsFound(["/a"], now: port.now)
    #expect(port.actions() == [.findPorts, .open(path: "/a")])
    port.machine.portOpened(now: port.now)
    port.machine.sessionOpened(SupervisedPort.info(SupervisedPort.other), now: port.now)
    _ = port.actions()
    let reason = ConnectionReason.otherBoard(
      port: "/a", expected: SupervisedPort.board, seen: SupervisedPort.other)
    #expect(port.changes.filter { $0.reason == reason }.count == 1)
  }

  @Test func `a stand-in is replaced when the ports change`() {
    var port = SupervisedPort.make(.up)
    port.pass(.seconds(2))
    port.machine.portGone(now: port.now)
    port.machine.portsFound(["/a"], now: port.now)
    port.machine.portOpened(now: port.now)
    _ = port.actions()
    port.machine.portsChanged(now: port.now)
    #expect(port.actions() == [.close, .findPorts])
  }

  @Test func `a missing port is reported once, regardless of retries`() {
    var port = SupervisedPort.make(.up)
    port.changes = []
    port.pass(.seconds(2))
    port.machine.portGone(now: port.now)
    for _ in 0..<5 {
      port.machine.portsFound(["/p"], now: port.now)
      port.machine.openFailed(SupervisedPort.failure(.noBoard, heals: true), now: port.now)
      _ = port.passToDeadline()
    }
    port.machine.portsFound(["/p"], now: port.now)
    port.machine.portOpened(now: port.now)
    port.machine.sessionOpened(SupervisedPort.info(), now: port.now)
    _ = port.actions()
    #expect(
      port.changes.map(\.state) == [
        .down, .connecting(port: "/p"), .up(port: "/p", SupervisedPort.info()),
      ])
    #expect(port.changes.first?.reason == .portGone)
  }

  @Test func `silence is reported as suspect, and its end as up`() {
    var port = SupervisedPort.make(.up)
    port.changes = []
    port.machine.suspected(now: port.now)
    port.machine.recovered(now: port.now)
    _ = port.actions()
    let up = ConnectionChange.State.up(port: "/p", SupervisedPort.info())
    #expect(port.changes == [ConnectionChange(.suspect, .silent), ConnectionChange(up, .recovered)])
  }
}

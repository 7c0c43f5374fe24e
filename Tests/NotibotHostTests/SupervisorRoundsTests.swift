import NotibotProtocol
import Testing

@testable import NotibotHost

/// Which failures end the search for a device: only a permanent one of the first round, if nothing
/// else in that round can resolve with time.
struct SupervisorRoundsTests {
  private static let busy = SupervisedPort.failure(.portBusy, heals: false)

  @Test func `a busy port does not end it after a first round without ports`() {
    var port = SupervisedPort()
    port.begin(with: [])
    _ = port.passToDeadline()
    port.machine.portsFound(["/busy"], now: port.now)
    port.machine.openFailed(Self.busy, now: port.now)
    #expect(port.name == .waiting)
  }

  @Test func `a busy port does not end it after a first round with a silent board`() {
    var port = SupervisedPort()
    port.open(["/silent"])
    _ = port.passToDeadline()
    _ = port.passToDeadline()
    port.machine.portsFound(["/busy"], now: port.now)
    port.machine.openFailed(Self.busy, now: port.now)
    #expect(port.name == .waiting)
  }

  @Test func `a busy port after a silent board does not end it`() {
    var port = SupervisedPort()
    port.open(["/silent", "/busy"])
    _ = port.passToDeadline()
    #expect(port.name == .opening)
    port.machine.openFailed(Self.busy, now: port.now)
    #expect(port.name == .waiting)
  }

  @Test func `a busy port next to a board that refuses the session does not end it`() {
    var port = SupervisedPort()
    port.begin(with: ["/busy", "/p"])
    port.machine.openFailed(Self.busy, now: port.now)
    port.machine.portOpened(now: port.now)
    port.machine.sessionEnded(.profileMissing, now: port.now)
    #expect(port.name == .waiting)
  }

  @Test func `a busy port next to another board does not end it`() {
    var options = SupervisorOptions()
    options.expectedDeviceID = SupervisedPort.board
    var port = SupervisedPort(options: options)
    port.begin(with: ["/busy", "/p"])
    port.machine.openFailed(Self.busy, now: port.now)
    port.machine.portOpened(now: port.now)
    port.machine.sessionOpened(SupervisedPort.info(SupervisedPort.other), now: port.now)
    #expect(port.name == .waiting)
  }

  @Test func `ports that change while they are listed are listed again after 20 ms`() {
    var port = SupervisedPort.make(.finding)
    port.machine.portsChanged(now: port.now)
    port.machine.portsFound([], now: port.now)
    #expect(port.passToDeadline() == .milliseconds(20))
  }

  @Test func `a device that restarts has 10 s for its session, any other 2 s`() {
    for (end, patience) in [(SessionEnd.deviceRestarted(bootID: 2), 10), (.closedByDevice, 2)] {
      var port = SupervisedPort.make(.up)
      port.pass(.seconds(2))
      port.machine.sessionEnded(end, now: port.now)
      #expect(port.passToDeadline() == .seconds(patience))
    }
  }

  @Test func `a sign of life extends the time for a session to 10 s from its request`() {
    var port = SupervisedPort.make(.connecting)
    port.now = port.now + .seconds(1)
    port.machine.handleSignOfLife(now: port.now)
    #expect(port.passToDeadline() == .seconds(9))
  }

  @Test func `another board's port is avoided for 30 s, and not longer`() {
    var port = SupervisedPort.make(.up)
    port.machine.avoid("/a", now: port.now)
    #expect(port.machine.isAvoided("/a", now: port.now + .milliseconds(29_999)))
    #expect(!port.machine.isAvoided("/a", now: port.now + .seconds(30)))
    #expect(!port.machine.isAvoided("/b", now: port.now))
  }

  @Test func `a session of exactly a second counts as a success, a shorter one does not`() {
    for (lengthMs, isResting) in [(999, true), (1000, false)] {
      var port = SupervisedPort.make(.resting)
      _ = port.passToDeadline()
      port.machine.sessionOpened(SupervisedPort.info(), now: port.now)
      port.pass(.milliseconds(lengthMs))
      port.machine.sessionEnded(.closedByDevice, now: port.now)
      #expect((port.name == .resting) == isResting, "\(lengthMs)")
    }
  }
}

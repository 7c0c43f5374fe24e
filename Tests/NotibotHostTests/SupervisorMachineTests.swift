import NotibotProtocol
import Testing

@testable import NotibotHost

/// The next state and the actions of each event in each state.
struct SupervisorMachineTests {
  typealias Name = SupervisedPort.StateName

  /// An event, and the states that it changes; in all others it has no effect and no actions.
  struct Event {
    var name: String
    var apply: (inout SupervisedPort) -> Void
    var leads: [Name: (to: Name, actions: [SupervisorAction])]
  }

  static var events: [Event] {
    [
      Event(
        name: "start", apply: { $0.start() }, leads: [.idle: (.finding, [.findPorts])]),
      Event(
        name: "stop", apply: { $0.machine.stop(now: $0.now) },
        leads: [
          .idle: (.ended, []), .finding: (.ended, []), .opening: (.ended, []), .waiting: (.ended, []),
          .connecting: (.ended, [.close]), .resting: (.ended, [.close]), .up: (.ended, [.close]),
        ]),
      Event(
        name: "ports found", apply: { $0.machine.portsFound(["/p"], now: $0.now) },
        leads: [.finding: (.opening, [.open(path: "/p")])]),
      Event(
        name: "no ports found", apply: { $0.machine.portsFound([], now: $0.now) },
        leads: [.finding: (.waiting, [])]),
      Event(
        name: "port opened", apply: { $0.machine.portOpened(now: $0.now) },
        leads: [
          .opening: (.connecting, [.connect]), .ended: (.ended, [.close]), .waiting: (.waiting, [.close]),
        ]),
      Event(
        name: "open failed",
        apply: { $0.machine.openFailed(SupervisedPort.failure(.noBoard, heals: true), now: $0.now) },
        leads: [.finding: (.waiting, []), .opening: (.waiting, [])]),
      Event(
        name: "open failed for good",
        apply: { $0.machine.openFailed(SupervisedPort.failure(.usage, heals: false), now: $0.now) },
        leads: [.finding: (.ended, []), .opening: (.ended, [])]),
      Event(
        name: "port gone", apply: { $0.machine.portGone(now: $0.now) },
        leads: [
          .connecting: (.waiting, [.close]), .resting: (.waiting, [.close]),
          .up: (.finding, [.close, .findPorts]),
        ]),
      Event(
        name: "ports changed",
        apply: {
          $0.now = $0.now + .milliseconds(50)
          $0.machine.portsChanged(now: $0.now)
        }, leads: [.waiting: (.finding, [.findPorts])]),
      Event(
        name: "session opened", apply: { $0.machine.sessionOpened(SupervisedPort.info(), now: $0.now) },
        leads: [.connecting: (.up, [])]),
      Event(
        name: "another board's session",
        apply: {
          $0.machine.deviceID = SupervisedPort.board
          $0.machine.sessionOpened(SupervisedPort.info(SupervisedPort.other), now: $0.now)
        }, leads: [.connecting: (.waiting, [.close])]),
      Event(
        name: "no answer", apply: { $0.machine.sessionEnded(.noAnswer, now: $0.now) },
        leads: [.connecting: (.waiting, [.close]), .up: (.connecting, [.connect])]),
      Event(
        name: "no service", apply: { $0.machine.sessionEnded(.profileMissing, now: $0.now) },
        leads: [.connecting: (.waiting, [.close]), .up: (.connecting, [.connect])]),
      Event(
        name: "restart",
        apply: { $0.machine.sessionEnded(.deviceRestarted(bootID: 2), now: $0.now) },
        leads: [.connecting: (.connecting, [.connect]), .up: (.connecting, [.connect])]),
      Event(
        name: "silence for 5 s", apply: { $0.machine.sessionEnded(.silent, now: $0.now) },
        leads: [.connecting: (.connecting, [.connect]), .up: (.connecting, [.connect])]),
      Event(
        name: "closed by this side", apply: { $0.machine.sessionEnded(.closed, now: $0.now) },
        leads: [.connecting: (.ended, [.close]), .up: (.ended, [.close])]),
      Event(
        name: "the session's end by the port's", apply: { $0.machine.sessionEnded(.portGone, now: $0.now) },
        leads: [.connecting: (.waiting, [.close]), .up: (.finding, [.close, .findPorts])]),
      Event(name: "suspected", apply: { $0.machine.suspected(now: $0.now) }, leads: [:]),
      Event(name: "recovered", apply: { $0.machine.recovered(now: $0.now) }, leads: [:]),
      Event(name: "life", apply: { $0.machine.handleSignOfLife(now: $0.now) }, leads: [:]),
      Event(
        name: "time",
        apply: {
          $0.now = $0.now + .seconds(20)
          $0.machine.handleTimeout(now: $0.now)
        },
        leads: [
          .finding: (.waiting, []), .opening: (.waiting, [.close]),
          .connecting: (.waiting, [.close]), .resting: (.connecting, [.connect]),
          .waiting: (.finding, [.findPorts]),
        ]),
    ]
  }

  @Test func `each event in each state has the expected next state and actions`() {
    for event in Self.events {
      for state in Name.allCases {
        var port = SupervisedPort.make(state)
        #expect(port.name == state)
        event.apply(&port)
        let expected = event.leads[state] ?? (to: state, actions: [])
        #expect(port.name == expected.to, "\(event.name) in \(state)")
        #expect(port.actions() == expected.actions, "\(event.name) in \(state)")
      }
    }
  }

  @Test func `each state that waits for something else than a session has a deadline`() {
    for state in Name.allCases {
      let hasDeadline = SupervisedPort.make(state).machine.nextDeadline != nil
      #expect(hasDeadline == ![Name.idle, .up, .ended].contains(state), "\(state)")
    }
  }

  @Test func `an early input changes no deadline`() {
    for state in [Name.finding, .opening, .connecting, .resting, .waiting] {
      var port = SupervisedPort.make(state)
      let before = port.machine
      port.machine.handleTimeout(now: port.now)
      #expect(port.machine == before)
    }
  }
}

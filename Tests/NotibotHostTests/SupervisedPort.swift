import NotibotProtocol

@testable import NotibotHost

/// A supervisor on a clock of the test's own, brought to any of its states.
struct SupervisedPort {
  enum StateName: CaseIterable {
    case idle, finding, opening, connecting, resting, up, waiting, ended
  }

  static let board = "24:6F:28:AA:BB:CC"
  static let other = "24:6F:28:00:00:01"

  var machine: SupervisorMachine
  var now = Instant(nanoseconds: 1_000_000_000)
  var changes: [ConnectionChange] = []

  init(options: SupervisorOptions = SupervisorOptions()) {
    machine = SupervisorMachine(options: options)
  }

  static func info(_ id: String? = board) -> DeviceInfo {
    var info = DeviceInfo.unknown
    info.deviceID = id
    return info
  }

  static func failure(_ code: NotibotError.Code, heals: Bool) -> PortFailure {
    PortFailure(code: code, port: "/p", reason: "\(code)", healsByWaiting: heals)
  }

  static func make(_ name: StateName) -> SupervisedPort {
    var port = SupervisedPort()
    switch name {
    case .idle: return port
    case .finding: port.start()
    case .opening: port.begin(with: ["/p"])
    case .connecting: port.open()
    case .up: port.becomeUp()
    case .resting:
      port.becomeUp()
      port.machine.sessionEnded(.closedByDevice, now: port.now)
      port.machine.sessionOpened(info(), now: port.now)
      port.machine.sessionEnded(.closedByDevice, now: port.now)
    case .waiting:
      port.begin(with: ["/p"])
      port.machine.openFailed(failure(.noBoard, heals: true), now: port.now)
    case .ended:
      port.start()
      port.machine.stop(now: port.now)
    }
    _ = port.actions()
    return port
  }

  var name: StateName {
    switch machine.state {
    case .idle: .idle
    case .finding: .finding
    case .opening: .opening
    case .connecting: .connecting
    case .resting: .resting
    case .up: .up
    case .waiting: .waiting
    case .ended: .ended
    }
  }

  mutating func start() { machine.start(now: now) }

  mutating func begin(with ports: [String]) {
    start()
    machine.portsFound(ports, now: now)
  }

  mutating func open(_ ports: [String] = ["/p"]) {
    begin(with: ports)
    machine.portOpened(now: now)
  }

  mutating func becomeUp(_ ports: [String] = ["/p"], id: String? = board) {
    open(ports)
    machine.sessionOpened(Self.info(id), now: now)
  }

  /// The actions except changes, which are recorded.
  mutating func actions() -> [SupervisorAction] {
    var actions: [SupervisorAction] = []
    while let action = machine.nextAction() {
      if case .changed(let change) = action { changes.append(change) } else { actions.append(action) }
    }
    return actions
  }

  /// Advances the clock to the next deadline and returns how long that took; `nil` if there is
  /// none.
  mutating func passToDeadline() -> Duration? {
    guard let deadline = machine.nextDeadline else { return nil }
    let passed = deadline - now
    now = max(now, deadline)
    machine.handleTimeout(now: now)
    return passed
  }

  mutating func pass(_ time: Duration) {
    now = now + time
    machine.handleTimeout(now: now)
  }
}

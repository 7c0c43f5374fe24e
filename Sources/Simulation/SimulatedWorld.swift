import Conformance
import DeviceEmulator
import NotibotHost
package import NotibotProtocol
import SuiteWire

/// Host, wire, device, plug, disk and the users at both ends, in virtual time.
///
/// Runs the machines as the drivers in production do; learns the state of notifications from
/// reports and display alone.
package final class SimulatedWorld {
  /// An event that is due at a given time.
  enum Timer {
    case startHost(Int)
    case portOpens(life: Int, attempt: Int, path: String)
    case portFails(life: Int, attempt: Int)
    /// The channel of an attempt ends before it was open.
    case portEnds(life: Int, attempt: Int)
    case commitEnds(life: Int)
    case stopEnds(life: Int)
    case replug(Scenario.Return, wasPowered: Bool)
    case resume
    case makeRoom
    case calmUser
  }

  /// The path that hosts are given; the board is there at first.
  static let usualPath = "/dev/ttyUSB0"
  static let otherPaths = ["/dev/ttyUSB1", "/dev/ttyUSB2", "/dev/ttyUSB3"]
  /// The limit of an orderly stop.
  static let stopLimit = Duration.seconds(3)
  /// Rounds of exchange at one moment, beyond which time counts as stuck.
  static let roundsLimit = 20_000

  package let scenario: Scenario
  let mutant: WorldMutant?
  package internal(set) var now = Instant.zero
  package internal(set) var trace: Trace
  package internal(set) var ledger: Ledger
  package internal(set) var counts = SimulationCounts()
  var display: DisplayChecker
  let reports: ReportChecker
  let liveness: LivenessChecker
  /// Our board, and a stranger's.
  var boards: [SimulatedBoard]
  var hosts: [SimulatedHost]
  /// The host whose turn it is.
  var turn = 0
  var random: SeededGenerator
  var timers: [(time: Instant, timer: Timer)] = []
  var nextStep = 0
  var isCalm = false
  /// Whether the last check in the calm phase found a deviation.
  var isUnsettled = true
  /// Whether a stranger's board was ever plugged in: from then on hosts are given the id of ours.
  var hasStranger = false
  /// Decides how ports open; of its own, so that it changes nothing else in a run.
  var openings: SeededGenerator
  /// A power loss that is scheduled for the next commit.
  var interruption: Scenario.Event?
  /// Whether a commit is affected by a power loss, so that nothing more reaches the disk.
  var isCutOff = false
  var isDiskFull = false
  /// How long the host that is stopping is then down.
  var pauseAfterStop = Duration.milliseconds(500)
  /// Whether the journal was already lost, restored or copied.
  var hasExchanged = false
  var livesCount = 0
  /// When each submission was first shown.
  var shownAt: [Int: Instant] = [:]
  /// The last shown form of each submission; for a mutant.
  var lastShown: [Int: DisplayChange.Subject] = [:]
  var tap: WorldTap

  package init(scenario: Scenario, mutant: WorldMutant? = nil, isTraced: Bool = false) {
    self.scenario = scenario
    self.mutant = mutant
    trace = Trace(isOn: isTraced)
    ledger = Ledger(hostsCount: scenario.variant.hostsCount)
    display = DisplayChecker(scenario: scenario)
    reports = ReportChecker(scenario: scenario)
    liveness = LivenessChecker(scenario: scenario)
    tap = WorldTap(isOn: isTraced)
    var random = SeededGenerator(seed: ~scenario.seed)
    var board = SimulatedBoard(
      wired: WiredDevice(profile: scenario.profile, seed: random.next(), faults: scenario.faults, now: .zero))
    board.path = Self.usualPath
    board.wired.recordsDisplay = true
    var strangersProfile = scenario.profile
    strangersProfile.deviceID = DeviceID(octets: [0x24, 0x6F, 0x28, 0xAA, 0xBB, 0xDD])
    var stranger = SimulatedBoard(
      wired: WiredDevice(profile: strangersProfile, seed: random.next(), now: .zero))
    stranger.wired.recordsDisplay = true
    boards = [board, stranger]
    hosts = (0..<scenario.variant.hostsCount).map { _ in
      SimulatedHost(journal: SimulatedJournal(seed: random.next()))
    }
    self.random = random
    openings = SeededGenerator(seed: scenario.seed ^ 0x6F70_656E)
  }

  /// The boards that are or were plugged in.
  private var activeBoards: Range<Int> { 0..<(hasStranger ? 2 : 1) }

  // MARK: Time

  /// Lets time pass until `end`, or until `isDone`.
  func run(until end: Instant, unless isDone: () -> Bool = { false }) throws(Violation) {
    try exchange()
    while !isDone() {
      guard let next = try nextMoment(), next <= end else {
        now = max(now, end)
        return
      }
      now = max(now, next)
      try fire()
      try exchange()
    }
  }

  /// When something is due; nil: nothing is.
  private func nextMoment() throws(Violation) -> Instant? {
    var earliest: Instant?
    func consider(_ moment: Instant?) {
      guard let moment else { return }
      earliest = earliest.map { min($0, moment) } ?? moment
    }
    for (time, _) in timers { consider(time) }
    for board in activeBoards { consider(boards[board].wired.nextDeadline) }
    if !isHostAsleep {
      for host in hosts.indices {
        let deadline = deadline(of: host)
        try checkProgress(of: host, deadline)
        consider(deadline)
      }
    }
    if nextStep < scenario.steps.count, !isCalm { consider(scenario.steps[nextStep].time) }
    return earliest
  }

  /// Handles everything that is due now.
  private func fire() throws(Violation) {
    while nextStep < scenario.steps.count, !isCalm, scenario.steps[nextStep].time <= now {
      nextStep += 1
      try perform(scenario.steps[nextStep - 1].event)
    }
    while let index = timers.firstIndex(where: { $0.time <= now }) {
      try fire(timers.remove(at: index).timer)
    }
    for index in activeBoards {
      if let deadline = boards[index].wired.nextDeadline, deadline <= now {
        boards[index].wired.handleTimeout(now: now)
      }
    }
    guard !isHostAsleep else { return }
    for index in hosts.indices {
      if let deadline = deadline(of: index), deadline <= now {
        setClock(of: index)
        hosts[index].life?.machine.handleTimeout(now: now)
      }
    }
  }

  private func deadline(of host: Int) -> Instant? {
    guard let life = hosts[host].life, mutant != .endlessOpenings || !life.port.isOpening else { return nil }
    return life.machine.nextDeadline
  }

  /// A host that runs waits for a time, a commit, or the result of an attempt to open a port:
  /// without any of them only luck would continue it.
  private func checkProgress(of host: Int, _ deadline: Instant?) throws(Violation) {
    guard deadline == nil, let life = hosts[host].life, !life.isFinished, life.commit == nil else { return }
    let isAwaiting =
      life.port.isOpening
      && timers.contains { _, timer in
        switch timer {
        case .portOpens(life.number, life.port.number, _), .portFails(life.number, life.port.number): true
        case _: false
        }
      }
    guard !isAwaiting else { return }
    throw Violation(.neverStuck, "host \(host) waits for nothing", at: now)
  }

  private var isHostAsleep: Bool { isCalm && mutant == .sleepingHost }

  func after(_ delay: Duration, _ timer: Timer) { timers.append((now + delay, timer)) }

  private func fire(_ timer: Timer) throws(Violation) {
    switch timer {
    case .startHost(let host): try startHost(host)
    case .portOpens(let life, let attempt, let path): openPort(path, attempt, ofLife: life)
    case .portFails(let life, let attempt): failPort(attempt, ofLife: life)
    case .portEnds(let life, let attempt): endPort(attempt, ofLife: life)
    case .commitEnds(let life): try endCommit(ofLife: life)
    case .stopEnds(let life):
      guard let host = hosts.firstIndex(where: { $0.life?.number == life }) else { return }
      throw Violation(.outboxIdle, "host \(host) does not stop", at: now)
    case .replug(let place, let wasPowered): replug(place, wasPowered: wasPowered)
    case .resume: _ = boards[0].wired.perform(.resume, now: now)
    case .makeRoom: makeRoom()
    case .calmUser: tidyUp()
    }
  }

  // MARK: The line

  /// Passes bytes in both directions, and performs the hosts' requests, until nothing changes.
  private func exchange() throws(Violation) {
    var rounds = 0
    var isMoving = true
    while isMoving {
      isMoving = false
      for board in activeBoards { isMoving = try listen(to: board) || isMoving }
      for host in hosts.indices { isMoving = try drainActions(of: host) || isMoving }
      rounds += 1
      guard rounds <= Self.roundsLimit else {
        throw Violation(.noBusyLoop, "\(rounds) rounds at one moment", at: now)
      }
    }
  }

  /// Passes on a board's output, and notices when its port appears and disappears.
  private func listen(to board: Int) throws(Violation) -> Bool {
    var hasMoved = false
    if boards[board].isThere != boards[board].wasThere {
      hasMoved = true
      notice(board)
    }
    let listener = hosts.indices.first { isOpen($0, on: board) }
    if let listener { updateWritability(of: listener, board: board) }
    while let bytes = boards[board].wired.nextTransmit() {
      hasMoved = true
      guard let listener, boards[board].isThere else { continue }
      traceFrames(bytes, from: .device, host: listener)
      hosts[listener].life?.machine.receive(bytes.span, now: now)
    }
    try watchDisplay(of: board)
    return hasMoved
  }

  private func isOpen(_ host: Int, on board: Int) -> Bool {
    hosts[host].life?.port.port == board
  }

  private func updateWritability(of host: Int, board: Int) {
    let isWritable = !boards[board].wired.isFull
    guard hosts[host].life?.isWritable != isWritable else { return }
    hosts[host].life?.isWritable = isWritable
    hosts[host].life?.machine.handleWritability(isWritable, now: now)
  }

  /// A port appeared or disappeared.
  private func notice(_ board: Int) {
    boards[board].wasThere = boards[board].isThere
    let path = boards[board].path ?? "nowhere"
    trace.add(now, "port", "board \(board) \(boards[board].isThere ? "is at \(path)" : "is gone")")
    if !boards[board].isThere {
      boards[board].wired.noticeHost(isPresent: false, now: now)
      for host in hosts.indices {
        guard isOpen(host, on: board), let number = hosts[host].life?.port.number,
          hosts[host].life?.port.end(number) == true
        else { continue }
        hosts[host].life?.machine.receiveEndOfStream(now: now)
      }
    }
    for host in hosts.indices { hosts[host].life?.machine.portsChanged(now: now) }
  }

  func traceFrames(_ bytes: [UInt8], from sender: WireFrame.Sender, host: Int) {
    guard trace.isOn else { return }
    for line in tap.lines(of: bytes, from: sender) {
      trace.add(now, sender == .host ? "host\(host)→" : "→host\(host)", line)
    }
  }

  // MARK: The display

  private func watchDisplay(of board: Int) throws(Violation) {
    let changes = boards[board].wired.drainDisplayChanges()
    guard !changes.isEmpty else { return }
    guard board == 0 else {
      let written = changes.filter { $0 != .restarted }
      guard written.isEmpty else {
        throw Violation(.rightBoard, "a stranger's board: \(written)", at: now)
      }
      return
    }
    for change in changes { try see(change) }
    try display.look(at: mutated(boards[0].items), ledger: ledger, now: now)
  }

  func see(_ change: DisplayChange) throws(Violation) {
    let change = mutated(change)
    trace.add(now, "display", describe(change))
    counts.record(change)
    remember(change)
    try display.see(change, ledger: &ledger, at: now)
  }
}

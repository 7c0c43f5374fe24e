import DequeModule
package import NotibotProtocol

/// What a forwarding machine is set up with.
package struct ForwardingConfiguration: Equatable, Sendable {
  /// Its time limits for sessions do not count: the supervisor has the patience.
  package var host = HostConfiguration()
  package var outbox = OutboxOptions()
  package var supervisor = SupervisorOptions()

  package init() {}
}

/// What a forwarding machine asks of its driver.
package enum ForwardingAction: Equatable, Sendable {
  /// Say by `portsFound` or `openFailed`.
  case findPorts
  /// Say by `portOpened` or `openFailed`.
  case open(path: String)
  /// Write what was asked for before, as far as the port takes it, and close it; nothing of it is told any more.
  case close
  case write([UInt8])
  /// Make these changes durable, together, and say so by `committed` or `commitFailed`. One is out at a time.
  case commit([JournalChange])
  case report(OutboxReport)
  case connection(ConnectionChange)
  /// Console text, as it came: sanitise before printing.
  case text([UInt8])
  /// The last action. A port that is still being opened is not wanted any more.
  case finished
}

/// What a forwarding machine has counted, and how it stands.
package struct ForwardingStatistics: Equatable, Sendable {
  package var host: HostStatistics
  /// Notifications in the outbox.
  package var entries: Int
  /// Those about which something is still to be said to the device.
  package var unfinished: Int
  /// Those that the device will not have.
  package var refused: Int
}

/// Forwards notifications to a device over any number of ports and sessions: supervisor, host and outbox in one machine.
///
/// States: *idle* → `start` → *running* → `finish` → *finishing*, until all is delivered, → *closing*; or `stop` →
/// *stopping*, until what is out is answered, at most 2 s, → *closing*: FIN, the port closes, the last commit, →
/// *finished*. A commit that fails, and a port that no waiting mends, lead to *closing* at once.
/// A driver drains `nextAction()` after every call and arms one timer for `nextDeadline`.
package struct ForwardingMachine: Equatable, Sendable {
  enum Phase: Equatable {
    case idle
    case running
    case finishing
    case stopping(deadline: Instant)
    case closing
    case finished
  }

  /// The time of day, and when it was told.
  private struct Clock: Equatable {
    var told: HostClock
    var at: Instant
  }

  enum Request: Equatable {
    case subscription
    case write(tag: UInt64)
  }

  /// How long an orderly stop waits for answers.
  static let stopLimit = Duration.seconds(2)

  var host: HostMachine
  var outbox: OutboxMachine
  var supervisor: SupervisorMachine
  var phase = Phase.idle
  /// Requests of the host that have no result yet; the outbox limits them.
  var requests: [HostRequestID: Request] = [:]
  var actions = Deque<ForwardingAction>()
  private var clock: Clock?

  /// - Parameters:
  ///   - journal: what the journal holds, opened for sending.
  ///   - seed: for nonces and sources. A driver in life takes it from the system.
  package init(configuration: ForwardingConfiguration, journal: JournalContents, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var hostConfiguration = configuration.host
    hostConfiguration.connectTimeout = nil
    hostConfiguration.reconnectTimeout = nil
    host = HostMachine(configuration: hostConfiguration, seed: random.next())
    outbox = OutboxMachine(options: configuration.outbox, journal: journal, seed: random.next())
    supervisor = SupervisorMachine(options: configuration.supervisor)
  }

  // MARK: Commands

  /// Begins. Ignored when begun already.
  package mutating func start(now: Instant) {
    guard phase == .idle else { return }
    phase = .running
    supervisor.start(now: now)
    settle(now: now)
  }

  /// Tells the time of day, which sessions from now on tell the device.
  package mutating func setClock(_ clock: HostClock, now: Instant) {
    self.clock = Clock(told: clock, at: now)
  }

  /// Takes a submission; `.queued` or `.rejected` comes with `token`. Without a board it waits.
  package mutating func submit(_ submission: OutboxSubmission, token: UInt64, now: Instant) {
    guard phase != .finished else {
      let reason = outbox.hasFailed ? OutboxRejection.journalFailed : .ended
      return actions.append(.report(.rejected(reason, token: token)))
    }
    outbox.submit(submission, token: token, now: now)
    settle(now: now)
  }

  /// Sends a refused notification once more.
  package mutating func retry(_ number: OutboxNumber, now: Instant) {
    outbox.retry(number, now: now)
    settle(now: now)
  }

  /// No more submissions: ends when all is delivered, however long that takes.
  package mutating func finish(now: Instant) {
    guard phase == .running else { return }
    phase = .finishing
    settle(now: now)
  }

  /// Ends in order: nothing new is written; what is out has 2 s to be answered.
  package mutating func stop(now: Instant) {
    switch phase {
    case .idle: phase = .closing
    case .running, .finishing: phase = .stopping(deadline: now + Self.stopLimit)
    case .stopping, .closing, .finished: return
    }
    outbox.stop(now: now)
    settle(now: now)
  }

  // MARK: Inputs

  package mutating func portsFound(_ ports: [String], now: Instant) {
    supervisor.portsFound(ports, now: now)
    settle(now: now)
  }

  package mutating func portOpened(now: Instant) {
    supervisor.portOpened(now: now)
    settle(now: now)
  }

  package mutating func openFailed(_ failure: PortFailure, now: Instant) {
    supervisor.openFailed(failure, now: now)
    settle(now: now)
  }

  /// Something was plugged in or out.
  package mutating func portsChanged(now: Instant) {
    supervisor.portsChanged(now: now)
    settle(now: now)
  }

  /// Takes what was read.
  package mutating func receive(_ bytes: Span<UInt8>, now: Instant) {
    host.receive(bytes, now: now)
    settle(now: now)
  }

  /// The port has ended.
  package mutating func receiveEndOfStream(now: Instant) {
    host.receiveEndOfStream(now: now)
    settle(now: now)
    // Also where no session was on it.
    supervisor.portGone(now: now)
    settle(now: now)
  }

  package mutating func handleWritability(_ isWritable: Bool, now: Instant) {
    host.handleWritability(isWritable, now: now)
    settle(now: now)
  }

  /// The commit that was out is durable.
  package mutating func committed(now: Instant) {
    outbox.committed(now: now)
    settle(now: now)
  }

  /// The commit that was out was not made: nothing is taken any more, and the machine ends.
  package mutating func commitFailed(now: Instant) {
    outbox.commitFailed(now: now)
    settle(now: now)
  }

  /// Does all that is due.
  package mutating func handleTimeout(now: Instant) {
    host.handleTimeout(now: now)
    outbox.handleTimeout(now: now)
    supervisor.handleTimeout(now: now)
    settle(now: now)
  }

  // MARK: Outputs

  /// The next thing to do, in order, or `nil`.
  package mutating func nextAction() -> ForwardingAction? {
    actions.popFirst()
  }

  /// When `handleTimeout` wants to be called; `nil`: not before something else happens.
  package var nextDeadline: Instant? {
    guard phase != .finished else { return nil }
    var earliest = host.nextDeadline
    var stopDeadline: Instant?
    if case .stopping(let deadline) = phase { stopDeadline = deadline }
    for deadline in [outbox.nextDeadline, supervisor.nextDeadline, stopDeadline] {
      guard let deadline else { continue }
      earliest = earliest.map { min($0, deadline) } ?? deadline
    }
    return earliest
  }

  // MARK: Queries

  /// Whether nothing is left to be said to the device or to the journal.
  package var isIdle: Bool { outbox.isFinished }

  /// Notifications in the outbox.
  package var entriesCount: Int { outbox.entriesCount }

  /// What has been counted so far.
  package var statistics: ForwardingStatistics {
    ForwardingStatistics(
      host: host.statistics, entries: outbox.entriesCount, unfinished: outbox.unfinishedCount,
      refused: outbox.refusedCount)
  }

  /// The time of day for a session that opens now.
  func clock(now: Instant) -> HostClock? {
    guard let clock else { return nil }
    var present = clock.told
    present.seconds += now.nanoseconds(since: clock.at) / 1_000_000_000
    return present
  }
}

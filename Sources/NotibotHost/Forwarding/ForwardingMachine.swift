import DequeModule
package import NotibotProtocol

/// The configuration of a forwarding machine.
package struct ForwardingConfiguration: Equatable, Sendable {
  /// Its time limits for sessions are not used: the supervisor has its own.
  package var host = HostConfiguration()
  package var outbox = OutboxOptions()
  package var supervisor = SupervisorOptions()

  package init() {}
}

/// An action for the driver of a forwarding machine.
package enum ForwardingAction: Equatable, Sendable {
  /// Look for ports; answer with `portsFound` or `openFailed`.
  case findPorts
  /// Open this port; answer with `portOpened` or `openFailed`.
  case open(path: String)
  /// Write the pending bytes, as far as the port takes them, and close it; report no more of its
  /// events.
  case close
  case write([UInt8])
  /// Make these changes durable in one commit; answer with `committed` or `commitFailed`. One
  /// commit at a time.
  case commit([JournalChange])
  case report(OutboxReport)
  case connection(ConnectionChange)
  /// Console text, as it came: sanitise before printing.
  case text([UInt8])
  /// The last action. Give up a port that is still being opened.
  case finished
}

/// Counters and state of a forwarding machine.
package struct ForwardingStatistics: Equatable, Sendable {
  package var host: HostStatistics
  /// Notifications in the outbox.
  package var entries: Int
  /// Those with something still to be sent to the device.
  package var unfinished: Int
  /// Those that the device refused.
  package var refused: Int
  /// Since it began.
  package var outbox: OutboxCounts
}

/// Forwards notifications to a device over any number of ports and sessions: supervisor, host and
/// outbox in one machine.
///
/// States: *idle* → `start` → *running* → `finish` → *finishing*, until all is delivered, →
/// *closing*; or `stop` → *stopping*, until requests in flight are answered, at most 2 s, →
/// *closing*: FIN, the port closes, the last commit, → *finished*. A failed commit, or a port
/// failure that does not resolve with time, leads to *closing* at once. A driver drains
/// `nextAction()` after every call and arms one timer for `nextDeadline`.
package struct ForwardingMachine: Equatable, Sendable {
  enum Phase: Equatable {
    case idle
    case running
    case finishing
    case stopping(deadline: Instant)
    case closing
    case finished
  }

  /// The time of day, and the instant at which it was set.
  private struct Clock: Equatable {
    var reading: HostClock
    var at: Instant
  }

  enum Request: Equatable {
    case subscription
    case write(tag: UInt64)
  }

  /// How long a proper stop waits for answers.
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
  ///   - seed: for nonces and sources. In production, the driver takes it from the system.
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

  /// Sets the time of day, which the next sessions send to the device, and by which queued
  /// notifications expire from the next input on.
  package mutating func setClock(_ clock: HostClock, now: Instant) {
    self.clock = Clock(reading: clock, at: now)
    outbox.setClock(seconds: clock.seconds, now: now)
  }

  /// Takes a submission; `.queued`, `.duplicate` or `.rejected` comes with `token`. It stays queued
  /// while there is no board. It is accepted once for each key.
  package mutating func submit(
    _ submission: OutboxSubmission, key: IdempotencyKey? = nil, token: UInt64, now: Instant
  ) {
    guard phase != .finished else {
      let reason = outbox.hasFailed ? ForwardingRejection.journalFailed : .stopped
      return actions.append(.report(.rejected(reason, token: token)))
    }
    outbox.submit(submission, key: key, token: token, now: now)
    settle(now: now)
  }

  /// Sends a refused notification once more.
  package mutating func retry(_ number: OutboxNumber, now: Instant) {
    outbox.retry(number, now: now)
    settle(now: now)
  }

  /// Accepts no more submissions, and ends when all are delivered, however long that takes.
  package mutating func finish(now: Instant) {
    guard phase == .running else { return }
    phase = .finishing
    settle(now: now)
  }

  /// Ends properly: nothing new is written; requests in flight have 2 s to be answered.
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

  /// A device was plugged in or unplugged.
  package mutating func portsChanged(now: Instant) {
    supervisor.portsChanged(now: now)
    settle(now: now)
  }

  /// Takes the bytes of one read.
  package mutating func receive(_ bytes: Span<UInt8>, now: Instant) {
    host.receive(bytes, now: now)
    settle(now: now)
  }

  /// The port has ended.
  package mutating func receiveEndOfStream(now: Instant) {
    host.receiveEndOfStream(now: now)
    settle(now: now)
    // Also if it had no session.
    supervisor.portGone(now: now)
    settle(now: now)
  }

  package mutating func handleWritability(_ isWritable: Bool, now: Instant) {
    host.handleWritability(isWritable, now: now)
    settle(now: now)
  }

  /// The pending commit is durable.
  package mutating func committed(now: Instant) {
    outbox.committed(now: now)
    settle(now: now)
  }

  /// The pending commit failed: nothing more is accepted, and the machine ends.
  package mutating func commitFailed(now: Instant) {
    outbox.commitFailed(now: now)
    settle(now: now)
  }

  /// Executes everything that is due.
  package mutating func handleTimeout(now: Instant) {
    host.handleTimeout(now: now)
    outbox.handleTimeout(now: now)
    supervisor.handleTimeout(now: now)
    settle(now: now)
  }

  // MARK: Outputs

  /// The next action, in order, or `nil`.
  package mutating func nextAction() -> ForwardingAction? {
    actions.popFirst()
  }

  /// When to call `handleTimeout`; `nil`: not before another input.
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

  /// Whether nothing is left to be sent to the device or written to the journal.
  package var isIdle: Bool { outbox.isFinished }

  /// The presses that the commit in progress takes.
  package var pressesInCommit: [TakenPress] {
    outbox.journal.pressesInCommit.compactMap(TakenPress.init)
  }

  /// The notifications whose dismissal the commit in progress takes.
  package var dismissalsInCommit: [ForwardingReport.Number] {
    outbox.journal.dismissalsInCommit.map(\.rawValue)
  }

  /// Notifications in the outbox.
  package var entriesCount: Int { outbox.entriesCount }

  /// The counters.
  package var statistics: ForwardingStatistics {
    ForwardingStatistics(
      host: host.statistics, entries: outbox.entriesCount, unfinished: outbox.unfinishedCount,
      refused: outbox.refusedCount, outbox: outbox.counts)
  }

  /// The time of day for a session that opens now.
  func clock(now: Instant) -> HostClock? {
    guard let clock else { return nil }
    var present = clock.reading
    present.seconds += now.nanoseconds(since: clock.at) / 1_000_000_000
    return present
  }
}

import NotibotProtocol

@testable import NotibotHost

/// An outbox, its journal and a display, connected by two queues of messages that a test delivers
/// or loses.
struct OutboxWorld {
  enum Sent: Equatable {
    case subscribe
    case sync(SyncRequest)
    case write(tag: UInt64, json: [UInt8])
  }

  static let source: UInt32 = 0xC0FF_EE01

  var options: OutboxOptions
  var machine: OutboxMachine
  var display = ModelDisplay()
  var journal: JournalContents
  var now = Instant.zero
  /// The changes of the commit in progress.
  var commit: [JournalChange]?
  var toDevice: [Sent] = []
  var toHost: [ModelDisplay.Message] = []
  var reports: [OutboxReport] = []
  var isConnected = false
  var sessionsCount = 0
  var commitsCount = 0
  /// The largest commit.
  var changesCount = 0
  var synced: [SyncRequest] = []
  var written: [[UInt8]] = []
  /// The numbers of the TAKENs.
  var taken: [UInt32] = []
  private var token: UInt64 = 0

  init(
    _ options: OutboxOptions = OutboxOptions(),
    journal: JournalContents = JournalContents(header: JournalHeader(source: source)), seed: UInt64 = 1
  ) {
    self.options = options
    self.journal = journal
    machine = OutboxMachine(options: options, journal: journal, seed: seed)
  }

  // MARK: Host

  mutating func drain() {
    while let action = machine.nextAction() {
      switch action {
      case .subscribe: toDevice.append(.subscribe)
      case .sync(let request):
        synced.append(request)
        toDevice.append(.sync(request))
      case .write(let tag, let json):
        written.append(json)
        toDevice.append(.write(tag: tag, json: json))
      case .commit(let changes):
        precondition(commit == nil, "two commits in progress")
        commit = changes
        changesCount = max(changesCount, changes.count)
      case .taken(_, let press): taken.append(press)
      case .report(let report): reports.append(report)
      }
    }
  }

  @discardableResult
  mutating func submit(_ submission: OutboxSubmission) -> UInt64 {
    token += 1
    machine.submit(submission, token: token, now: now)
    drain()
    return token
  }

  /// Makes the commit in progress durable.
  mutating func writeJournal() {
    guard let changes = commit else { return }
    commit = nil
    commitsCount += 1
    journal.apply(changes)
    machine.committed(now: now)
    drain()
  }

  mutating func connect() {
    isConnected = true
    sessionsCount += 1
    machine.sessionOpened(display.info, now: now)
    drain()
  }

  /// The session ends; messages in flight are lost.
  mutating func disconnect() {
    guard isConnected else { return }
    isConnected = false
    toDevice = []
    toHost = []
    machine.sessionEnded(now: now)
    drain()
  }

  /// The program is killed and restarts from its durable state.
  mutating func crash(seed: UInt64) {
    isConnected = false
    toDevice = []
    toHost = []
    commit = nil
    machine = OutboxMachine(options: options, journal: journal, seed: seed)
  }

  mutating func pass(_ duration: Duration) {
    now = now + duration
    machine.handleTimeout(now: now)
    drain()
  }

  // MARK: Line

  /// The device takes one message.
  mutating func carryToDevice() {
    guard !toDevice.isEmpty else { return }
    switch toDevice.removeFirst() {
    case .subscribe: toHost.append(.answered(tag: 0, .accepted))
    case .sync(let request): toHost += display.sync(request)
    case .write(let tag, let json): toHost += display.write(json, tag: tag)
    }
  }

  /// The host takes one message.
  mutating func carryToHost() {
    guard !toHost.isEmpty else { return }
    switch toHost.removeFirst() {
    case .answered(tag: 0, let result): machine.subscribed(result, now: now)
    case .answered(let tag, let result): machine.writeCompleted(tag: tag, result, now: now)
    case .event(let event): machine.receive(event, now: now)
    case .sync(let message): machine.receive(message, now: now)
    case .count(let count): machine.countChanged(count, now: now)
    }
    drain()
  }

  /// Delivers and commits until nothing is pending; returns whether that state was reached.
  @discardableResult
  mutating func run(steps: Int = 20_000) -> Bool {
    for _ in 0..<steps {
      if commit != nil {
        writeJournal()
      } else if !toDevice.isEmpty {
        carryToDevice()
      } else if !toHost.isEmpty {
        carryToHost()
      } else {
        return true
      }
    }
    return false
  }

  mutating func dismiss(_ id: UInt32, _ reason: GoneReason = .dismissed, source: UInt32 = source) {
    let messages = display.leave(id, of: source, reason)
    if isConnected { toHost += messages }
  }

  mutating func drainReports() -> [OutboxReport] {
    defer { reports = [] }
    return reports
  }

  mutating func drainWritten() -> [String] {
    defer { written = [] }
    return written.map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: Reaching states

  static func number(_ number: Int64) -> OutboxNumber { OutboxNumber(rawValue: number) }

  static func notification(
    _ text: String, level: NotificationDetails.Level = .active
  ) -> DisplayNotification {
    var notification = DisplayNotification(app: "A", title: "T", text: text, timestamp: 7)
    notification.details.level = level
    return notification
  }

  /// A world whose session is live, with these on the display as ids and numbers 1, 2, 3...
  static func makeLive(
    _ texts: String..., options: OutboxOptions = OutboxOptions(), keepsActions: Bool = false
  ) -> OutboxWorld {
    var world = OutboxWorld(options)
    world.display.keepsActions = keepsActions
    for text in texts { world.submit(.add(notification(text))) }
    world.connect()
    world.run()
    _ = world.drainReports()
    _ = world.drainWritten()
    world.synced = []
    return world
  }
}

extension JournalContents {
  /// Applies a commit as a journal does.
  mutating func apply(_ changes: [JournalChange]) {
    for change in changes {
      switch change {
      case .header(let header): self.header = header
      case .put(let entry):
        entries.removeAll { $0.number == entry.number }
        entries.append(entry)
      case .delete(let number): entries.removeAll { $0.number == number }
      case .putKey(let record):
        keys.removeAll { $0.row == record.row }
        keys.append(record)
      case .deleteKey(let row): keys.removeAll { $0.row == row }
      case .putPresses(let record):
        presses.removeAll { $0.bootID == record.bootID }
        presses.append(record)
      case .deletePresses(let bootID): presses.removeAll { $0.bootID == bootID }
      }
    }
    entries.sort { $0.number < $1.number }
  }
}

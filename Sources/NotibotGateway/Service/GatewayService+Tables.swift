#if Gateway
import Digests
import GatewayRules
import NIOCore
import NIOPosix
import NotibotHost
import SerialLink
import Synchronization

/// The check whether a command has changed the tables.
enum TableCheck {
  typealias Work = @Sendable (isolated GatewayService) -> Void

  case idle
  /// `waiting` is done after it.
  case running(waiting: [Work], limit: Scheduled<Void>)
  /// The file system does not answer. Nothing waits for it.
  case stalled
}

extension GatewayService {
  /// Time for a check.
  private static let checkLimit = TimeAmount.seconds(2)

  /// Whether tokens and trusted keys are as the user wrote them last.
  var hasReadableTrust: Bool {
    [folder.tokens, folder.trust, folder.path].allSatisfy { tableProblems[$0] == nil }
  }

  /// Does `work`, in order, when those tables are read again that a command has changed. One that
  /// cannot be read keeps its content, and is reported: until it is repaired, pushes of senders are
  /// refused if it is the tokens or the trusted keys, because it can hide a revocation.
  func afterCheckingTables(_ work: @escaping TableCheck.Work) {
    switch tableCheck {
    case .idle: checkTables([work])
    // It came after the beginning of that one.
    case .running: workAfterNextCheck.append(work)
    case .stalled: work(self)
    }
  }

  private func checkTables(_ waiting: [TableCheck.Work]) {
    let limit = eventLoop.scheduleTask(in: Self.checkLimit) { self.assumeIsolated { $0.endLateCheck() } }
    tableCheck = .running(waiting: waiting, limit: limit)
    let (versions, folder) = (tableVersions, folder)
    reader.runIfActive(eventLoop: eventLoop) { GatewayTables.changes(since: versions, in: folder) }
      .whenSuccess { changes in self.assumeIsolated { $0.endCheck(changes) } }
  }

  private func endCheck(_ changes: GatewayTables.Changes) {
    tableVersions = changes.versions
    apply(changes.tokens, folder.tokens) { tokens = $0 }
    apply(changes.trust, folder.trust) { verifier.setKeys($0) }
    apply(changes.mutes, folder.mutes) { mutes in
      let (now, wall) = (clock.now(), clock.wall())
      intake.rules.mutes = mutes.map { $0.inMachineTime(now: now, wall: wall) }
    }
    tableProblems[folder.path] = nil
    let ended = tableCheck
    tableCheck = .idle
    guard case .running(let waiting, let limit) = ended else { return }
    limit.cancel()
    let next = drainNextWork()
    if !next.isEmpty { checkTables(next) }
    for work in waiting { work(self) }
  }

  private func endLateCheck() {
    guard case .running(let waiting, _) = tableCheck else { return }
    tableCheck = .stalled
    report(
      problem: Failure(.unfitEnvironment, "cannot read \(folder.path): it does not answer"),
      of: folder.path
    )
    for work in waiting + drainNextWork() { work(self) }
  }

  private func drainNextWork() -> [TableCheck.Work] {
    defer { workAfterNextCheck = [] }
    return workAfterNextCheck
  }

  private func apply<Table>(
    _ table: Result<Table, Failure>?, _ path: String, _ use: (Table) -> Void
  ) {
    switch table {
    case nil: break
    case .success(let table):
      tableProblems[path] = nil
      use(table)
    case .failure(let failure): report(problem: failure, of: path)
    }
  }

  private func report(problem: Failure, of path: String) {
    if tableProblems[path] == nil { warn("\(problem); its last content stays in use") }
    tableProblems[path] = problem.description
  }

  // MARK: The display

  /// Receives a report, on any thread. Those of every push need no turn of the event loop.
  nonisolated func receive(_ report: ForwardingReport) async {
    switch report {
    case .delivered: deliveries.add(1, ordering: .relaxed)
    case .queued, .duplicate, .rejected, .full, .storeFull, .synced, .diverged, .newSource: break
    case .gone, .removed, .outcomeUnknown, .expired, .refused, .action: await handle(report)
    }
  }

  private func handle(_ report: ForwardingReport) {
    switch report {
    case .gone(let number, let departure):
      isOutboxFull = false
      handleGone(number, isRead: departure == .dismissed)
    case .removed(let number), .outcomeUnknown(let number), .expired(let number):
      isOutboxFull = false
      handleGone(number)
    case .refused(let number, _): handleGone(number)
    case .action(let number, let action, let revision, let isStale):
      handlePress(number, action, revision, isStale: isStale)
    case .full(let limit):
      warn("\(Self.outboxIsFull) (\(limit)): pushes that add to it get 503 until notifications leave it")
    case .delivered, .queued, .rejected, .duplicate, .storeFull, .synced, .diverged, .newSource: break
    }
  }

  func receive(_ change: ConnectionChange) {
    if case .up = change.state { isBoardUp = true } else { isBoardUp = false }
  }

  // MARK: Queries

  /// One line of JSON.
  func status() async -> String {
    let statistics = await gate.forwarder.statistics
    return JSONValue.object([
      "boardUp": .bool(isBoardUp), "entries": .whole(statistics.entries),
      "unfinished": .whole(statistics.unfinished), "items": .whole(intake.itemsCount),
      "summaries": .whole(summaries.liveCount), "badges": .object(intake.badges.mapValues { .whole($0) }),
      "badge": .whole(intake.badges.values.reduce(0, +)),
      "connections": .whole(connectionsCount), "healthy": .bool(healthProblem == nil),
      "decisions": .whole(desk.with(\.undeliveredCount)), "delayed": .whole(intake.delays.count),
      "confirming": .whole(desk.with(\.confirmingCount)),
      "registrations": .object(registrations.states.mapValues { .string($0.rawValue) }),
      "pending": .array(pendingQuestions),
      "problems": .array((problems + notices).map { .string($0) }),
    ]).line
  }

  /// Questions in the status, at most.
  private static let questionsLimit = 100

  /// What waits for a press, the newest first, with its choices; without its text.
  private var pendingQuestions: [JSONValue] {
    desk.with { $0.questions(limit: Self.questionsLimit) }.map { number, question, isConfirming in
      .object([
        "number": .whole(number), "topic": .string(question.topic), "category": .string(question.category),
        "push": .string(question.pushID), "fields": .object(question.fields.mapValues { .string($0) }),
        "choices": .array(question.answers.map { .string($0.label) }), "confirming": .bool(isConfirming),
      ])
    }
  }

  func metrics() async -> String {
    let statistics = await gate.forwarder.statistics
    return counters.text(
      boardUp: isBoardUp, diskFull: !fullFiles.isEmpty, entries: statistics.entries,
      unfinished: statistics.unfinished, delivered: deliveries.load(ordering: .relaxed),
      presses: desk.verdicts, decisions: desk.with(\.undeliveredCount), connections: connectionsCount,
      evicted: connectionTables.reduce(0) { $0 + $1.evictedCount })
  }

  /// The last pushes, one line of JSON each.
  func pushes(last: Int) -> String { log.last(last).map { $0.line + "\n" }.joined() }

  /// Why pushes are refused now, or tables are out of date; nil: all is well.
  var healthProblem: String? {
    if hasStoreFailed { return "the gateway cannot write its file" }
    if isStopping { return "the gateway is ending" }
    return problems.first
  }

  private var problems: [String] {
    tableProblems.values.sorted() + fullFiles.sorted().map { "cannot write \($0): \(Self.noRoom)" }
      + connectionTables.filter(\.isFull).map {
        "all \($0.limit) connections of \($0.name) are in use; another one closes the least used one"
      } + intake.fullTables + (desk.with(\.isFull) ? ["too many decisions are undelivered"] : [])
      + (isOutboxFull ? [Self.outboxIsFull] : [])
      + (keeper?.assumeIsolated { $0.problem }.map { [$0] } ?? [])
  }

  // MARK: Connections

  /// The table of a listener's connections.
  func makeTable(_ name: String) -> ConnectionTable {
    let table = ConnectionTable(name, limit: configuration.connectionsLimit, eventLoop: eventLoop)
    connectionTables.append(table)
    return table
  }

  func use(_ keeper: CertificateKeeper) { self.keeper = keeper }

  var connectionsCount: Int { connectionTables.reduce(0) { $0 + $1.count } }
}
#endif

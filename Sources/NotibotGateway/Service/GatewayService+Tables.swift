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
    note(changes.tokens, folder.tokens) { tokens = $0 }
    note(changes.trust, folder.trust) { verifier.setKeys($0) }
    note(changes.mutes, folder.mutes) { mutes in
      let (now, wall) = (clock.now(), clock.wall())
      intake.rules.mutes = mutes.map { $0.inMachineTime(now: now, wall: wall) }
    }
    tableProblems[folder.path] = nil
    let ended = tableCheck
    tableCheck = .idle
    guard case .running(let waiting, let limit) = ended else { return }
    limit.cancel()
    let next = takeNextWork()
    if !next.isEmpty { checkTables(next) }
    for work in waiting { work(self) }
  }

  private func endLateCheck() {
    guard case .running(let waiting, _) = tableCheck else { return }
    tableCheck = .stalled
    note(
      problem: GatewayFailure(.unfitEnvironment, "cannot read \(folder.path): it does not answer"),
      of: folder.path
    )
    for work in waiting + takeNextWork() { work(self) }
  }

  private func takeNextWork() -> [TableCheck.Work] {
    defer { workAfterNextCheck = [] }
    return workAfterNextCheck
  }

  private func note<Table>(
    _ table: Result<Table, GatewayFailure>?, _ path: String, _ take: (Table) -> Void
  ) {
    switch table {
    case nil: break
    case .success(let table):
      tableProblems[path] = nil
      take(table)
    case .failure(let failure): note(problem: failure, of: path)
    }
  }

  private func note(problem: GatewayFailure, of path: String) {
    if tableProblems[path] == nil { warn("\(problem); its last content stays in use") }
    tableProblems[path] = problem.description
  }

  // MARK: Senders

  func trust(
    _ authorization: String?, _ connection: Int, _ now: WallTime
  ) -> Result<TrustedKey, PushRefusal> {
    var verdict = verifier.verdict(authorization, now: now)
    if case .verify(let check) = verdict {
      verdict = verifier.note(check, isValid: ProviderKey.isValid(check))
    }
    switch verdict {
    case .refused(let reason): return .failure(PushRefusal(reason: reason))
    case .verify: return .failure(PushRefusal(reason: .internalServerError))
    case .accepted(let key):
      let name = key.teamID + "\0" + key.keyID
      let first = connectionKeys[connection] ?? name
      connectionKeys[connection] = first
      return first == name ? .success(key) : .failure(PushRefusal(reason: .unrelatedKeyIDInToken))
    }
  }

  func noteClosed(connection: Int) { connectionKeys[connection] = nil }

  // MARK: Publishing without TLS

  /// Takes a message of a script. Calls `answer` once, on the event loop.
  func publish(_ request: PublishRequest, answer: @escaping @Sendable (PushAnswer, WallTime) -> Void) {
    afterCheckingTables { $0.take(request, answer: answer) }
  }

  private func take(_ request: PublishRequest, answer: @escaping @Sendable (PushAnswer, WallTime) -> Void) {
    let now = clock.wall()
    let push = request.push(
      id: GatewayClock.uuid(), now: now, callback: configuration.messageCallbacks[request.topic])
    if let refusal = publishRefusal { return answer(PushAnswer(reason: refusal, apnsID: push.apnsID), now) }
    take(
      push,
      Waiter(source: "http", topic: request.topic, token: "", began: .now) { reply, _ in answer(reply, now) })
  }

  /// Takes a payload from a file, for a topic: `notibot-gateway push`.
  func push(
    file body: [UInt8], topic: String, answer: @escaping @Sendable (PushAnswer, IntakeOutcome?) -> Void
  ) {
    afterCheckingTables { $0.take(file: body, topic: topic, answer: answer) }
  }

  private func take(
    file body: [UInt8], topic: String, answer: @escaping @Sendable (PushAnswer, IntakeOutcome?) -> Void
  ) {
    let now = clock.wall()
    let id = GatewayClock.uuid()
    let head = PushHead(
      deviceToken: "", apnsID: id, topic: topic, collapseID: nil, priority: 10, pushType: nil,
      expiration: nil, authorization: nil)
    if let refusal = publishRefusal { return answer(PushAnswer(reason: refusal, apnsID: id), nil) }
    guard let payload = PushPayload(parsing: body, limitBytes: PushHead.bodyLimitBytes) else {
      return answer(PushAnswer(reason: .payloadEmpty, apnsID: id), nil)
    }
    let profile = TopicProfile.of(topic: head.profileTopic, in: profiles)
    let push = IntakePush(
      key: SHA256.digest(of: "f", id), hasOwnKey: true, apnsID: id, topic: head.profileTopic, token: [],
      meaning: profile.meaning(of: payload, head, now: now), badge: payload.badge,
      oncePerDay: profile.oncePerDay)
    take(push, Waiter(source: "file", topic: push.topic, token: "", began: .now, answer: answer))
  }

  // MARK: The display

  /// Takes a report, on any thread. Those of every push need no turn of the event loop.
  nonisolated func take(_ report: ForwardingReport) async {
    switch report {
    case .delivered: deliveries.add(1, ordering: .relaxed)
    case .queued, .duplicate, .rejected, .full, .storeFull, .synced, .diverged, .newSource: break
    case .gone, .removed, .outcomeUnknown, .expired, .refused, .action: await note(report)
    }
  }

  private func note(_ report: ForwardingReport) {
    switch report {
    case .gone(let number, _), .removed(let number), .outcomeUnknown(let number), .expired(let number):
      isOutboxFull = false
      noteGone(number)
    case .refused(let number, _): noteGone(number)
    case .action(let number, let action, let revision, let isStale):
      notePress(number, action, revision, isStale: isStale)
    case .full(let limit):
      warn("\(Self.outboxIsFull) (\(limit)): pushes that add to it get 503 until notifications leave it")
    case .delivered, .queued, .rejected, .duplicate, .storeFull, .synced, .diverged, .newSource: break
    }
  }

  func note(_ change: ConnectionChange) {
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
      "decisions": .whole(desk.with(\.undeliveredCount)),
      "confirming": .whole(desk.with(\.confirmingCount)),
      "registrations": .object(registrations.states.mapValues { .string($0.rawValue) }),
      "problems": .array((problems + notices).map { .string($0) }),
    ]).line
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
  }

  // MARK: Connections

  /// The table of a listener's connections.
  func makeTable(_ name: String) -> ConnectionTable {
    let table = ConnectionTable(name, limit: configuration.connectionsLimit, eventLoop: eventLoop)
    connectionTables.append(table)
    return table
  }

  var connectionsCount: Int { connectionTables.reduce(0) { $0 + $1.count } }
}
#endif

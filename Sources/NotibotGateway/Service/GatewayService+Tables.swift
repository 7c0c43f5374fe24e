#if Gateway
import Digests
import GatewayRules
import NotibotHost
import SerialLink
import Synchronization

/// The versions of the tables that are loaded.
struct GatewayTableVersions {
  var tokens: PrivateFile.Version?
  var trust: PrivateFile.Version?
  var mutes: PrivateFile.Version?
}

extension GatewayService {
  /// Whether tokens and trusted keys are as the user wrote them last.
  var hasReadableTrust: Bool {
    tableProblems[folder.tokens] == nil && tableProblems[folder.trust] == nil
  }

  /// Reads again those tables that a command has changed. One that cannot be read keeps its
  /// content, and is reported: until it is repaired, pushes of senders are refused if it is the
  /// tokens or the trusted keys, because it can hide a revocation.
  func reloadTables() {
    reload(folder.tokens, \.tokens) { path throws(GatewayFailure) in
      tokens = try GatewayTables.readTokens(path)
    }
    reload(folder.trust, \.trust) { path throws(GatewayFailure) in
      verifier.setKeys(try GatewayTables.readTrust(path))
    }
    reload(folder.mutes, \.mutes) { path throws(GatewayFailure) in
      intake.rules.mutes = try GatewayTables.readMutes(path)
    }
  }

  private func reload(
    _ path: String, _ version: WritableKeyPath<GatewayTableVersions, PrivateFile.Version?>,
    _ read: (String) throws(GatewayFailure) -> Void
  ) {
    let found = PrivateFile.Version(of: path)
    let known = tables[keyPath: version]
    guard found != known else { return }
    tables[keyPath: version] = found
    do throws(GatewayFailure) {
      // One that was there and is not: deleted, not empty.
      if found.isMissing, known != nil {
        throw GatewayFailure(.usage, "cannot read \(path): it is missing")
      }
      try read(path)
      tableProblems[path] = nil
    } catch {
      if tableProblems[path] == nil { warn("\(error); its last content stays in use") }
      tableProblems[path] = error.description
    }
  }

  // MARK: Publishing without TLS

  /// Takes a message of a script. Calls `answer` once, on the event loop.
  func publish(_ request: PublishRequest, answer: @escaping @Sendable (PushAnswer, WallTime) -> Void) {
    reloadTables()
    let now = clock.now()
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
    reloadTables()
    let now = clock.now()
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
    case .queued, .duplicate, .rejected, .storeFull, .synced, .diverged, .newSource: break
    case .gone, .removed, .outcomeUnknown, .expired, .refused, .action: await note(report)
    }
  }

  private func note(_ report: ForwardingReport) {
    switch report {
    case .gone(let number, _), .removed(let number), .outcomeUnknown(let number), .expired(let number):
      noteGone(number)
    case .refused(let number, _): noteGone(number)
    case .action(let number, let action, let revision, let isStale):
      notePress(number, action, revision, isStale: isStale)
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
      "connections": .whole(counters.connections), "healthy": .bool(healthProblem == nil),
      "decisions": .whole(desk.with(\.undeliveredCount)),
      "confirming": .whole(desk.with(\.confirmingCount)),
      "registrations": .object(registrations.states.mapValues { .string($0.rawValue) }),
      "problems": .array(problems.map { .string($0) }),
    ]).line
  }

  func metrics() async -> String {
    let statistics = await gate.forwarder.statistics
    return counters.text(
      boardUp: isBoardUp, diskFull: !fullFiles.isEmpty, entries: statistics.entries,
      unfinished: statistics.unfinished, delivered: deliveries.load(ordering: .relaxed),
      presses: desk.verdicts, decisions: desk.with(\.undeliveredCount))
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
  }

  // MARK: Connections

  /// Whether another connection is allowed; counts it.
  func admitConnection() -> Bool {
    guard counters.connections < configuration.connectionsLimit, !isStopping else {
      counters.refusedConnections += 1
      return false
    }
    counters.connections += 1
    return true
  }

  func noteConnectionClosed(_ connection: Int) {
    counters.connections -= 1
    noteClosed(connection: connection)
  }
}
#endif

#if Gateway
import GatewayRules
import NotibotHost

/// The versions of the tables that are loaded.
struct GatewayTableVersions {
  var tokens: PrivateFile.Version?
  var trust: PrivateFile.Version?
  var mutes: PrivateFile.Version?
}

extension GatewayService {
  /// Reads again those tables that a command has changed. One that cannot be read keeps its
  /// content.
  func reloadTables() {
    let versions = GatewayTableVersions(
      tokens: PrivateFile.Version(of: folder.tokens), trust: PrivateFile.Version(of: folder.trust),
      mutes: PrivateFile.Version(of: folder.mutes))
    if versions.tokens != tables.tokens, let read = try? GatewayTables.readTokens(folder.tokens) {
      tokens = read
    }
    if versions.trust != tables.trust, let read = try? GatewayTables.readTrust(folder.trust) {
      verifier.setKeys(read)
    }
    if versions.mutes != tables.mutes, let read = try? GatewayTables.readMutes(folder.mutes) {
      intake.rules.mutes = read
    }
    tables = versions
  }

  // MARK: Publishing without TLS

  /// Takes a message of a script. Calls `answer` once, on the event loop.
  func publish(_ request: PublishRequest, answer: @escaping @Sendable (PushAnswer, WallTime) -> Void) {
    reloadTables()
    let now = clock.now()
    let push = request.push(id: GatewayClock.uuid(), now: now)
    guard !isStopping else { return answer(PushAnswer(reason: .shutdown, apnsID: push.apnsID), now) }
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
    guard !isStopping, let payload = PushPayload(parsing: body, limitBytes: PushHead.bodyLimitBytes) else {
      return answer(PushAnswer(reason: isStopping ? .shutdown : .payloadEmpty, apnsID: id), nil)
    }
    let profile = TopicProfile.of(topic: head.profileTopic, in: profiles)
    let push = IntakePush(
      key: SHA256.digest(of: "f", id), hasOwnKey: true, apnsID: id, topic: head.profileTopic, token: [],
      meaning: profile.meaning(of: payload, head, now: now), badge: payload.badge,
      oncePerDay: profile.oncePerDay)
    take(push, Waiter(source: "file", topic: push.topic, token: "", began: .now, answer: answer))
  }

  // MARK: The display

  func note(_ report: ForwardingReport) {
    switch report {
    case .delivered: counters.delivered += 1
    case .gone(let number, _), .removed(let number), .outcomeUnknown(let number), .expired(let number):
      noteGone(number)
    case .refused(let number, _): noteGone(number)
    case .queued, .rejected, .duplicate, .action, .storeFull, .synced, .diverged, .newSource: break
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
      "badges": .object(intake.badges.mapValues { .whole($0) }),
      "badge": .whole(intake.badges.values.reduce(0, +)),
      "connections": .whole(counters.connections), "healthy": .bool(!hasStoreFailed),
    ]).line
  }

  func metrics() async -> String {
    let statistics = await gate.forwarder.statistics
    return counters.text(
      boardUp: isBoardUp, entries: statistics.entries, unfinished: statistics.unfinished)
  }

  /// The last pushes, one line of JSON each.
  func pushes(last: Int) -> String { log.last(last).map { $0.line + "\n" }.joined() }

  var isHealthy: Bool { !hasStoreFailed && !isStopping }

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

#if Gateway
import GatewayRules
import NIOCore
import NotibotHost

// From decisions to the display, to backends and to the long poll.
extension GatewayService {
  /// Reads the tables, and continues what a former run has left.
  func begin() {
    for notice in notices { warn(notice) }
    desk.attach { [eventLoop] in
      eventLoop.execute { self.assumeIsolated { $0.drainDecisions() } }
    }
    reloadRegistrations()
    wakeIntake()
  }

  // MARK: Items

  /// A new text of an item is on its way.
  func handleBegin(of operation: IntakeMachine.Operation) {
    guard let number = operation.changedNumber else { return }
    desk.with { $0.beginChange(number) }
  }

  func handleEnd(of operation: IntakeMachine.Operation) {
    guard let number = operation.changedNumber else { return }
    let now = clock.now()
    desk.with { $0.endChange(number, now: now) }
  }

  func apply(_ record: IntakeRecord) {
    let now = clock.now()
    switch record {
    case .item(let item):
      desk.with { $0.setItem(item.number, question: item.question, target: item.target, now: now) }
      summaries.setItem(item.number, member: item.member, now: now)
    case .forgetItem(let number):
      desk.with { $0.forgetItem(number) }
      summaries.forgetItem(number, now: now)
    case .key, .forgetKey, .suppressed, .badge, .shown, .delayed, .forgetDelayed: break
    }
  }

  /// The report of a press, also of one that was decided about before its commit.
  func handlePress(_ number: Int64, _ action: UInt32, _ revision: UInt16?, isStale: Bool) {
    desk.receive(
      number: number, action: action, revision: revision, isStale: isStale, now: clock.now())
    // A press of an item that asks nothing.
    if intake.question(of: number) == nil {
      intake.receiveReading(of: number, isGone: false)
      drainActions()
    }
    drainDecisions()
  }

  // MARK: Actions

  /// Records go to the disk; what follows them is executed when they are durable.
  func drainDecisions() {
    for action in desk.drainActions() {
      // Presses that a device keeps bring no record here: it is on the disk already.
      if case .announce(let decision) = action, decision.state == .pending {
        summaries.handleAnswered(decision.number, now: clock.now())
      }
      if let record = StoreRecord(action) { records.append(record) } else { followUps.append(.press(action)) }
    }
    drainSummaries()
    writeRecords()
    armDecisions()
  }

  private func drainSummaries() {
    while let action = summaries.nextAction() {
      switch action {
      case .record(let record): records.append(.summary(record))
      case .submit(let operation, let group): followUps.append(.summary(operation, group: group))
      }
    }
  }

  /// Executes what no longer waits for a record. Without its file the gateway decides nothing.
  func follow(_ followUps: [FollowUp]) {
    guard !hasStoreFailed else { return }
    for followUp in followUps {
      switch followUp {
      case .press(.show(let show)): change(show)
      case .press(.call(let call)): send(call)
      case .press(.announce): servePollers()
      case .press(.record), .press(.forget): break
      case .summary(let operation, let group): submit(operation, .summary(group: group))
      }
    }
  }

  /// Writes to an item that was pressed, unless its sender has a newer text for it.
  private func change(_ show: DecisionMachine.Show) {
    guard desk.with({ $0.isCurrent(show) }) else { return complete(show, isDone: false) }
    submit(.update(show.number, show.notification, key: nil), .press(show))
  }

  func complete(_ show: DecisionMachine.Show, isDone: Bool) {
    let now = clock.now()
    desk.with { $0.complete(show, isDone: isDone, now: now) }
  }

  private func send(_ call: DecisionMachine.Call) {
    // It stays undelivered, and is sent at the next start.
    guard !isStopping, let callback = configuration.callbacks[call.callback] else { return }
    let isClearing = call.decision.state == .clearing
    let body = Array(callback.content(of: call.decision).line.utf8)
    var request = CallbackClient.Request(
      method: "POST", address: isClearing ? callback.clearAddress ?? callback.address : callback.address,
      fields: [("content-type", "application/json"), ("idempotency-key", call.key)], body: body,
      authorityPath: callback.authorityPath.map(folder.path(of:)))
    if let path = callback.secretPath {
      request.secret = CallbackClient.Secret(
        path: folder.path(of: path), purpose: "sign the callback '\(call.callback)'"
      ) { [now = clock.wall()] secret in
        ("notibot-signature", Callback.signature(of: body, secret: secret, at: now))
      }
    }
    client.send(request).whenSuccess { result in self.assumeIsolated { $0.complete(call, result) } }
  }

  private func complete(_ call: DecisionMachine.Call, _ result: CallResult) {
    counters.recordCallback(CallVerdict(result))
    let now = clock.now()
    desk.with { $0.complete(call, result, now: now) }
    drainDecisions()
  }

  private func armDecisions() {
    decisionTimer?.cancel()
    decisionTimer = nil
    let deadlines = [desk.with(\.nextDeadline), summaries.nextDeadline].compactMap(\.self)
    guard !isStopping, let deadline = deadlines.min() else { return }
    let delay = max(1, min(deadline.milliseconds - clock.now().milliseconds, 60_000))
    decisionTimer = eventLoop.scheduleTask(in: .milliseconds(delay)) {
      self.assumeIsolated { service in
        let now = service.clock.now()
        service.desk.with { $0.handleTimeout(now: now) }
        service.summaries.handleTimeout(now: now)
        service.drainDecisions()
      }
    }
  }

  // MARK: The long poll

  /// Answers with decisions after `after`, as soon as there is one, or after `wait` seconds. The
  /// request also acknowledges those up to `after`. `topics`: nil for all.
  func poll(
    after: Int64, wait: Int64, topics: [String]?, answer: @escaping @Sendable (_ body: String) -> Void
  ) {
    let now = clock.now()
    let after = desk.with { $0.cursor(after) }
    desk.with { $0.acknowledge(upTo: after, topics: topics, now: now) }
    drainDecisions()
    let found = desk.with { $0.decisions(after: after, topics: topics) }
    guard found.isEmpty, wait > 0, !isStopping else {
      return answer(ActionPollers.body(found, after: after))
    }
    let number = pollers.add(after: after, topics: topics, answer: answer)
    let timer = eventLoop.scheduleTask(in: .seconds(wait)) {
      self.assumeIsolated { $0.pollers.end(number) }
    }
    pollers.setTimer(timer, of: number)
  }

  /// The same for a sender, with its provider's token: for the topics of its key.
  func poll(
    _ headers: PushHeaders, connection: Int,
    answer: @escaping @Sendable (_ status: Int, _ body: String) -> Void
  ) {
    let text = headers.path.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
    afterCheckingTables { $0.poll(headers, text, connection, answer) }
  }

  private func poll(
    _ headers: PushHeaders, _ text: Substring, _ connection: Int,
    _ answer: @escaping @Sendable (_ status: Int, _ body: String) -> Void
  ) {
    func refuse(_ status: Int, _ reason: PushReason) {
      answer(status, JSONValue.object(["reason": .string(reason.rawValue)]).line)
    }
    guard !isStopping else { return refuse(503, .shutdown) }
    guard headers.method == "GET" else { return refuse(405, .methodNotAllowed) }
    guard hasReadableTrust else { return refuse(503, .serviceUnavailable) }
    do throws(PushRefusal) {
      let key = try trust(headers.first("authorization"), connection, clock.wall())
      guard let query = PollQuery(parsing: text) else { return refuse(404, .badPath) }
      poll(after: query.after, wait: query.wait, topics: key.topics) { answer(200, $0) }
    } catch {
      refuse(error.reason.status, error.reason)
    }
  }

  private func servePollers() {
    for (number, after, topics) in pollers.waiting {
      let found = desk.with { $0.decisions(after: after, topics: topics) }
      if !found.isEmpty { pollers.end(number, found) }
    }
  }
}

extension IntakeMachine.Operation {
  /// The item whose text it changes or takes away.
  var changedNumber: Int64? {
    switch self {
    case .add: nil
    case .update(let number, _, key: _), .remove(let number): number
    }
  }
}

/// Requests of the long poll that wait for a decision.
struct ActionPollers {
  /// Waiting requests, at most.
  private static let limit = 64

  private struct Poller {
    var after: Int64
    var topics: [String]?
    var answer: @Sendable (String) -> Void
    var timer: Scheduled<Void>?
  }

  private var pollers: [Int: Poller] = [:]
  private var lastNumber = 0

  var waiting: [(number: Int, after: Int64, topics: [String]?)] {
    pollers.sorted { $0.key < $1.key }.map { ($0.key, $0.value.after, $0.value.topics) }
  }

  /// Its number. The oldest one is answered if too many wait.
  mutating func add(
    after: Int64, topics: [String]?, answer: @escaping @Sendable (String) -> Void
  ) -> Int {
    if pollers.count >= Self.limit, let oldest = pollers.keys.min() { end(oldest) }
    lastNumber += 1
    pollers[lastNumber] = Poller(after: after, topics: topics, answer: answer)
    return lastNumber
  }

  mutating func setTimer(_ timer: Scheduled<Void>, of number: Int) { pollers[number]?.timer = timer }

  mutating func end(_ number: Int, _ found: [Decision] = []) {
    guard let poller = pollers.removeValue(forKey: number) else { return }
    poller.timer?.cancel()
    poller.answer(Self.body(found, after: poller.after))
  }

  mutating func endAll() {
    for number in pollers.keys.sorted() { end(number) }
  }

  /// One object: the decisions, and what to ask for next.
  static func body(_ found: [Decision], after: Int64) -> String {
    let rows = found.map { decision -> JSONValue in
      var members = decision.content.object ?? [:]
      members["state"] = .string(decision.state.rawValue)
      return .object(members)
    }
    let next = found.last?.sequence ?? after
    return JSONValue.object(["actions": .array(rows), "next": .whole(next)]).line + "\n"
  }
}
#endif

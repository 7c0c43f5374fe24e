#if Gateway
import Digests
import GatewayRules
import NIOCore
import NIOPosix
import NotibotHost
import NotibotProtocol
import Synchronization

/// A running gateway: takes requests from the servers, feeds the intake, and answers.
///
/// Runs on one event loop, which is also that of all connections, so that pushes are taken in the
/// order in which they arrive.
actor GatewayService {
  /// What the answer to a push still needs.
  struct Waiter {
    var source: String
    var topic: String
    var token: String
    var began: ContinuousClock.Instant
    var answer: @Sendable (PushAnswer, IntakeOutcome?) -> Void
  }

  /// A change for the outbox.
  struct Change {
    enum Origin {
      case intake(id: UInt64)
      case press(DecisionMachine.Show)
      case summary(group: [UInt8])
    }

    var operation: IntakeMachine.Operation
    var origin: Origin
  }

  /// What is due when the records before it are durable.
  enum FollowUp {
    case press(DecisionMachine.Action)
    case summary(IntakeMachine.Operation, group: [UInt8])
  }

  nonisolated let eventLoop: any EventLoop
  let folder: GatewayFolder
  let configuration: GatewayConfiguration
  let profiles: [TopicProfile]
  /// Another one after the outbox had no room on the disk.
  var gate: OutboxGate
  let reader: NIOThreadPool
  let store: GatewayStore
  let storeThread: NIOThreadPool
  let desk: DecisionDesk
  let clock = GatewayClock()
  let client: CallbackClient
  /// What the user has to know; it does not end while the gateway runs.
  let notices: [String]
  /// For the user: one line, without a text or a token.
  let warn: @Sendable (String) -> Void

  var verifier = TokenVerifier(keys: [])
  var tokens = DeviceTokens()
  var failures: [FailureRule]
  var connectionTables: [ConnectionTable] = []
  var tableVersions = GatewayTables.Versions()
  var tableCheck = TableCheck.idle
  var workAfterNextCheck: [TableCheck.Work] = []
  /// Why a table cannot be read, by its file.
  var tableProblems: [String: String] = [:]
  var registrations: RegistrationMachine
  var registrationTimer: Scheduled<Void>?
  var decisionTimer: Scheduled<Void>?
  var pollers = ActionPollers()
  var intake: IntakeMachine
  var summaries: SummaryMachine
  var log = PushLog()
  var counters = GatewayCounters()
  /// Notifications that the display has taken.
  nonisolated let deliveries = Atomic<Int>(0)
  var isBoardUp = false
  var isStopping = false
  /// The first key that each connection used.
  var connectionKeys: [Int: String] = [:]
  private var waiters: [IntakeMachine.Ticket: Waiter] = [:]
  private var lastTicket: UInt64 = 0
  private var timer: Scheduled<Void>?

  // Changes on their way to the outbox, and records on their way to the disk, with what waits for
  // them.
  private var changes: [Change] = []
  private var submitting: Task<Void, Never>?
  var records: [StoreRecord] = []
  var followUps: [FollowUp] = []
  private var answers: [(ticket: IntakeMachine.Ticket, outcome: IntakeOutcome, apnsID: String)] = []
  private var isWriting = false
  var hasStoreFailed = false
  /// The next attempt to write records that the disk had no room for.
  private var writingAgain: Scheduled<Void>?
  /// Files that cannot be written because there is no room.
  var fullFiles: Set<String> = []
  var isOutboxFull = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { eventLoop.executor.asUnownedSerialExecutor() }

  init(
    eventLoop: any EventLoop, folder: GatewayFolder, configuration: GatewayConfiguration,
    profiles: [TopicProfile], forwarder: Forwarder, files: GatewayFiles,
    warn: @escaping @Sendable (String) -> Void
  ) {
    self.eventLoop = eventLoop
    self.folder = folder
    self.configuration = configuration
    self.profiles = profiles
    reader = files.reader
    store = files.store
    storeThread = files.thread
    desk = files.desk
    client = CallbackClient(eventLoop: eventLoop, reader: files.reader, warn: warn)
    registrations = RegistrationMachine(removed: files.unregistered)
    self.warn = warn
    gate = OutboxGate(forwarder: forwarder)
    failures = configuration.failures
    intake = IntakeMachine(
      options: configuration.intake, rules: DisplayRules(quietHours: configuration.quietHours),
      files.contents.take() ?? IntakeContents())
    summaries = files.summaries
    notices = files.notice.map { [$0] } ?? []
  }

  // MARK: Pushes

  /// Takes a push with all of its body, or as much of it as shows that it is too large. Calls
  /// `answer` once, on the event loop.
  func push(
    _ headers: PushHeaders, body: [UInt8], connection: Int,
    answer: @escaping @Sendable (PushAnswer) -> Void
  ) {
    let began = ContinuousClock.now
    afterCheckingTables { $0.take(headers, body, connection, began, answer) }
  }

  private func take(
    _ headers: PushHeaders, _ body: [UInt8], _ connection: Int, _ began: ContinuousClock.Instant,
    _ answer: @escaping @Sendable (PushAnswer) -> Void
  ) {
    let now = clock.wall()
    let ownID = headers.echoedID
    let apnsID = ownID ?? GatewayClock.uuid()
    let decision = decide(headers, body, apnsID, connection, now)
    switch decision {
    case .refused(let reason, let since, let topic, let token, let detail):
      let reply = PushAnswer(reason: reason, apnsID: apnsID, since: since, detail: detail)
      note("apns", topic, token, reply, reason.rawValue, began)
      answer(reply)
    case .taken(let push, let token):
      let waiter = Waiter(source: "apns", topic: push.topic, token: token.label, began: began) { reply, _ in
        // A repetition without an id gets the first one's; every other id is echoed byte for byte.
        var reply = reply
        reply.apnsID = ownID ?? reply.apnsID
        answer(reply)
      }
      take(push, waiter)
    }
  }

  private enum Decision {
    case taken(IntakePush, DeviceToken)
    case refused(PushReason, since: WallTime?, topic: String, token: String, detail: String?)
  }

  /// The checks of a push in their order: nothing is looked up before the sender is trusted.
  private func decide(
    _ headers: PushHeaders, _ body: [UInt8], _ apnsID: String, _ connection: Int, _ now: WallTime
  ) -> Decision {
    func refused(_ reason: PushReason, _ topic: String = "", detail: String? = nil) -> Decision {
      .refused(reason, since: nil, topic: topic, token: "", detail: detail)
    }
    guard !isStopping else { return refused(.shutdown) }
    if let reason = headers.refusalBeforeTrust() { return refused(reason) }
    // An unreadable table can hide a revocation: senders repeat the push when it is repaired.
    guard hasReadableTrust else { return refused(.serviceUnavailable) }
    guard fullFiles.isEmpty else { return refused(.serviceUnavailable, detail: Self.noRoom) }
    let key: TrustedKey
    switch trust(headers.authorization, connection, now) {
    case .failure(let refusal): return refused(refusal.reason)
    case .success(let trusted): key = trusted
    }
    let head: PushHead
    switch headers.head() {
    case .failure(let refusal): return refused(refusal.reason)
    case .success(let parsed): head = parsed
    }
    // The key's own text: all items of a topic share it.
    guard let topic = key.topics.first(where: { $0 == head.profileTopic }) else {
      return refused(.topicDisallowed)
    }
    let (known, reason) = PushRequest.token(of: head, in: tokens)
    if let reason {
      return .refused(reason, since: known?.revoked, topic: topic, token: known?.label ?? "", detail: nil)
    }
    guard let token = known else { return refused(.badDeviceToken, topic) }
    for index in failures.indices {
      guard let reason = failures[index].reason(topic: topic, token: token.name) else { continue }
      return .refused(
        reason, since: reason == .unregistered ? now : nil, topic: topic, token: token.label,
        detail: "a rule of 'failures'")
    }
    guard body.count <= head.bodyLimitBytes else { return refused(.payloadTooLarge, topic) }
    guard let payload = PushPayload(parsing: body, limitBytes: head.bodyLimitBytes) else {
      return refused(.payloadEmpty, topic, detail: "the body is not a JSON object with an object 'aps'")
    }
    let profile = TopicProfile.of(topic: topic, in: profiles)
    var push = IntakePush(
      key: pushKey(head, token.digest, body), hasOwnKey: head.apnsID != nil, apnsID: apnsID,
      topic: topic, token: token.digest, meaning: profile.meaning(of: payload, head, now: now),
      badge: payload.badge, expiration: head.expiration, oncePerDay: profile.oncePerDay)
    push.hasSendersID = head.apnsID != nil
    return .taken(push, token)
  }

  private func pushKey(_ head: PushHead, _ token: [UInt8], _ body: [UInt8]) -> [UInt8] {
    guard head.apnsID != nil || configuration.intake.contentKeepMs > 0 else {
      return SHA256.digest(of: "u", GatewayClock.uuid())
    }
    return PushRequest.key(head, token: token, body: body)
  }

  // MARK: The intake

  /// Gives a push to the intake.
  func take(_ push: IntakePush, _ waiter: Waiter) {
    lastTicket += 1
    let ticket = IntakeMachine.Ticket(lastTicket)
    waiters[ticket] = waiter
    intake.receive(push, ticket: ticket, at: clock.moment(isBoardUp: isBoardUp))
    obey()
  }

  func noteGone(_ number: Int64) {
    intake.noteGone(number)
    summaries.noteGone(number, now: clock.now())
    obey()
  }

  private func obey() {
    summaries.wallLeadMs = clock.wallLeadMs
    while let action = intake.nextAction() {
      switch action {
      case .submit(let operation, let id):
        noteBegin(of: operation)
        changes.append(Change(operation: operation, origin: .intake(id: id)))
      case .record(let record):
        note(record)
        records.append(.intake(record))
      case .answer(let ticket, let outcome, let apnsID): answers.append((ticket, outcome, apnsID))
      }
    }
    obeyDecisions()
    submitChanges()
    arm()
  }

  func submit(_ operation: IntakeMachine.Operation, _ origin: Change.Origin) {
    changes.append(Change(operation: operation, origin: origin))
    submitChanges()
  }

  private func arm() {
    timer?.cancel()
    timer = nil
    guard let deadline = intake.nextDeadline, !isStopping else { return }
    let delay = max(1, min(deadline.milliseconds - clock.now().milliseconds, 1000))
    timer = eventLoop.scheduleTask(in: .milliseconds(delay)) {
      self.assumeIsolated { service in
        service.intake.handleTimeout(now: service.clock.now())
        service.obey()
      }
    }
  }

  /// One batch at a time, so that changes keep their order; what comes meanwhile shares the next.
  private func submitChanges() {
    guard submitting == nil, !changes.isEmpty else { return }
    let batch = changes
    changes = []
    submitting = Task {
      let (results, isFull) = await gate.submit(batch.map(\.operation))
      submitting = nil
      if isFull { isOutboxFull = true }
      let now = clock.now()
      for (change, result) in zip(batch, results) {
        switch change.origin {
        case .intake(let id): intake.complete(id, result, now: now)
        case .press(let show): note(show, isDone: result != .failed)
        case .summary(let group): summaries.complete(group, result, now: now)
        }
      }
      obey()
      for change in batch {
        if case .intake = change.origin { noteEnd(of: change.operation) }
      }
      obeyDecisions()
    }
  }

  func writeRecords() {
    guard !isWriting else { return }
    let replies = answers
    answers = []
    guard writingAgain == nil else { return giveAnswers(replies) }
    let (batch, rest) = (records, followUps)
    (records, followUps) = ([], [])
    let hasRepetition = replies.contains { $0.outcome == .duplicate }
    guard !batch.isEmpty || hasRepetition, !hasStoreFailed else {
      giveAnswers(replies)
      return follow(rest)
    }
    isWriting = true
    let (store, forwarder) = (store, gate.forwarder)
    storeThread.runIfActive(eventLoop: eventLoop) {
      Result { () throws(JournalError) in
        try store.write(batch)
        // The record of a repetition is from before; the outbox must still have it.
        if hasRepetition { try forwarder.checkOutbox() }
      }
    }.whenSuccess { result in
      self.assumeIsolated { service in
        service.isWriting = false
        switch result {
        case .success: service.noteRoom(for: service.folder.store)
        case .failure(let error) where error.code == .diskFull:
          service.records = batch + service.records
          service.followUps = rest + service.followUps
          service.writeAgain()
          return service.giveAnswers(replies)
        case .failure(let error): service.fail(error)
        }
        service.giveAnswers(replies)
        service.follow(rest)
        service.writeRecords()
      }
    }
  }

  private func writeAgain() {
    noteNoRoom(for: folder.store)
    writingAgain = eventLoop.scheduleTask(in: .seconds(1)) {
      self.assumeIsolated { service in
        service.writingAgain = nil
        service.writeRecords()
      }
    }
  }

  private func giveAnswers(
    _ replies: [(ticket: IntakeMachine.Ticket, outcome: IntakeOutcome, apnsID: String)]
  ) {
    for (ticket, outcome, apnsID) in replies {
      guard let waiter = waiters.removeValue(forKey: ticket) else { continue }
      let isRefusing = hasStoreFailed || writingAgain != nil
      let reply = PushAnswer(
        reason: isRefusing ? .serviceUnavailable : outcome.reason, apnsID: apnsID,
        detail: !fullFiles.isEmpty
          ? Self.noRoom : outcome == .unavailable && isOutboxFull ? Self.outboxIsFull : nil)
      note(waiter.source, waiter.topic, waiter.token, reply, outcome.rawValue, waiter.began)
      waiter.answer(reply, outcome)
    }
  }

  private func note(
    _ source: String, _ topic: String, _ token: String, _ reply: PushAnswer, _ verdict: String,
    _ began: ContinuousClock.Instant
  ) {
    counters.note(
      topic: topic, verdict: verdict, isLocal: source == "http", answered: ContinuousClock.now - began)
    log.append(
      PushLog.Entry(
        at: clock.wall(), source: source, topic: topic, token: token, apnsID: reply.apnsID,
        status: reply.status, verdict: verdict, detail: reply.detail))
  }

  // MARK: Ending

  /// From now on pushes are refused; waits until those that are taken are answered.
  func stop() async {
    isStopping = true
    for pending in [timer, decisionTimer, registrationTimer, writingAgain] { pending?.cancel() }
    pollers.endAll()
    // Held states of Live Activities are written now.
    intake.handleTimeout(now: WallTime(milliseconds: .max / 2))
    obey()
    while let task = submitting { await task.value }
  }
}
#endif

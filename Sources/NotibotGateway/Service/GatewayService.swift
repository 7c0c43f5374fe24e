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
    var remarks: [PushRemark] = []
    /// Whether `remarks` say why nothing is shown.
    var isExplained = false
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
  var keeper: CertificateKeeper?
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
  /// Requests of scripts since the start.
  var messagesCount = 0

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

  // MARK: The intake

  /// Gives a push to the intake.
  func accept(_ push: IntakePush, _ waiter: Waiter) {
    lastTicket += 1
    let ticket = IntakeMachine.Ticket(lastTicket)
    let moment = clock.moment(isBoardUp: isBoardUp)
    waiters[ticket] = waiter
    if let remark = intake.rules.remark(on: push, moment) { waiters[ticket]?.remarks.append(remark) }
    intake.receive(push, ticket: ticket, at: moment)
    drainActions()
  }

  /// A notification left the display or the outbox.
  func handleGone(_ number: Int64, isRead: Bool = false) {
    if isRead {
      intake.receiveReading(of: number, isGone: true, summaryOf: summaries.group(ofSummary: number))
    }
    intake.handleGone(number)
    summaries.handleGone(number, now: clock.now())
    drainActions()
  }

  func drainActions() {
    summaries.wallLeadMs = clock.wallLeadMs
    while let action = intake.nextAction() {
      switch action {
      case .submit(let operation, let id):
        handleBegin(of: operation)
        changes.append(Change(operation: operation, origin: .intake(id: id)))
      case .record(let record):
        apply(record)
        records.append(.intake(record))
      case .answer(let ticket, let outcome, let apnsID): answers.append((ticket, outcome, apnsID))
      }
    }
    drainDecisions()
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
    // Not longer, because the calendar can be set meanwhile.
    let delay = max(1, min(deadline.milliseconds - clock.now().milliseconds, 5000))
    timer = eventLoop.scheduleTask(in: .milliseconds(delay)) { self.assumeIsolated { $0.wakeIntake() } }
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
        case .press(let show): complete(show, isDone: result != .failed)
        case .summary(let group): summaries.complete(group, result, now: now)
        }
      }
      drainActions()
      for change in batch {
        if case .intake = change.origin { handleEnd(of: change.operation) }
      }
      drainDecisions()
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
        case .success: service.handleRoom(for: service.folder.store)
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
    handleNoRoom(for: folder.store)
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
      var remarks = waiter.remarks
      if !fullFiles.isEmpty {
        remarks = [PushRemark("", Self.noRoom)]
      } else if outcome == .unavailable, isOutboxFull {
        remarks = [PushRemark("", Self.outboxIsFull)]
      } else if !waiter.isExplained, let remark = outcome.remark(isMessage: waiter.source == "http") {
        remarks.append(remark)
      }
      var reply = PushAnswer(
        reason: isRefusing ? .serviceUnavailable : outcome.reason, apnsID: apnsID, remarks: remarks,
        paceSeconds: configuration.intake.paceSeconds)
      record(waiter.source, waiter.topic, waiter.token, reply, outcome.rawValue, waiter.began)
      if !outcome.isForSender { reply.remarks = waiter.remarks }
      waiter.answer(reply, outcome)
    }
  }

  func record(
    _ source: String, _ topic: String, _ token: String, _ reply: PushAnswer, _ verdict: String,
    _ began: ContinuousClock.Instant
  ) {
    counters.record(
      topic: topic, verdict: verdict, isLocal: source == "http", answered: ContinuousClock.now - began)
    log.append(
      PushLog.Entry(
        at: clock.wall(), source: source, topic: topic, token: token, apnsID: reply.apnsID,
        status: reply.status, verdict: verdict, remarks: reply.remarks))
  }

  // MARK: Ending

  /// From now on pushes are refused; waits until those that are taken are answered.
  func stop() async {
    isStopping = true
    for pending in [timer, decisionTimer, registrationTimer, writingAgain] { pending?.cancel() }
    pollers.endAll()
    // Held states of Live Activities are written now.
    var moment = clock.moment(isBoardUp: isBoardUp)
    moment.now = WallTime(milliseconds: .max / 2)
    intake.handleTimeout(at: moment)
    drainActions()
    while let task = submitting { await task.value }
  }
}
#endif

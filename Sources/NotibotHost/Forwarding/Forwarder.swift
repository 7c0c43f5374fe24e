import NIOCore
import NIOPosix
public import NotibotProtocol
import SerialLink

/// Delivers notifications to a display, each exactly once, despite unplugged cables, restarts and
/// crashes. Get one from `withForwarder`.
///
/// Runs on one event loop: machine, timer, channel and these methods share a thread. The journal
/// has a thread of its own. States: *running* → *stopping* → *ended*; running → ended on an
/// unrecoverable error.
public actor Forwarder {
  enum State {
    case running
    /// The reason, unless the caller ended it.
    case stopping(NotibotError?)
    case ended(NotibotError?)
  }

  /// The answer to a submission with a key.
  public struct Acceptance: Hashable, Sendable {
    /// The notification's number: the earlier one if the key was accepted before.
    public var number: ForwardingReport.Number
    /// Whether the key was accepted before; nothing was stored or sent again.
    public var isDuplicate = false
    /// Whether the content differs from the one accepted then, which stays.
    public var hasKeyConflict = false

    init(number: ForwardingReport.Number, isDuplicate: Bool = false, hasKeyConflict: Bool = false) {
      self.number = number
      self.isDuplicate = isDuplicate
      self.hasKeyConflict = hasKeyConflict
    }
  }

  nonisolated let eventLoop: any EventLoop
  /// The port as the user named it.
  public nonisolated let port: String
  /// Changes of the connection, for one consumer.
  public nonisolated let changes: Changes
  /// What became of the notifications, for one consumer.
  public nonisolated let reports: Reports
  /// Both in one order.
  package nonisolated var events: Events { reports.events }

  let name: PortName
  let ports: PortList
  let options: ForwardingOptions
  let journal: Journal
  let journalThread = NIOThreadPool(numberOfThreads: 1)
  let changeSink: AsyncStream<ConnectionChange>.Continuation
  let reportSink: AsyncStream<Event>.Continuation
  var machine: ForwardingMachine
  /// As of the last commit.
  var source: UInt32
  var state = State.running
  var timer = DriverTimer()
  var line = PortAttempts<any NIOCore.Channel>()
  /// Completes when the last attempt has failed, or its port is closed and its locks are released.
  var released: EventLoopFuture<Void>?
  var isSearching = false
  /// Whether `full` was reported.
  var isFull = false
  /// Ends the wait of submissions for room.
  var waitingForRoom: Scheduled<Void>?
  var arrivals: PortArrivals?
  var submissions = Submissions()
  private var tokens: UInt64 = 1 << 63
  private var endWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  /// Ends the wait of `finish`.
  private var finishing: Scheduled<Void>?
  private var closingError: NotibotError?

  /// The event loop on which everything of this forwarder runs.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    eventLoop.executor.asUnownedSerialExecutor()
  }

  init(
    name: PortName, ports: PortList, options: ForwardingOptions, journal: Journal,
    contents: JournalContents, eventLoop: any EventLoop, seed: UInt64
  ) {
    self.eventLoop = eventLoop
    self.name = name
    self.ports = ports
    self.options = options
    self.journal = journal
    port = name.description
    source = contents.header.source
    machine = ForwardingMachine(
      configuration: ForwardingConfiguration(options, name), journal: contents, seed: seed)
    let (changeStream, changeSink) = AsyncStream<ConnectionChange>.makeStream(
      bufferingPolicy: .bufferingNewest(max(1, options.changesLimit)))
    changes = Changes(stream: changeStream)
    self.changeSink = changeSink
    // Bounded by the entries in the outbox and by the backlog's limit, beyond which nothing is
    // accepted.
    let (reportStream, reportSink) = AsyncStream<Event>.makeStream()
    reports = Reports(
      events: Events(stream: reportStream, backlog: ReportBacklog(limit: max(1, options.reportsLimit))))
    self.reportSink = reportSink
  }

  // MARK: Submitting

  /// Puts a notification into the outbox. Returns its number when it is in the journal: from then
  /// on its delivery is guaranteed. Waits while the outbox is full. Throws `NotibotError` when the
  /// forwarder has ended or ends meanwhile.
  @discardableResult
  public func submit(_ notification: DisplayNotification) async throws -> ForwardingReport.Number {
    try await submitOne(.add(notification)).number
  }

  /// Puts a notification into the outbox unless its key was accepted before. Returns when it is in
  /// the journal, together with the key: a caller that does not get that far, for example because
  /// it crashes, submits it again with the same key, and it is shown once.
  ///
  /// A key is remembered for 24 hours at least, and as long as its notification is in the outbox.
  /// Does not wait while the outbox is full: throws `NotibotError` with the code `queueFull`, also
  /// when the outbox can remember no more keys. Throws it, too, when the forwarder has ended or
  /// ends meanwhile.
  @discardableResult
  public func submit(_ notification: DisplayNotification, key: IdempotencyKey) async throws -> Acceptance {
    try await submitOne(.add(notification), key: key, whenFull: .reject)
  }

  /// Puts a notification into the outbox as `submit` does, but does not wait while it is full:
  /// throws `NotibotError` with the code `queueFull`.
  @discardableResult
  public func submitIfRoom(_ notification: DisplayNotification) async throws -> ForwardingReport.Number {
    try await submitOne(.add(notification), whenFull: .reject).number
  }

  /// Replaces the content of a notification, on the display too. Throws `NotibotError` if it is no
  /// longer in the outbox.
  public func update(_ number: ForwardingReport.Number, to notification: DisplayNotification) async throws {
    _ = try await submitOne(.update(OutboxNumber(rawValue: number), notification))
  }

  /// Removes a notification, from the display too. Throws `NotibotError` if it is no longer in the
  /// outbox.
  public func remove(_ number: ForwardingReport.Number) async throws {
    _ = try await submitOne(.remove(OutboxNumber(rawValue: number)))
  }

  private func submitOne(
    _ submission: OutboxSubmission, key: IdempotencyKey? = nil, whenFull: FullPolicy = .wait
  ) async throws -> Acceptance {
    tokens += 1
    let request = SubmissionRequest(submission, token: tokens, key: key, whenFull: whenFull)
    let results = await submit([request])
    switch results[request.token] ?? .failure(.stopped) {
    case .success(let acceptance): return acceptance
    case .failure(let rejection): throw error(of: rejection)
    }
  }

  /// Submits many at once and returns when each is in the journal or rejected; each result is among
  /// `reports` too, with its token. After a cancellation, submissions that still wait for room are
  /// rejected.
  package func submit(
    _ batch: [SubmissionRequest]
  ) async -> [UInt64: Result<Acceptance, ForwardingRejection>] {
    guard !batch.isEmpty else { return [:] }
    switch state {
    case .running: break
    case .stopping, .ended:
      return Dictionary(batch.map { ($0.token, .failure(.stopped)) }) { first, _ in first }
    }
    tokens += 1
    let key = tokens
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let group = SubmissionGroup(key: key, count: batch.count, continuation: continuation)
        for request in batch { submissions.append(Submissions.Item(request: request, group: group)) }
        drainActions()
      }
    } onCancel: {
      eventLoop.execute { self.assumeIsolated { $0.cancelSubmissions(of: key) } }
    }
  }

  private func cancelSubmissions(of key: UInt64) {
    for token in submissions.cancel(key) { yield(.rejected(.stopped, token: token)) }
  }

  private func error(of rejection: ForwardingRejection) -> NotibotError {
    if case .ended(.some(let error)) = state { return error }
    let code: NotibotError.Code =
      switch rejection {
      case .unknownNumber: .usage
      case .full, .keysFull: .queueFull
      case .journalFailed, .stopped: .environment
      }
    return NotibotError(
      code: code, port: port, operation: "forward to", reason: rejection.description, hint: "")
  }

  // MARK: Ending

  /// Waits until each submission is on the display or has finally failed, then ends. Do not submit
  /// anything after this call. Throws `NotibotError` when it ended for another reason,
  /// `CancellationError` after a cancellation.
  /// - Parameter limit: how long to wait; after it, ends with the error `noAnswer`, and the rest
  ///   stays in the outbox.
  public func finish(within limit: Duration? = nil) async throws {
    if case .running = state {
      machine.finish(now: now)
      if let limit {
        finishing = eventLoop.scheduleTask(in: .nanoseconds(limit.wholeNanoseconds)) {
          self.assumeIsolated {
            $0.giveUp("deliver all to", "\($0.machine.statistics.unfinished) wait in the outbox")
          }
        }
      }
      drainActions()
    }
    try await ended()
  }

  /// Ends properly for this reason, which `ended` throws.
  package func stop(because error: NotibotError) {
    beginStopping(error)
  }

  /// Ends after a time limit, which a port that somebody else uses makes the error `portBusy`.
  func giveUp(_ operation: String, _ reason: String) {
    let obstacle = machine.supervisor.openFailure
    beginStopping(
      NotibotError(
        code: obstacle?.code == .portBusy ? .portBusy : .noAnswer, port: port, operation: operation,
        reason: ([reason] + [obstacle?.description].compactMap(\.self)).joined(separator: "; "),
        hint: obstacle?.hint ?? "queued ones go out at the next run; others need room in it"))
  }

  /// Why the port cannot be opened at present; `nil`: it can, or was not tried.
  package var openFailure: NotibotError? { machine.supervisor.openFailure.map(NotibotError.init) }

  /// Why there is no connection at present; `nil`: there is one, or it is being opened.
  package var downReason: ConnectionReason? {
    machine.supervisor.lastReported.flatMap { $0.state == .down ? $0.reason : nil }
  }

  /// Waits for the end. Throws `NotibotError` if the caller did not end it, `CancellationError`
  /// after a cancellation.
  public func ended() async throws {
    tokens += 1
    let key = tokens
    await withTaskCancellationHandler {
      await waitForEnd(key)
    } onCancel: {
      eventLoop.execute { self.assumeIsolated { $0.endWaiters.removeValue(forKey: key)?.resume() } }
    }
    switch state {
    case .ended(.some(let error)): throw error
    case .ended(nil): break
    case .running, .stopping: throw CancellationError()
    }
  }

  private func waitForEnd(_ key: UInt64) async {
    await withCheckedContinuation { continuation in
      switch state {
      case .ended: continuation.resume()
      case .running, .stopping: endWaiters[key] = continuation
      }
    }
  }

  /// Ends properly, within little more than 2 s: waits for outstanding answers, commits all
  /// changes, closes the session and the port. Undelivered notifications stay in the journal. Can
  /// be called more than once.
  package func stop() async {
    if case .running = state { beginStopping(nil) }
    tokens += 1
    await waitForEnd(tokens)
    await portIsReleased()
    await arrivals?.close()
    try? await journalThread.shutdownGracefully()
    if let error = journal.close() { closingError = NotibotError(error) }
  }

  /// Makes sure that all that was committed still is where it is looked for; throws
  /// `JournalError` if not. Blocks, on any thread.
  package nonisolated func checkOutbox() throws(JournalError) {
    do throws(JournalError) {
      try journal.apply([])
    } catch {
      if case .displaced = error.code { throw error }
    }
  }

  /// After `stop`: throws `NotibotError` if the outbox was no longer where it was opened.
  func checkClosing() throws {
    if let closingError { throw closingError }
  }

  func beginStopping(_ error: NotibotError?) {
    guard case .running = state else { return }
    state = .stopping(error)
    machine.stop(now: now)
    drainActions()
  }

  /// The machine ended for this reason.
  func handleFailure(_ error: NotibotError) {
    switch state {
    case .running, .stopping(nil): state = .stopping(error)
    case .stopping, .ended: break
    }
  }

  /// The machine has nothing more to do.
  func finish() {
    switch state {
    case .running: state = .ended(nil)
    case .stopping(let error): state = .ended(error)
    case .ended: return
    }
    timer.cancel()
    closeLine()
    for token in submissions.failAll(.stopped) { yield(.rejected(.stopped, token: token)) }
    changeSink.finish()
    reportSink.finish()
    finishing?.cancel()
    waitingForRoom?.cancel()
    let waiters = endWaiters
    endWaiters = [:]
    waiters.values.forEach { $0.resume() }
  }
}

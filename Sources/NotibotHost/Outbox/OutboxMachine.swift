import DequeModule
package import NotibotProtocol

/// An action for the driver of an outbox.
package enum OutboxAction: Equatable, Sendable {
  /// Subscribe to Count and Data; the result goes to `subscribed`.
  case subscribe
  case sync(SyncRequest)
  /// Write these bytes to Data; the result goes to `writeCompleted` with this tag.
  case write(tag: UInt64, json: [UInt8])
  /// Send TAKEN. Source: PROTOCOL.md NTF-41.
  case taken(source: UInt32, press: UInt32)
  /// Make these changes durable in one commit; then call `committed` or `commitFailed`. One commit
  /// at a time.
  case commit([JournalChange])
  case report(OutboxReport)
}

/// The state of a host that guarantees exactly-once delivery: the intended content of the display,
/// the writes, and their answers.
///
/// It lives as long as its journal, over many sessions (`sessionOpened`, `sessionEnded`). The
/// states of a session are in `OutboxSession`, those of an entry in `OutboxEntry.State`. A failed
/// commit ends the outbox: it no longer accepts or sends anything.
///
/// Nothing is written to the device before the commit is durable that has its bytes, and nothing is
/// reported before the commit that has the change. A driver drains `nextAction()` after every call
/// and arms one timer for `nextDeadline`. Source: PROTOCOL.md NTF-20 to NTF-37.
package struct OutboxMachine: Equatable, Sendable {
  let options: OutboxOptions
  var random: SeededGenerator
  /// The journal's header, as of the next commit.
  package internal(set) var header: JournalHeader
  var entries: OutboxEntries
  var keys: OutboxKeys
  var journal = OutboxJournal()
  /// The counters.
  package internal(set) var counts = OutboxCounts()
  var clock: Clock?
  /// When the driver is asked for the time of day, if a queued notification can expire.
  var clockDueAt = Instant.zero
  var session: OutboxSession?
  var pace = OutboxPace()
  /// The presses that were taken, as of the next commit.
  var presses: PressRecords
  /// Whether new writes are disabled because the program is about to end.
  var isStopping = false
  /// The device of the last session.
  var lastInfo: DeviceInfo?
  /// The `writtenBootID` of the header that is durable.
  var durableBootID: UInt32?
  /// The last count that the device reported.
  var count: UInt16?
  private var tagsCount: UInt64 = 0
  var actions = Deque<OutboxAction>()

  /// - Parameters:
  ///   - journal: the content of the journal.
  ///   - seed: for new sources. In production, the driver takes it from the system.
  package init(options: OutboxOptions, journal contents: JournalContents, seed: UInt64) {
    self.options = options
    random = SeededGenerator(seed: seed)
    header = contents.header
    durableBootID = contents.header.writtenBootID
    entries = OutboxEntries(contents.entries)
    presses = PressRecords(contents.presses)
    keys = OutboxKeys(contents.keys)
  }

  // MARK: Commands

  /// Takes a submission. Its report, `.queued`, `.duplicate` or `.rejected`, has this `token`.
  /// - Parameter key: a submission is accepted once for each key.
  package mutating func submit(
    _ submission: OutboxSubmission, key: IdempotencyKey? = nil, token: UInt64, now: Instant
  ) {
    guard !journal.hasFailed else { return report(.rejected(.journalFailed, token: token)) }
    if let key {
      acceptOnce(submission, key: key, token: token, now: now)
    } else {
      _ = accept(submission, token: token)
    }
    settle(now: now)
  }

  /// Sets the time of day, in seconds since 1970-01-01 UTC, as of `now`; it has its effect with the
  /// next input. Until the first call nothing expires.
  package mutating func setClock(seconds: Int64, now: Instant) {
    clock = Clock(seconds: seconds, at: now)
    clockDueAt = now + Self.clockInterval
  }

  /// Sends a refused notification again; ignored for any other.
  package mutating func retry(_ number: OutboxNumber, now: Instant) {
    guard !journal.hasFailed, let entry = entries[number], case .refused = entry.state else { return }
    requeue(entry)
    settle(now: now)
  }

  /// Begins no more writes. Writes in flight can still be answered, and changes are committed.
  package mutating func stop(now: Instant) {
    isStopping = true
    settle(now: now)
  }

  // MARK: Inputs

  /// A session is open; the previous one is over.
  package mutating func sessionOpened(_ info: DeviceInfo, now: Instant) {
    endSession()
    session = OutboxSession(info)
    session?.hasRestarted = info.hasRestarted(since: lastInfo)
    _ = pace.tryAgain()
    if !isStopping, !journal.hasFailed { actions.append(.subscribe) }
    settle(now: now)
  }

  /// The session is over. Later results of its writes are ignored.
  package mutating func sessionEnded(now: Instant) {
    endSession()
    settle(now: now)
  }

  /// The result of the subscription. A device that refuses the subscription reports through SYNC
  /// what it can.
  package mutating func subscribed(_ result: HostResult, now: Instant) {
    guard session?.stage == .subscribing else { return }
    switch result {
    case .failed(.outcomeUnknown), .failed(.notSent): return  // The session's end follows.
    case .accepted, .count, .response, .sent, .refused, .failed: break
    }
    begin(now: now)
    settle(now: now)
  }

  /// The result of a write.
  package mutating func writeCompleted(tag: UInt64, _ result: HostResult, now: Instant) {
    guard let purpose = session?.outstanding.removeValue(forKey: tag) else { return }
    receive(result, of: purpose, now: now)
    settle(now: now)
  }

  /// The device sent a message on channel 0.
  package mutating func receive(_ message: SyncMessage, now: Instant) {
    guard session?.hasIdentity == true else { return }
    switch message {
    case .sync: return
    case .synced(let answer): receiveSynced(answer, now: now)
    case .resync: session?.wantsResync = true
    case .gone(let reason, let key): receiveGone(reason, key)
    case .press(let press): receive(press)
    case .taken: return
    }
    settle(now: now)
  }

  /// The device reported an event of a notification.
  package mutating func receive(_ event: DeviceEvent, now: Instant) {
    // Of an event without an identity the writer is not known.
    if case .gone(let reason, let key, item: _) = event {
      guard session?.hasIdentity == true else { return }
      receiveGone(reason, key)
    } else if case .actionOf(let key, item: _, let act, let revision) = event {
      receiveAction(act, of: key, revision: revision)
    } else {
      return
    }
    settle(now: now)
  }

  /// The device reported its count.
  package mutating func countChanged(_ count: UInt16, now: Instant) {
    let before = self.count
    self.count = count
    guard let before, count < before else { return }
    tryAgain()
    settle(now: now)
  }

  /// The commit in progress is durable.
  package mutating func committed(now: Instant) {
    for effect in journal.confirm() {
      switch effect {
      case .report(let report): self.report(report)
      case .renewed(let source): finishRenewal(source)
      case .bootNoted(let bootID): durableBootID = bootID
      case .pressesTaken(let presses): finishPresses(presses)
      }
    }
    settle(now: now)
  }

  /// The commit in progress failed: its submissions and all later ones are rejected.
  package mutating func commitFailed(now: Instant) {
    for effect in journal.fail() {
      switch effect {
      case .report(.queued(_, let token)), .report(.duplicate(_, let token, _)):
        report(.rejected(.journalFailed, token: token))
      case .report, .renewed, .bootNoted, .pressesTaken: break
      }
    }
    session = nil
  }

  /// Executes everything that is due.
  package mutating func handleTimeout(now: Instant) {
    if let retryAt = pace.retryAt, now >= retryAt { tryAgain() }
    if now >= clockDueAt { clockDueAt = now + Self.clockInterval }
    settle(now: now)
  }

  // MARK: Outputs

  /// The next action, in order, or `nil`.
  package mutating func nextAction() -> OutboxAction? {
    actions.popFirst()
  }

  /// When to call `handleTimeout`; `nil`: not before another input.
  package var nextDeadline: Instant? {
    guard !isStopping, !journal.hasFailed else { return nil }
    let retryAt = isLive ? pace.retryAt : nil
    return [retryAt, session?.resyncAt, expiryDeadline].compactMap(\.self).min()
  }

  // MARK: Queries

  /// Whether the journal has failed: nothing more happens.
  package var hasFailed: Bool { journal.hasFailed }

  /// Whether nothing is left to be sent to the device or written to the journal. Refused entries
  /// wait for the user.
  package var isFinished: Bool { entries.unfinishedCount == 0 && isSettled }

  /// Whether no write is in flight and no change waits for the journal.
  package var isSettled: Bool {
    (session?.outstanding.isEmpty ?? true) && (journal.isIdle || journal.hasFailed)
  }

  /// Whether a session is open, and host and device agree or have given up on it.
  package var isLive: Bool { session?.isSending ?? false }

  /// Entries of all states.
  package var entriesCount: Int { entries.count }

  /// The newest content of a notification; nil if it is not in the outbox, or is being removed.
  package func content(of number: OutboxNumber) -> DisplayNotification? {
    guard let entry = entries[number] else { return nil }
    if case .removing = entry.state { return nil }
    return entry.content
  }

  /// Entries with something still to be sent to the device.
  package var unfinishedCount: Int { entries.unfinishedCount }

  /// Entries that the device refused.
  package var refusedCount: Int { entries.refusedCount }

  /// The entry of this number, as of the next commit.
  package func entry(_ number: OutboxNumber) -> OutboxEntry? { entries[number] }

  // MARK: For all topics

  mutating func report(_ report: OutboxReport) {
    actions.append(.report(report))
  }

  mutating func act(_ action: OutboxAction) {
    actions.append(action)
  }

  mutating func nextTag() -> UInt64 {
    tagsCount += 1
    return tagsCount
  }

  /// Changes an entry, in the journal too; `report` comes when that is durable.
  mutating func put(_ entry: OutboxEntry, then report: OutboxReport? = nil) {
    entries.put(entry)
    journal.mark(entry.number, then: report)
  }

  /// Removes an entry, from the journal too; `report` comes when that is durable.
  mutating func drop(_ number: OutboxNumber, then report: OutboxReport? = nil) {
    entries.remove(number)
    journal.mark(number, then: report)
    journal.markForgotten(keys.handleGone(number))
  }

  /// Sends an entry again, under a new id: the device does not have its content.
  mutating func requeue(_ entry: OutboxEntry) {
    var entry = entry
    switch entry.state {
    case .written, .held, .updating: if entry.hasNewerContent { entry.isReported = false }
    case .queued, .removing, .refused: break
    }
    entry.state = .queued
    entry.hasNewerContent = false
    put(entry)
  }

  /// Continues everything that can continue.
  mutating func settle(now: Instant) {
    guard !journal.hasFailed else { return }
    expire(now: now)
    repeat {
      fill(now: now)
      flush()
    } while advance(now: now)
    if let changes = journal.nextCommit(of: entries, header: header) { act(.commit(changes)) }
  }
}

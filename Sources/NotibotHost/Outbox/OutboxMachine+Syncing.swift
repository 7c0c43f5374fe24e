import DequeModule
import NotibotProtocol

// How host and device reach agreement on the content of the display. Source: PROTOCOL.md NTF-26,
// NTF-30 to NTF-34.
extension OutboxMachine {
  /// Rounds of rewriting before the outbox reports that the two differ (NTF-34).
  static let roundsLimit = 2

  // MARK: A session begins and ends

  /// The subscription succeeded, or is not possible.
  mutating func begin(now: Instant) {
    guard let session else { return }
    if session.hasIdentity { beginWithIdentity(now: now) } else { beginPlain(session.info, now: now) }
    lastInfo = session.info
  }

  private mutating func beginWithIdentity(now: Instant) {
    // Notifications sent to a device without identities may or may not be on this display.
    for entry in entries.sorted {
      switch entry.state {
      case .written(let write) where write.id == 0: resolvePlain(entry, now: now)
      case .held(let write) where write.id == 0:
        if options.replaysPlain { replay(entry) } else { drop(entry.number) }
      case .queued, .written, .held, .updating, .removing, .refused: break
      }
    }
    session?.stage = .draining(then: .syncing)
  }

  mutating func endSession() {
    guard let session else { return }
    // Without an identity, only an entry that was never written can safely be written again.
    for purpose in session.outgoing.map(\.purpose) + recallActions() {
      guard case .content(let number, id: 0, _) = purpose, let entry = entries[number],
        case .written = entry.state
      else { continue }
      requeue(entry)
    }
    self.session = nil
    count = nil
  }

  /// Withdraws actions that the driver has not taken yet and that are obsolete in another session:
  /// they would precede the next SYNC. Returns the purposes of the writes among them.
  private mutating func recallActions() -> [OutboxSession.Purpose] {
    var recalled: [OutboxSession.Purpose] = []
    actions.removeAll { action in
      switch action {
      case .subscribe, .sync, .taken: return true
      case .write(let tag, _):
        if let purpose = session?.outstanding[tag] { recalled.append(purpose) }
        return true
      case .commit, .report: return false
      }
    }
    return recalled
  }

  // MARK: From stage to stage

  /// Goes to the next stage if the present one is done. Returns whether it is.
  mutating func advance(now: Instant) -> Bool {
    guard let session, !isStopping else { return false }
    switch session.stage {
    case .subscribing, .counting, .renewing, .syncing, .plain, .distrusted: return false
    case .draining(then: .syncing):
      guard session.isDrained else { return false }
      sync(rounds: 0, now: now)
    case .draining(then: .leaving):
      guard session.isDrained else { return false }
      leave()
    case .proving(let leaving):
      guard leaving.trials.isEmpty, session.isDrained else { return false }
      count(leaving, now: now)
    case .retiring:
      guard session.removals.isEmpty, session.confirmations.isEmpty, session.isDrained else { return false }
      renew()
    case .resending(let ids, let rounds):
      guard ids.isEmpty, session.confirmations.isEmpty, session.isDrained else { return false }
      sync(rounds: rounds, now: now)
    case .live:
      guard let resyncAt = session.resyncAt, now >= resyncAt else { return false }
      self.session?.stage = .draining(then: .syncing)
    }
    return true
  }

  private mutating func sync(rounds: Int, now: Instant) {
    session?.stage = .syncing(rounds: rounds)
    sendSync(now: now)
  }

  mutating func sendSync(now: Instant) {
    session?.wantsResync = false
    let lastWaiting = session?.waitingPresses.last?.press.number
    session?.receivedPress = lastWaiting ?? 0
    session?.syncedAt = now
    act(
      .sync(SyncRequest(source: header.source, knownID: header.knownID, holdings: entries.holdings)))
  }

  /// Compares the device's content with the expected content, after all its earlier events were
  /// received.
  mutating func receiveSynced(_ answer: SyncAnswer, now: Instant) {
    guard let session, answer.source == header.source else { return }
    let rounds: Int
    switch session.stage {
    case .counting(let leaving): return retire(leaving)
    case .syncing(let number): rounds = number
    case .subscribing, .draining, .proving, .retiring, .renewing, .resending, .live, .distrusted, .plain:
      return
    }
    self.session?.highestID = answer.highestID
    self.session?.unplacedGone = []
    var believing = self
    for gone in session.unplacedGone { believing.receiveGone(gone.reason, gone.key) }
    guard !believing.isAnothers(answer) else {
      guard session.renewals < OutboxSession.renewalsLimit else {
        // New ids would count as gone at once.
        self.session?.stage = .distrusted
        return report(.diverged)
      }
      return leave()
    }
    self = believing
    forgetPresses(ifRestarted: answer)
    compare(answer, rounds: rounds)
  }

  private mutating func compare(_ answer: SyncAnswer, rounds: Int) {
    if agrees(with: answer) {
      recordAgreement(bootID: answer.bootID)
      return becomeLive(.synced(rounds: rounds))
    }
    guard rounds < Self.roundsLimit else { return becomeLive(.diverged) }
    // If the device has lost some notifications, writing an uncertain id first would bury them: a
    // lower id that is written later counts as gone (NTF-23).
    let uncertain = uncertainIDs()
    let isComplete = answer.highestID > 0 && answer.highestID >= entries.highestHeldID
    let ids =
      rounds == 0 && !isCertain && isComplete
      ? uncertain : liveIDs(capacity: Int(answer.capacity), above: answer.highestID)
    self.session?.stage = .resending(Deque(ids), rounds: rounds + 1)
  }

  /// Whether the device's content is known, except for its own report.
  private var isCertain: Bool {
    uncertainIDs().isEmpty && !(session?.confirmations.contains { $0.remains == .unknown } ?? false)
  }

  private func agrees(with answer: SyncAnswer) -> Bool {
    isCertain && holdings(with: session?.confirmations ?? []) == answer.holdings
  }

  /// Whether another writer has used our source. Source: PROTOCOL.md NTF-35.
  private func isAnothers(_ answer: SyncAnswer) -> Bool {
    answer.highestID > header.lastID
      || answer.highestID > 0 && header.writtenBootID != answer.bootID && !agrees(with: answer)
  }

  /// All *held* entries are on the device in this boot. Source: PROTOCOL.md NTF-35.
  private mutating func recordAgreement(bootID: UInt32) {
    guard header.bootID != bootID else { return }
    header.bootID = bootID
    journal.markHeader()
  }

  private mutating func becomeLive(_ report: OutboxReport) {
    session?.stage = .live
    collectUpdates()
    session?.removals.removeAll()
    for (_, entry) in entries.identified {
      if case .removing = entry.state { session?.removals.append(entry.number) }
    }
    self.report(report)
    acceptWaitingPresses()
  }

  /// What the device counts: the notifications that it holds, and those that it reported as expired
  /// and that are not confirmed.
  private func holdings(with confirmations: Deque<OutboxSession.Confirmation>) -> Holdings {
    var holdings = entries.holdings
    for confirmation in confirmations {
      guard case .known(let crc) = confirmation.remains else { continue }
      holdings.insert(id: confirmation.id, crc: crc)
    }
    return holdings
  }

  private func uncertainIDs() -> [UInt32] {
    entries.identified.filter { entries.isUncertain($0.entry) }.map(\.id)
  }

  /// All ids that the device holds or may hold, in ascending order, at most `capacity` that need
  /// room: the uncertain ones, then those of the highest level, then the oldest. Of those without
  /// room, the ones that the device does not know (`above` its highest) are queued under new ids.
  private mutating func liveIDs(capacity: Int, above highestID: UInt32) -> [UInt32] {
    var contents: [OutboxEntry] = []
    var ids: [UInt32] = []
    for (id, entry) in entries.identified {
      if case .removing = entry.state { ids.append(id) } else { contents.append(entry) }
    }
    if capacity > 0, contents.count > capacity {
      contents.sort { left, right in
        let isUncertain = entries.isUncertain(left)
        if isUncertain != entries.isUncertain(right) { return isUncertain }
        let levels = (left.content.details.level, right.content.details.level)
        return levels.0 == levels.1 ? left.number < right.number : levels.0 > levels.1
      }
      for entry in contents[capacity...] where (entry.wireID ?? 0) > highestID {
        requeue(entry)
      }
      contents.removeSubrange(capacity...)
    }
    return (ids + contents.compactMap(\.wireID)).sorted()
  }

  /// The write for an entry of the live set; `nil`: it was removed meanwhile.
  func purposeOfEntry(id: UInt32) -> OutboxSession.Purpose? {
    guard let number = entries.numbers[id] else { return nil }
    switch entries[number]?.state {
    case .written(let write), .held(let write), .updating(_, let write):
      return .content(number, id: id, revision: write.revision)
    case .removing: return .removal(number, id: id)
    case .queued, .refused, nil: return nil
    }
  }

  // MARK: Gone

  /// The device reported that a notification is gone: its entry is removed, then the host confirms
  /// it.
  mutating func receiveGone(_ reason: GoneReason, _ key: NotificationKey) {
    // An id that was never assigned belongs to another journal, and so does the event.
    guard let session, key.source == header.source, key.id > 0, key.id <= header.lastID,
      !putAside(reason, key, in: session)
    else { return }
    var number: OutboxNumber?
    var remains = reason == .expired ? OutboxSession.Confirmation.Remains.unknown : .nothing
    if let found = entries.numbers[key.id], let entry = entries[found] {
      if case .removing = entry.state, !entry.hasNewerContent {
        // Its removal is the confirmation; until then an expired one counts.
        if reason != .expired { entries.markRemovalSent(of: key.id) }
        return
      }
      if case .held(let write) = entry.state, remains == .unknown {
        remains = .known(crc: CRC32.checksum(write.json))
      }
      drop(found, then: .gone(found, reason))
      number = found
    }
    tryAgain()
    guard !session.confirming.contains(key.id),
      session.confirmations.count < OutboxSession.confirmationsLimit
    else { return }
    self.session?.confirming.insert(key.id)
    self.session?.confirmations.append(
      OutboxSession.Confirmation(id: key.id, number: number, remains: remains))
  }
}

extension OutboxSession {
  /// Whether new notifications are sent.
  var isSending: Bool {
    switch stage {
    case .live, .plain: true
    case .subscribing, .draining, .proving, .counting, .retiring, .renewing, .syncing, .resending,
      .distrusted:
      false
    }
  }
}

import DequeModule
import NotibotProtocol

// Writes and their answers. Source: PROTOCOL.md NTF-23 to NTF-26, NTF-36, NTF-37.
extension OutboxMachine {
  // MARK: Writing

  /// Moves the next candidates to the writes that wait for the journal.
  mutating func fill(now: Instant) {
    guard !isStopping else { return }
    while session?.hasRoomForOutgoing == true, let purpose = nextPurpose(now: now) {
      session?.outgoing.append(OutboxSession.Outgoing(purpose: purpose, mark: journal.marksCount))
    }
  }

  private mutating func nextPurpose(now: Instant) -> OutboxSession.Purpose? {
    switch session?.stage {
    case .subscribing, .draining, .counting, .renewing, .syncing, .distrusted, nil: return nil
    case .proving: return nextTrial()
    case .retiring: return nextConfirmation() ?? nextRemoval()
    case .resending(var ids, let rounds):
      if let purpose = nextConfirmation() { return purpose }
      defer { session?.stage = .resending(ids, rounds: rounds) }
      while let id = ids.popFirst() {
        if let purpose = purposeOfEntry(id: id) { return purpose }
      }
      return nil
    case .live: return nextConfirmation() ?? nextRemoval() ?? nextUpdate() ?? nextNew()
    case .plain(var again):
      guard let number = again.popFirst() else { return nextNew() }
      session?.stage = .plain(again)
      guard case .written(let write) = entries[number]?.state, write.id == 0 else {
        return nextPurpose(now: now)
      }
      return .content(number, id: 0, revision: 0)
    }
  }

  private mutating func nextConfirmation() -> OutboxSession.Purpose? {
    guard let next = session?.confirmations.popFirst() else { return nil }
    return .confirmation(id: next.id, number: next.number)
  }

  private mutating func nextRemoval() -> OutboxSession.Purpose? {
    while let number = session?.removals.popFirst() {
      if case .removing(let id) = entries[number]?.state { return .removal(number, id: id) }
    }
    return nil
  }

  private mutating func nextUpdate() -> OutboxSession.Purpose? {
    while let next = session?.updates.first {
      session?.updates.remove(next.number, level: next.level)
      guard var entry = entries[next.number], entry.hasNewerContent, case .held(let held) = entry.state,
        held.id != 0
      else { continue }
      guard held.revision < UInt16.max else {
        // No revisions are left for this id: it is removed, and the content is sent under another
        // (NTF-23).
        entry.state = .removing(id: held.id)
        entry.isReported = false
        put(entry)
        return .removal(entry.number, id: held.id)
      }
      let revision = held.revision + 1
      let identity = NotificationIdentity(id: held.id, revision: revision, change: .modified)
      let json = WrittenNotification(notification: entry.content, identity: identity).encoded()
      entry.state = .updating(held: held, next: OutboxWrite(id: held.id, revision: revision, json: json))
      entry.hasNewerContent = false
      entry.isReported = false
      put(entry)
      return .content(entry.number, id: held.id, revision: revision)
    }
    return nil
  }

  /// The next queued entry, with an id if the device has identities: ids ascend in the order of
  /// sending.
  private mutating func nextNew() -> OutboxSession.Purpose? {
    guard let next = entries.queue.first, var entry = entries[next.number], hasRoom(for: next.level) else {
      return nil
    }
    var write = OutboxWrite(id: 0, revision: 0, json: [])
    if session?.hasIdentity == true {
      guard header.lastID < UInt32.max else {
        // All ids of this source are used.
        session?.stage = .draining(then: .leaving)
        return nil
      }
      header.lastID += 1
      journal.markHeader()
      write.id = header.lastID
      // A notification that was shown under another id is not announced again.
      let identity = NotificationIdentity(id: write.id, change: entry.isReported ? .modified : .added)
      write.json = WrittenNotification(notification: entry.content, identity: identity).encoded()
    } else {
      write.json = entry.content.encoded()
    }
    entry.state = .written(write)
    put(entry)
    return .content(entry.number, id: write.id, revision: 0)
  }

  /// Whether the device's store may have room for one more of this level.
  private func hasRoom(for level: NotificationDetails.Level) -> Bool {
    guard pace.state != .open else { return true }
    return (session?.contentsCount ?? 0) < pace.window(for: level)
  }

  /// Sends durable writes, in order, as far as the window allows.
  mutating func flush() {
    guard !isStopping else { return }
    while session?.hasRoomForOutstanding == true, let next = session?.outgoing.first {
      let isBootRecorded = !next.purpose.isContent || recordBoot()
      if let number = next.purpose.number, !journal.isDurable(number, upTo: next.mark) { return }
      guard isBootRecorded else { return }
      session?.outgoing.removeFirst()
      guard let json = json(for: next.purpose) else { continue }
      if case .removal(_, let id) = next.purpose { entries.markRemovalSent(of: id) }
      let tag = nextTag()
      session?.outstanding[tag] = next.purpose
      act(.write(tag: tag, json: json))
    }
  }

  /// Whether the journal records a write in this boot; if not, marks it. Source: PROTOCOL.md
  /// NTF-36.
  private mutating func recordBoot() -> Bool {
    guard let session, session.hasIdentity, durableBootID != session.info.bootID else { return true }
    if header.writtenBootID != session.info.bootID {
      header.writtenBootID = session.info.bootID
      journal.markBoot(session.info.bootID)
    }
    return false
  }

  /// The bytes of a write; `nil`: it is obsolete.
  private func json(for purpose: OutboxSession.Purpose) -> [UInt8]? {
    switch purpose {
    case .confirmation(let id, _): return WrittenNotification.removal(of: id).encoded()
    case .removal(let number, let id):
      guard entries[number]?.state == .removing(id: id) else { return nil }
      return WrittenNotification.removal(of: id).encoded()
    case .content(let number, let id, let revision):
      switch entries[number]?.state {
      case .written(let write), .held(let write), .updating(_, let write):
        return write.isRevision(revision, of: id) ? write.json : nil
      case .queued, .removing, .refused, nil: return nil
      }
    case .trial(let number, _, let revision):
      switch entries[number]?.state {
      case .written(let write), .held(let write): return write.revision == revision ? write.json : nil
      case .updating(let held, let next): return revision == held.revision ? held.json : next.json
      case .queued, .removing, .refused, nil: return nil
      }
    }
  }

  // MARK: Answers

  mutating func receive(_ result: HostResult, of purpose: OutboxSession.Purpose, now: Instant) {
    switch (result, purpose) {
    case (.accepted, .content(let number, let id, let revision)):
      receiveSuccess(of: number, id: id, revision: revision)
    case (.refused(let error), .content(let number, let id, let revision)):
      receive(error, of: number, id: id, revision: revision, now: now)
    case (.accepted, .trial(let number, let id, let revision)):
      finishTrial(of: number, id: id, revision: revision, isThere: true)
    case (.refused, .trial(let number, let id, let revision)):
      finishTrial(of: number, id: id, revision: revision, isThere: false)
    case (.accepted, .removal(let number, let id)): finishRemoval(number, id: id, error: nil)
    case (.refused(let error), .removal(let number, let id)): finishRemoval(number, id: id, error: error)
    case (.accepted, .confirmation(let id, _)), (.refused, .confirmation(let id, _)):
      session?.confirming.remove(id)
      tryAgain()
    case (.failed(.outcomeUnknown), _): break  // The session's end follows; the next session handles it.
    case (.failed(.notSent), .content(let number, id: 0, _)):
      if let entry = entries[number], case .written = entry.state { requeue(entry) }
    case (.failed(.notSent), _): break
    case (.failed(.queueFull), _), (.failed(.badLength), _), (.failed(.unsupported), _), (.count, _),
      (.response, _), (.sent, _):
      refuse(purpose, now: now)
    }
  }

  /// The write cannot have been made, and a retry would not help.
  private mutating func refuse(_ purpose: OutboxSession.Purpose, now: Instant) {
    receive(.refused(.requestNotSupported), of: purpose, now: now)
  }

  private mutating func receiveSuccess(of number: OutboxNumber, id: UInt32, revision: UInt16) {
    if id > header.knownID {
      header.knownID = id
      journal.markHeader()
    }
    session?.updateHighest(id)
    guard var entry = entries[number] else { return }
    switch entry.state {
    case .written(let write) where write.isRevision(revision, of: id):
      pace.handleAccepted()
      if id == 0 { return finishPlain(entry) }
      entry.state = .held(write)
    case .updating(_, let next) where next.isRevision(revision, of: id): entry.state = .held(next)
    case .queued, .written, .held, .updating, .removing, .refused: return
    }
    let isFirstReport = !entry.isReported
    entry.isReported = true
    put(entry, then: isFirstReport ? .delivered(number) : nil)
    if entry.hasNewerContent { session?.updates.insert(number, level: entry.content.details.level) }
  }

  private mutating func receive(
    _ error: ATTError, of number: OutboxNumber, id: UInt32, revision: UInt16, now: Instant
  ) {
    guard let entry = entries[number] else { return }
    if error == .conflict, id != 0, let session, session.renewals < OutboxSession.renewalsLimit {
      self.session?.outgoing.removeAll()
      self.session?.stage = .draining(then: .leaving)
      return
    }
    switch entry.state {
    case .written(let write) where write.isRevision(revision, of: id),
      .held(let write) where write.isRevision(revision, of: id):
      handleMissing(entry, error, now: now)
    case .updating(let held, let next) where next.isRevision(revision, of: id):
      returnToHeld(entry, held, error, now: now)
    case .queued, .written, .held, .updating, .removing, .refused: return
    }
  }

  /// The device refused a whole notification, so it does not have it.
  private mutating func handleMissing(_ entry: OutboxEntry, _ error: ATTError, now: Instant) {
    if error == .insufficientResources {
      if pace.handleRefused(level: entry.content.details.level, now: now) { report(.storeFull) }
      if !retract(entry) { requeue(entry) }
    } else if entry.hasNewerContent {
      requeue(entry)
    } else {
      var entry = entry
      entry.isReported = false
      entry.state = .refused(error)
      put(entry, then: .refused(entry.number, error))
    }
  }

  /// A repeated write may already have been applied. A device that answers it with 0x11 is wrong,
  /// but the notification must not be shown twice: the id is removed first, then the content is
  /// sent under another. Returns false, and does nothing, for a first write.
  private mutating func retract(_ entry: OutboxEntry) -> Bool {
    guard case .resending(let ids, let rounds)? = session?.stage, let id = entry.wireID else { return false }
    var entry = entry
    if entry.hasNewerContent { entry.isReported = false }
    entry.state = .removing(id: id)
    entry.hasNewerContent = true
    put(entry)
    session?.stage = .resending(ids + [id], rounds: rounds)
    return true
  }

  /// The device refused a change, so it still has the previous content.
  private mutating func returnToHeld(
    _ entry: OutboxEntry, _ held: OutboxWrite, _ error: ATTError, now: Instant
  ) {
    var entry = entry
    entry.state = .held(held)
    let isFull = error == .insufficientResources
    if isFull {
      if pace.handleRefused(level: entry.content.details.level, now: now) { report(.storeFull) }
      if retract(entry) { return }
      // It is sent again when there can be room: `tryAgain` finds it.
      entry.hasNewerContent = true
    }
    entry.isReported = true
    put(entry, then: entry.hasNewerContent ? nil : .refused(entry.number, error))
    if entry.hasNewerContent, !isFull {
      session?.updates.insert(entry.number, level: entry.content.details.level)
    }
  }

  private mutating func finishRemoval(_ number: OutboxNumber, id: UInt32, error: ATTError?) {
    guard let entry = entries[number], entry.state == .removing(id: id) else { return }
    tryAgain()
    if entry.hasNewerContent {
      requeue(entry)
    } else if let error {
      drop(number, then: .refused(number, error))
    } else {
      drop(number, then: .removed(number))
    }
  }

  /// The device can have room now.
  mutating func tryAgain() {
    guard pace.tryAgain() else { return }
    collectUpdates()
  }

  /// Finds the held ones that have newer content.
  mutating func collectUpdates() {
    for number in entries.numbers.values {
      guard let entry = entries[number], entry.hasNewerContent, case .held = entry.state else { continue }
      session?.updates.insert(number, level: entry.content.details.level)
    }
  }
}

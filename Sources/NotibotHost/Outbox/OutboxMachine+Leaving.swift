import DequeModule
import NotibotProtocol

// Another journal has written under our source: the change to a new source.
// The host finds out which of its notifications are on the device by writing them again, removes
// them, and writes them under the new source: so nothing is lost or duplicated. Source: PROTOCOL.md
// NTF-35.
extension OutboxMachine {
  // MARK: Proving

  /// Nothing is in flight; begins to rewrite what may be on the device.
  mutating func leave() {
    // They can be another writer's.
    session?.waitingPresses = []
    session?.releasablePress = nil
    let highestID = session?.highestID ?? 0
    var leaving = OutboxSession.Leaving(trials: [])
    for (id, entry) in entries.identified where id <= highestID {
      switch entry.state {
      case .written(let write), .held(let write), .updating(let write, _):
        leaving.trials.append(OutboxSession.Leaving.Trial(id: id, revision: write.revision))
      case .queued, .removing, .refused: break
      }
    }
    session?.stage = .proving(leaving)
  }

  /// The next write that shows whether a notification is on the device.
  mutating func nextTrial() -> OutboxSession.Purpose? {
    while let trial = session?.nextTrial() {
      guard let number = entries.numbers[trial.id] else { continue }
      return .trial(number, id: trial.id, revision: trial.revision)
    }
    return nil
  }

  /// Any answer other than success means that these bytes are not on the device.
  mutating func finishTrial(of number: OutboxNumber, id: UInt32, revision: UInt16, isThere: Bool) {
    let state = entries[number]?.state
    session?.changeLeaving { leaving in
      if isThere {
        if !leaving.missing.contains(id) { leaving.proven[id] = revision }
      } else if case .updating(let held, let next)? = state, held.revision == revision {
        leaving.trials.append(OutboxSession.Leaving.Trial(id: id, revision: next.revision))
      }
    }
  }

  /// All writes are answered; SYNCED follows all events that they cause.
  mutating func count(_ leaving: OutboxSession.Leaving, now: Instant) {
    session?.stage = .counting(leaving)
    sendSync(now: now)
  }

  /// Sets aside an event that can belong to another writer's notification. Returns whether it does.
  ///
  /// In a boot without an agreement with the device, a notification reported as gone may never have
  /// been ours.
  mutating func putAside(_ reason: GoneReason, _ key: NotificationKey, in session: OutboxSession) -> Bool {
    switch session.stage {
    case .proving, .counting:
      guard header.bootID != session.info.bootID else { return false }
      self.session?.changeLeaving { leaving in
        leaving.missing.insert(key.id)
        leaving.proven[key.id] = nil
      }
    case .retiring: return header.bootID != session.info.bootID
    case .subscribing, .draining, .renewing, .syncing, .resending, .live, .distrusted, .plain:
      guard session.highestID == nil, header.writtenBootID != session.info.bootID else { return false }
      guard session.unplacedGone.count < OutboxSession.confirmationsLimit else { return true }
      self.session?.unplacedGone.append(OutboxSession.GoneMessage(reason: reason, key: key))
    }
    return true
  }

  // MARK: Retiring

  /// Removes from the device what is proven to be there; all other entries wait for the new source
  /// at once.
  mutating func retire(_ leaving: OutboxSession.Leaving) {
    let isOurBoot = header.writtenBootID == session?.info.bootID
    session?.removals.removeAll()
    session?.stage = .retiring
    for (id, entry) in entries.identified {
      switch entry.state {
      case .written, .held, .updating:
        guard let revision = leaving.proven[id] else {
          requeue(entry)
          continue
        }
        retire(entry, revision: revision)
      case .removing where leaving.proven[id] != nil: session?.removals.append(entry.number)
      // It can no longer be known whether it was removed from the display.
      case .removing where !entry.hasNewerContent: drop(entry.number, then: .outcomeUnknown(entry.number))
      case .removing: if isOurBoot { session?.removals.append(entry.number) } else { requeue(entry) }
      case .queued, .refused: break
      }
    }
  }

  /// Removes a notification that is on the device: the removal first, then the content under
  /// another id. Both are in the journal.
  private mutating func retire(_ entry: OutboxEntry, revision: UInt16) {
    var entry = entry
    var isFirstReport = false
    switch entry.state {
    case .written(let write): (isFirstReport, entry.state) = (!entry.isReported, .removing(id: write.id))
    case .held(let write): entry.state = .removing(id: write.id)
    case .updating(let held, let next):
      isFirstReport = revision == next.revision
      entry.isReported = isFirstReport
      entry.state = .removing(id: held.id)
    case .queued, .removing, .refused: return
    }
    entry.isReported = !entry.hasNewerContent && (entry.isReported || isFirstReport)
    entry.hasNewerContent = true
    put(entry, then: isFirstReport ? .delivered(entry.number) : nil)
    session?.removals.append(entry.number)
  }

  // MARK: A new source

  /// Nothing is left under the old source. One commit contains the new source and all earlier
  /// marks.
  mutating func renew() {
    repeat {
      header.source = UInt32(truncatingIfNeeded: random.next())
    } while header.source == 0
    header.lastID = 0
    header.knownID = 0
    journal.markRenewal(source: header.source)
    session?.renewals += 1
    session?.confirming.removeAll()
    session?.stage = .renewing
  }

  /// The new source is durable.
  mutating func finishRenewal(_ source: UInt32) {
    report(.newSource(source))
    guard session?.stage == .renewing else { return }
    session?.highestID = nil
    session?.stage = .draining(then: .syncing)
  }
}

extension OutboxSession {
  fileprivate mutating func nextTrial() -> Leaving.Trial? {
    var trial: Leaving.Trial?
    changeLeaving { trial = $0.trials.popFirst() }
    return trial
  }

  /// Changes the collected knowledge in place: copying it for each answer would be slow.
  fileprivate mutating func changeLeaving(_ body: (inout Leaving) -> Void) {
    switch stage {
    case .proving(var leaving):
      stage = .retiring
      body(&leaving)
      stage = .proving(leaving)
    case .counting(var leaving):
      stage = .retiring
      body(&leaving)
      stage = .counting(leaving)
    case .subscribing, .draining, .retiring, .renewing, .syncing, .resending, .live, .distrusted, .plain:
      break
    }
  }
}

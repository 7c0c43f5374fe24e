import DequeModule
import NotibotProtocol

// Another memory than this journal has written under our source: how the host leaves it for a new one.
//
// What is on the device with our bytes is found out by writing it again, then taken off, then written under the new
// source: so nothing is lost, and nothing is there twice. Source: PROTOCOL.md NTF-35.
extension OutboxMachine {
  // MARK: What is there

  /// Nothing is on its way; begins to write again what may be on the device.
  mutating func leave() {
    let highestID = session?.highestID ?? 0
    var leaving = OutboxSession.Leaving(trials: [])
    for (id, number) in shelf.numbers.sorted(by: { $0.key < $1.key }) where id <= highestID {
      switch shelf[number]?.state {
      case .written(let write), .held(let write), .updating(let write, _):
        leaving.trials.append(OutboxSession.Leaving.Trial(id: id, revision: write.revision))
      case .queued, .removing, .refused, nil: break
      }
    }
    session?.stage = .proving(leaving)
  }

  /// The next write that shows whether something is there.
  mutating func nextTrial() -> OutboxSession.Purpose? {
    while let trial = session?.nextTrial() {
      guard let number = shelf.numbers[trial.id] else { continue }
      return .trial(number, id: trial.id, revision: trial.revision)
    }
    return nil
  }

  /// Another answer than success says that these bytes are not there.
  mutating func finishTrial(of number: OutboxNumber, id: UInt32, revision: UInt16, isThere: Bool) {
    let state = shelf[number]?.state
    session?.changeLeaving { leaving in
      if isThere {
        if !leaving.missing.contains(id) { leaving.proven[id] = revision }
      } else if case .updating(let held, let next)? = state, held.revision == revision {
        leaving.trials.append(OutboxSession.Leaving.Trial(id: id, revision: next.revision))
      }
    }
  }

  /// All is answered; SYNCED comes after all that the device tells of it.
  mutating func count(_ leaving: OutboxSession.Leaving, now: Instant) {
    session?.stage = .counting(leaving)
    sendSync(now: now)
  }

  /// Keeps news apart that may be of another's notification. Returns whether it is.
  ///
  /// In a boot in which we have not agreed with the device, it may never have had what it calls gone.
  mutating func putAside(_ reason: GoneReason, _ key: NotificationKey) -> Bool {
    guard let session else { return false }
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
      self.session?.unplacedGone.append(OutboxSession.GoneNews(reason: reason, key: key))
    }
    return true
  }

  // MARK: What becomes of it

  /// Takes off the device what is proven to be there; all else waits for the new source at once.
  mutating func retire(_ leaving: OutboxSession.Leaving) {
    let isOurBoot = header.writtenBootID == session?.info.bootID
    session?.removals.removeAll()
    session?.stage = .retiring
    for (id, number) in shelf.numbers.sorted(by: { $0.key < $1.key }) {
      guard let entry = shelf[number] else { continue }
      switch entry.state {
      case .written, .held, .updating:
        guard let revision = leaving.proven[id] else {
          requeue(entry)
          continue
        }
        retire(entry, revision: revision)
      case .removing where leaving.proven[id] != nil: session?.removals.append(number)
      // Whether it was taken off the display is for nobody to know any more.
      case .removing where !entry.hasNewerContent: drop(number, then: .outcomeUnknown(number))
      case .removing: if isOurBoot { session?.removals.append(number) } else { requeue(entry) }
      case .queued, .refused: break
      }
    }
  }

  /// One that is there goes: the removal first, then the content under another id. Both are in the journal.
  private mutating func retire(_ entry: OutboxEntry, revision: UInt16) {
    var entry = entry
    var isNews = false
    switch entry.state {
    case .written(let write): (isNews, entry.state) = (!entry.isTold, .removing(id: write.id))
    case .held(let write): entry.state = .removing(id: write.id)
    case .updating(let held, let next):
      isNews = revision == next.revision
      entry.isTold = isNews
      entry.state = .removing(id: held.id)
    case .queued, .removing, .refused: return
    }
    entry.isTold = !entry.hasNewerContent && (entry.isTold || isNews)
    entry.hasNewerContent = true
    put(entry, then: isNews ? .delivered(entry.number) : nil)
    session?.removals.append(entry.number)
  }

  // MARK: A new source

  /// Nothing is left under the old source. One commit has the new one, and all that was marked before.
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

  /// Changes what is known while it is collected, in its place: a copy of it for each answer would be long work.
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

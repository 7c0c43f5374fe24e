import NotibotProtocol

// Submissions: notifications are added, changed and removed.
extension OutboxMachine {
  /// Returns the number of the notification; `nil`: the submission was rejected.
  mutating func accept(_ submission: OutboxSubmission, token: UInt64) -> OutboxNumber? {
    let result =
      switch submission {
      case .add(let notification): add(notification, token: token)
      case .update(let number, let content): update(number, to: content, token: token)
      case .remove(let number): withdraw(number, token: token)
      }
    switch result {
    case .success(let number): return number
    case .failure(let rejection):
      report(.rejected(rejection, token: token))
      return nil
    }
  }

  // MARK: Keys

  /// Accepts a submission unless its key is known. The key is in the commit of the entry. Source:
  /// docs/JOURNAL.md, Keys.
  mutating func acceptOnce(
    _ submission: OutboxSubmission, key: IdempotencyKey, token: UInt64, now: Instant
  ) {
    if let known = keys[key] { return report(known, repeatedBy: submission, token: token) }
    forgetKeys(now: now)
    guard keys.count < options.keysLimit else {
      return report(.rejected(.keysFull(limit: options.keysLimit), token: token))
    }
    guard let number = accept(submission, token: token) else { return }
    journal.markKey(
      keys.add(
        key, of: number, digest: submission.digest, at: seconds(at: now) ?? 0,
        keptFor: options.keyRetentionSeconds))
  }

  /// The answer to a repetition is durable, too: it comes after the commit of the first.
  private mutating func report(_ known: KeyRecord, repeatedBy submission: OutboxSubmission, token: UInt64) {
    let isConflict = submission.digest != known.digest
    counts.duplicates += 1
    if isConflict { counts.keyConflicts += 1 }
    let answer = OutboxReport.duplicate(known.number, token: token, isConflict: isConflict)
    if !journal.append(answer, toPending: known.number) { journal.markAnswer(answer) }
  }

  private mutating func forgetKeys(now: Instant) {
    guard let seconds = seconds(at: now) else { return }
    let (entries, journal) = (entries, journal)
    // The rows of pending commits are not there yet to be deleted.
    let rows = keys.forget(at: seconds, keptFor: options.keyRetentionSeconds) {
      entries[$0] != nil || !journal.isDurable($0, upTo: .max)
    }
    self.journal.markForgotten(rows)
  }

  // MARK: Kinds

  private mutating func add(
    _ notification: DisplayNotification, token: UInt64
  ) -> Result<OutboxNumber, ForwardingRejection> {
    guard entries.count < options.entriesLimit else { return .failure(.full(limit: options.entriesLimit)) }
    let number = OutboxNumber(rawValue: header.lastNumber.rawValue + 1)
    header.lastNumber = number
    journal.markHeader()
    put(OutboxEntry(number: number, content: notification), then: .queued(number, token: token))
    return .success(number)
  }

  private mutating func update(
    _ number: OutboxNumber, to content: DisplayNotification, token: UInt64
  ) -> Result<OutboxNumber, ForwardingRejection> {
    guard var entry = entries[number] else { return .failure(.unknownNumber(number.rawValue)) }
    switch entry.state {
    case .queued:
      // First remove it from its position in the queue of its level.
      entries.remove(number)
      entry.isReported = false
    case .refused:
      entry.state = .queued
      entry.isReported = false
    case .written, .updating: entry.hasNewerContent = true
    case .held(let write) where write.id == 0:
      // It has no identity, so the new content is an additional notification on the display.
      entry.state = .queued
      entry.isReported = false
    case .held:
      entry.hasNewerContent = true
      session?.updates.remove(number, level: entry.content.details.level)
      session?.updates.insert(number, level: content.details.level)
    case .removing where entry.hasNewerContent: entry.isReported = false
    case .removing: return .failure(.unknownNumber(number.rawValue))
    }
    entry.content = content
    put(entry, then: .queued(number, token: token))
    return .success(number)
  }

  private mutating func withdraw(
    _ number: OutboxNumber, token: UInt64
  ) -> Result<OutboxNumber, ForwardingRejection> {
    guard var entry = entries[number] else { return .failure(.unknownNumber(number.rawValue)) }
    journal.mark(number, then: .queued(number, token: token))
    switch entry.state {
    case .queued, .refused: drop(number, then: .removed(number))
    case .held(let write) where write.id == 0: drop(number, then: .removed(number))
    // Without an identity it cannot be removed from the display; only the host forgets it.
    case .written(let write) where write.id == 0: drop(number, then: .outcomeUnknown(number))
    case .written(let write), .held(let write), .updating(let write, _):
      entry.state = .removing(id: write.id)
      entry.hasNewerContent = false
      put(entry)
      session?.removals.append(number)
    case .removing:
      entry.hasNewerContent = false
      put(entry)
    }
    return .success(number)
  }
}

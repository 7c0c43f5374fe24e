import NotibotProtocol

// Submissions: notifications are added, changed and removed.
extension OutboxMachine {
  mutating func add(_ notification: DisplayNotification, token: UInt64) {
    guard shelf.count < options.entriesLimit else {
      return report(.rejected(.full(limit: options.entriesLimit), token: token))
    }
    let number = OutboxNumber(rawValue: header.lastNumber.rawValue + 1)
    header.lastNumber = number
    journal.markHeader()
    put(OutboxEntry(number: number, content: notification), then: .queued(number, token: token))
  }

  mutating func update(_ number: OutboxNumber, to content: DisplayNotification, token: UInt64) {
    guard var entry = shelf[number] else {
      return report(.rejected(.unknownNumber(number), token: token))
    }
    switch entry.state {
    case .queued:
      // First remove it from its position in the queue of its level.
      shelf.remove(number)
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
    case .removing: return report(.rejected(.unknownNumber(number), token: token))
    }
    entry.content = content
    put(entry, then: .queued(number, token: token))
  }

  mutating func takeBack(_ number: OutboxNumber, token: UInt64) {
    guard var entry = shelf[number] else {
      return report(.rejected(.unknownNumber(number), token: token))
    }
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
  }
}

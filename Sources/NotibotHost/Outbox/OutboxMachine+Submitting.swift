import NotibotProtocol

// What people ask for: notifications are added, changed and taken back.
extension OutboxMachine {
  mutating func add(_ notification: Notification, token: UInt64) {
    guard shelf.count < options.entriesLimit else {
      return report(.rejected(.full(limit: options.entriesLimit), token: token))
    }
    let number = OutboxNumber(rawValue: header.lastNumber.rawValue + 1)
    header.lastNumber = number
    journal.markHeader()
    put(OutboxEntry(number: number, content: notification), then: .queued(number, token: token))
  }

  mutating func update(_ number: OutboxNumber, to content: Notification, token: UInt64) {
    guard var entry = shelf[number] else {
      return report(.rejected(.unknownNumber(number), token: token))
    }
    switch entry.state {
    case .queued:
      // Out of its place among those of its level first.
      shelf.remove(number)
      entry.isTold = false
    case .refused:
      entry.state = .queued
      entry.isTold = false
    case .written, .updating: entry.hasNewerContent = true
    case .held(let write) where write.id == 0:
      // It has no identity, so the new content is one more notification on the display.
      entry.state = .queued
      entry.isTold = false
    case .held:
      entry.hasNewerContent = true
      session?.updates.remove(number, level: entry.content.details.level)
      session?.updates.insert(number, level: content.details.level)
    case .removing where entry.hasNewerContent: entry.isTold = false
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
    // Without an identity nothing can be taken back; only the host forgets it.
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

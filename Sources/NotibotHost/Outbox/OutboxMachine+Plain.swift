import DequeModule
import NotibotProtocol

// A device without identities. Its entries have id 0. Those that have an id wait for a device with identities: it has
// them, or may have them. Source: PROTOCOL.md NTF-37.
extension OutboxMachine {
  /// Notifications that are kept for a replay when the device does not say how many it holds.
  static let replayLimit = 64

  mutating func beginPlain(_ info: DeviceInfo) {
    let hasRestarted = bootID.map { $0 != info.bootID } ?? false
    var again = Deque<OutboxNumber>()
    for entry in shelf.entries.values.sorted(by: { $0.number < $1.number }) {
      switch entry.state {
      case .written(let write) where write.id == 0:
        if options.resendsPlain { again.append(entry.number) } else { resolvePlain(entry) }
      case .held(let write) where write.id == 0:
        if !options.replaysPlain { drop(entry.number) } else if hasRestarted { replay(entry) }
      case .queued, .written, .held, .updating, .removing, .refused: break
      }
    }
    session?.stage = .plain(again)
  }

  /// One of unknown outcome goes out anew or never.
  mutating func resolvePlain(_ entry: OutboxEntry) {
    if options.resendsPlain {
      requeue(entry)
    } else {
      drop(entry.number, then: .outcomeUnknown(entry.number))
    }
  }

  /// One that was delivered goes out anew: the device has lost it.
  mutating func replay(_ entry: OutboxEntry) {
    requeue(entry)
  }

  /// One was answered by success: it is done with, or kept for a replay.
  mutating func finishPlain(_ entry: OutboxEntry) {
    let report = entry.isTold ? nil : OutboxReport.delivered(entry.number)
    guard case .written(let write) = entry.state else { return }
    var entry = entry
    entry.isTold = !entry.hasNewerContent
    if entry.hasNewerContent {
      // It cannot be changed there; the new content is one more notification.
      entry.state = .queued
      entry.hasNewerContent = false
      return put(entry, then: report)
    }
    guard options.replaysPlain else { return drop(entry.number, then: report) }
    entry.state = .held(write)
    put(entry, then: report)
    while shelf.replayable.count > session?.info.capacity ?? Self.replayLimit,
      let oldest = shelf.replayable.first
    {
      drop(oldest.number)
    }
  }
}

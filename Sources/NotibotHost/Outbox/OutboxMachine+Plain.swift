import DequeModule
import NotibotProtocol

// A device without identities. Its entries have id 0. Entries with an id wait for a device with
// identities, which has or may have them. Source: PROTOCOL.md NTF-37.
extension OutboxMachine {
  /// Notifications kept for a replay if the device does not announce its capacity.
  static let replayLimit = 64

  mutating func beginPlain(_ info: DeviceInfo, now: Instant) {
    let hasRestarted = lastInfo.map { $0.bootID != info.bootID || info.hasRestarted(since: $0) } ?? false
    var again = Deque<OutboxNumber>()
    for entry in entries.sorted {
      switch entry.state {
      case .written(let write) where write.id == 0:
        if options.resendsPlain, !isExpired(entry, at: now) {
          again.append(entry.number)
        } else {
          resolvePlain(entry, now: now)
        }
      case .held(let write) where write.id == 0:
        if !options.replaysPlain { drop(entry.number) } else if hasRestarted { replay(entry) }
      case .queued, .written, .held, .updating, .removing, .refused: break
      }
    }
    session?.stage = .plain(again)
  }

  /// An entry of unknown outcome is sent again, unless it has expired, or never.
  mutating func resolvePlain(_ entry: OutboxEntry, now: Instant) {
    if options.resendsPlain, !isExpired(entry, at: now) {
      requeue(entry)
    } else {
      drop(entry.number, then: .outcomeUnknown(entry.number))
    }
  }

  /// A delivered entry is sent again: the device has lost it.
  mutating func replay(_ entry: OutboxEntry) {
    requeue(entry)
  }

  /// An entry was accepted: it is removed, or kept for a replay.
  mutating func finishPlain(_ entry: OutboxEntry) {
    let report = entry.isReported ? nil : OutboxReport.delivered(entry.number)
    guard case .written(let write) = entry.state else { return }
    var entry = entry
    entry.isReported = !entry.hasNewerContent
    if entry.hasNewerContent {
      // It cannot be changed on the device; the new content is an additional notification.
      entry.state = .queued
      entry.hasNewerContent = false
      return put(entry, then: report)
    }
    guard options.replaysPlain else { return drop(entry.number, then: report) }
    entry.state = .held(write)
    put(entry, then: report)
    while entries.replayable.count > session?.info.capacity ?? Self.replayLimit,
      let oldest = entries.replayable.first
    {
      drop(oldest.number)
    }
  }
}

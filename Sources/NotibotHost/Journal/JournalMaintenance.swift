import NotibotProtocol

/// What a person asks of an outbox that nobody is sending from.
package enum JournalMaintenance {
  /// What is to be written for a request, and what becomes of the notifications.
  package struct Plan: Hashable, Sendable {
    package var changes: [JournalChange] = []
    /// Sent again with the next forwarding.
    package var queued: [OutboxNumber] = []
    /// No longer in the outbox.
    package var dropped: [OutboxNumber] = []
    /// Taken off the device with the next forwarding, and dropped then.
    package var removing: [OutboxNumber] = []
  }

  /// Why a request cannot be carried out; then nothing of it is.
  package enum Refusal: Error, Hashable, Sendable {
    case unknownNumber(OutboxNumber)
    /// Only what the device has refused can be tried again.
    case notRefused(OutboxNumber, state: String)
  }

  /// Queues notifications again that the device has refused: those of `numbers`, or all. Each gets a new id when it is
  /// written. Source: PROTOCOL.md NTF-23.
  package static func retry(
    _ numbers: [OutboxNumber], in contents: JournalContents
  ) throws(Refusal) -> Plan {
    var plan = Plan()
    let chosen = numbers.isEmpty ? contents.entries.filter(\.isRefused) : try entries(numbers, of: contents)
    for var entry in chosen {
      guard entry.isRefused else { throw .notRefused(entry.number, state: entry.state.name) }
      entry.state = .queued
      entry.hasNewerContent = false
      plan.queued.append(entry.number)
      plan.changes.append(.put(entry))
    }
    return plan
  }

  /// Takes notifications out of the outbox. What is on the device, or may be, is first to be taken off it: without its entry
  /// host and device would not agree any more (NTF-34).
  package static func drop(
    _ numbers: [OutboxNumber], in contents: JournalContents
  ) throws(Refusal) -> Plan {
    var plan = Plan()
    for var entry in try entries(numbers, of: contents) {
      switch entry.state.idOnDevice {
      case nil:
        plan.dropped.append(entry.number)
        plan.changes.append(.delete(entry.number))
      case .some(let id):
        entry.state = .removing(id: id)
        entry.hasNewerContent = false
        plan.removing.append(entry.number)
        plan.changes.append(.put(entry))
      }
    }
    return plan
  }

  /// Drops notifications without a word to the device, for one that will not be seen again.
  package static func forget(
    _ numbers: [OutboxNumber], in contents: JournalContents
  ) throws(Refusal) -> Plan {
    let chosen = try entries(numbers, of: contents).map(\.number)
    return Plan(changes: chosen.map { .delete($0) }, dropped: chosen)
  }

  /// The entries of these numbers, each once, in rising order.
  private static func entries(
    _ numbers: [OutboxNumber], of contents: JournalContents
  ) throws(Refusal) -> [OutboxEntry] {
    var wanted = Set(numbers)
    let found = contents.entries.filter { wanted.remove($0.number) != nil }
    if let unknown = wanted.min() { throw .unknownNumber(unknown) }
    return found
  }
}

extension OutboxEntry {
  fileprivate var isRefused: Bool { if case .refused = state { true } else { false } }
}

extension OutboxEntry.State {
  /// The id that the device has, or may have, a notification under; `nil` when it has none that could be removed.
  fileprivate var idOnDevice: UInt32? {
    switch self {
    case .queued, .refused: nil
    // 0: written to a device without identities.
    case .written(let write), .held(let write), .updating(let write, _): write.id == 0 ? nil : write.id
    case .removing(let id): id
    }
  }
}

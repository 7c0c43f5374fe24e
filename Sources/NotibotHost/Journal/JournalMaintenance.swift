import NotibotProtocol
package import SerialLink

/// Manual changes to an outbox that no process is sending from.
package enum JournalMaintenance {
  /// The changes to write for a request, and the results for the notifications.
  package struct Plan: Hashable, Sendable {
    package var changes: [JournalChange] = []
    /// Sent again with the next forwarding.
    package var queued: [OutboxNumber] = []
    /// No longer in the outbox.
    package var dropped: [OutboxNumber] = []
    /// Removed from the device by the next forwarding, and dropped then.
    package var removing: [OutboxNumber] = []
  }

  /// Queues notifications again that the device has refused: those of `numbers`, or all. Each gets
  /// a new id when it is written. Source: PROTOCOL.md NTF-23.
  package static func retry(
    _ numbers: [OutboxNumber], in contents: JournalContents
  ) throws(Failure) -> Plan {
    var plan = Plan()
    let chosen = numbers.isEmpty ? contents.entries.filter(\.isRefused) : try entries(numbers, of: contents)
    for var entry in chosen {
      guard entry.isRefused else {
        throw Failure(
          .usage,
          "notification \(entry.number.rawValue) is \(entry.state.name), not refused; nothing was changed",
          remedy: "retry only notifications in the state refused")
      }
      entry.state = .queued
      entry.hasNewerContent = false
      plan.queued.append(entry.number)
      plan.changes.append(.put(entry))
    }
    return plan
  }

  /// Removes notifications from the outbox. Those that are or may be on the device must be removed
  /// from it first: without their entries host and device would no longer agree (NTF-34).
  package static func drop(
    _ numbers: [OutboxNumber], in contents: JournalContents
  ) throws(Failure) -> Plan {
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

  /// Drops notifications without removing them from the device, for a device that will not return.
  package static func forget(
    _ numbers: [OutboxNumber], in contents: JournalContents
  ) throws(Failure) -> Plan {
    let chosen = try entries(numbers, of: contents).map(\.number)
    return Plan(changes: chosen.map { .delete($0) }, dropped: chosen)
  }

  /// The entries of these numbers, each once, in ascending order.
  private static func entries(
    _ numbers: [OutboxNumber], of contents: JournalContents
  ) throws(Failure) -> [OutboxEntry] {
    var wanted = Set(numbers)
    let found = contents.entries.filter { wanted.remove($0.number) != nil }
    if let unknown = wanted.min() {
      throw Failure(
        .usage, "the outbox has no notification \(unknown.rawValue); nothing was changed",
        remedy: "list the numbers with: notibot outbox --file FILE list")
    }
    return found
  }
}

extension OutboxEntry {
  fileprivate var isRefused: Bool { if case .refused = state { true } else { false } }
}

extension OutboxEntry.State {
  /// The id of a notification that is or may be on the device; `nil` if it has none that could be
  /// removed.
  fileprivate var idOnDevice: UInt32? {
    switch self {
    case .queued, .refused: nil
    // 0: written to a device without identities.
    case .written(let write), .held(let write), .updating(let write, _): write.id == 0 ? nil : write.id
    case .removing(let id): id
    }
  }
}

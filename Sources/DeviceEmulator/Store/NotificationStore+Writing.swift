import DequeModule
import NotibotProtocol

/// Writes. Source: PROTOCOL.md NTF-1, NTF-20 to NTF-25, NTF-28.
extension NotificationStore {
  /// Stores one notification, or returns the reason why not and changes nothing.
  package mutating func write(_ json: [UInt8], by writer: Writer = .plain) -> WriteOutcome {
    let written: WrittenNotification
    do {
      written = try WrittenNotification(parsing: json, keys: writer.keys)
    } catch {
      return .invalid(error)
    }
    var draft = StoredNotification(item: 0, json: json)
    draft.level = written.notification.details.level
    draft.expires = written.notification.details.expires
    guard let identity = written.identity else {
      guard makeRoom(for: draft.level) else { return .full }
      return store(draft, isAnnounced: true)
    }
    guard let source = identity.source ?? writer.source else {
      return .invalid(NotificationError(.missingKey("src"), at: json.count))
    }
    let key = NotificationKey(source: source, id: identity.id)
    draft.identity = StoredIdentity(key: key, revision: identity.revision, crc: CRC32.checksum(json))
    draft.isPreExisting = source == writer.source && identity.id <= writer.knownID
    switch identity.change {
    case .added: return apply(draft, key: key, isAnnounced: !draft.isPreExisting)
    case .modified: return apply(draft, key: key, isAnnounced: false)
    case .removed: return settle(key)
    }
  }

  /// A writer sends its state: it is known from now on. Source: PROTOCOL.md NTF-22, NTF-31.
  /// - Parameter keepsActions: whether presses of its notifications are kept from now on (NTF-39).
  mutating func sync(_ source: UInt32, keepsActions: Bool = false) {
    makeRoom(forWriter: source)
    writers.use(source)
    writers.setKeepsActions(keepsActions, of: source)
  }

  /// Source: PROTOCOL.md NTF-23.
  private mutating func apply(
    _ draft: StoredNotification, key: NotificationKey, isAnnounced: Bool
  ) -> WriteOutcome {
    if key.id <= writers.highestID(of: key.source) ?? 0 {
      return change(to: draft, key: key, isAnnounced: isAnnounced)
    }
    // A refused write changes nothing: no writer is forgotten for it, unless that makes the room.
    if let victim = writers.victim(for: key.source), writers.hasItems(victim) {
      makeRoom(forWriter: key.source)
    }
    guard makeRoom(for: draft.level) else { return .full }
    makeRoom(forWriter: key.source)
    writers.use(key.source)
    return store(draft, isAnnounced: isAnnounced)
  }

  /// An id that is not above hwm.
  private mutating func change(
    to draft: StoredNotification, key: NotificationKey, isAnnounced: Bool
  ) -> WriteOutcome {
    guard let position = writers.item(of: key).flatMap({ index(of: $0) }),
      let old = items[position].identity, let new = draft.identity
    else {
      writers.use(key.source)
      notifyAgain(key)
      return .unchanged
    }
    if new.revision < old.revision { return .conflict }
    if new.revision == old.revision, draft.json != items[position].json { return .conflict }
    writers.use(key.source)
    var outcome = WriteOutcome.unchanged
    if new.revision > old.revision {
      var draft = draft
      draft.item = items[position].item
      draft.hasExpired = items[position].hasExpired
      replace(at: position, by: draft)
      if !draft.hasExpired { display?.append(.replaced(draft.subject, isAnnounced: isAnnounced)) }
      outcome = .replaced(item: draft.item)
    }
    if items[position].hasExpired { notifyAgain(key, .expired, item: items[position].item) }
    return outcome
  }

  private mutating func store(_ draft: StoredNotification, isAnnounced: Bool) -> WriteOutcome {
    let item = append(draft)
    if display != nil, let notification = items.last {
      display?.append(.shown(notification.subject, isAnnounced: isAnnounced))
    }
    return .stored(item: item)
  }

  /// The writer removes one, or confirms that it is gone. Source: PROTOCOL.md NTF-24.
  private mutating func settle(_ key: NotificationKey) -> WriteOutcome {
    // A writer that is not known has no notifications here; it need not be remembered for that.
    guard writers.highestID(of: key.source) != nil else { return .unchanged }
    writers.use(key.source)
    events.append(.settled(key))
    let wasGone = gone.remove(key)
    guard let position = writers.item(of: key).flatMap({ index(of: $0) }) else {
      return wasGone ? .removed : .unchanged
    }
    let notification = remove(at: position)
    if !notification.hasExpired { display?.append(.removed(notification.subject, .removed)) }
    return .removed
  }

  /// A writer does not know that one is gone. Source: PROTOCOL.md NTF-26.
  /// - Parameters:
  ///   - reason: what is reported if it is no longer remembered.
  ///   - item: its number in the same case; 0 if it is not known.
  private mutating func notifyAgain(
    _ key: NotificationKey, _ reason: GoneReason = .dismissed, item: Int = 0
  ) {
    let notice =
      gone.notice(of: key) ?? GoneNotice(reason: reason, key: key, item: UInt32(clamping: item))
    // A forgotten notice is added again if there is room, but replaces no other.
    if !gone.isFull { _ = gone.insert(notice) }
    events.append(.stillGone(notice))
  }

  /// Forgets the least recent writer if `source` is new and there is no room for it. Source:
  /// PROTOCOL.md NTF-22.
  private mutating func makeRoom(forWriter source: UInt32) {
    guard let victim = writers.victim(for: source) else { return }
    for notification in removeAll(where: { $0.identity?.key.source == victim })
    where !notification.hasExpired {
      display?.append(.removed(notification.subject, .writerForgotten))
    }
    writers.forget(victim)
    gone.removeAll(of: victim)
    presses.removeAll(of: victim)
    events.append(.writerForgotten(source: victim))
  }
}

import DequeModule
import NotibotProtocol

/// How notifications are removed without their writers. Source: PROTOCOL.md NTF-11, NTF-25 to
/// NTF-27.
extension NotificationStore {
  /// Removes one shown notification. Returns false if it is not there.
  package mutating func dismiss(item: Int) -> Bool {
    guard let position = index(of: item), !items[position].hasExpired else { return false }
    let notification = remove(at: position)
    display?.append(.removed(notification.subject, .dismissed))
    recordGone(notification, .dismissed)
    return true
  }

  /// Dismisses all shown notifications. Item numbers continue to rise.
  package mutating func removeAll() {
    removeUnremembered()
    let dismissed = removeAll { !$0.hasExpired }
    for notification in dismissed { display?.append(.removed(notification.subject, .dismissed)) }
    // If there are more than can be remembered, those that will be remembered are reported, and
    // that there were others.
    let identified = dismissed.filter { $0.identity != nil }
    for notification in identified.dropLast(GoneList.limit) {
      if let source = notification.identity?.key.source { forget(source: source) }
    }
    for notification in identified.suffix(GoneList.limit) { recordGone(notification, .dismissed) }
  }

  /// Makes room by removing one. Source: PROTOCOL.md NTF-25.
  mutating func evict(at position: Int) {
    let notification = remove(at: position)
    if !notification.hasExpired { display?.append(.removed(notification.subject, .evicted)) }
    recordGone(notification, .evicted)
  }

  /// Hides the one that expires first if it is due; returns false if there is none. Source:
  /// PROTOCOL.md NTF-27.
  /// - Parameter seconds: now, in seconds since 1970-01-01 UTC.
  mutating func expireNext(at seconds: UInt32) -> Bool {
    guard let soonest = soonestExpiry, soonest.expires <= seconds, let position = index(of: soonest.item)
    else {
      return false
    }
    display?.append(.removed(items[position].subject, .expired))
    if items[position].identity == nil {
      _ = remove(at: position)
    } else {
      hide(at: position)
      recordGone(items[position], .expired)
    }
    return true
  }

  /// Remembers that one is gone, so that its writer is notified. Source: PROTOCOL.md NTF-26,
  /// NTF-33.
  private mutating func recordGone(_ notification: StoredNotification, _ reason: GoneReason) {
    guard let key = notification.identity?.key else { return }
    let notice = GoneNotice(reason: reason, key: key, item: UInt32(clamping: notification.item))
    if let forgotten = gone.insert(notice) { forget(source: forgotten.key.source) }
    events.append(.gone(notice))
  }

  private mutating func forget(source: UInt32) {
    if !events.contains(.writerForgotten(source: source)) { events.append(.writerForgotten(source: source)) }
  }
}

/// Outputs of the store.
extension NotificationStore {
  /// The events for the bearers, which are then removed.
  mutating func drainEvents() -> [Event] {
    guard !events.isEmpty else { return [] }
    defer { events = [] }
    return events
  }

  /// The changes of the display since the last call, which are then removed; none unless `display`
  /// records them.
  mutating func drainDisplayChanges() -> [DisplayChange] {
    display?.drainChanges() ?? []
  }
}

extension StoredNotification {
  /// Its name in a change of the display.
  var subject: DisplayChange.Subject {
    .init(item: item, key: identity?.key, revision: identity?.revision ?? 0, json: json)
  }
}

package import DequeModule
import NotibotProtocol

/// The notifications of the display: one store for all bearers. Source: PROTOCOL.md NTF-12.
///
/// A plain collection with limits; it has no states. Each change can leave `events` for the
/// bearers, which the server takes before the next change.
package struct NotificationStore: Equatable, Sendable {
  /// The maximum number of counted notifications of other writers.
  package static let otherWritersLimit = 10_000_000

  package let capacity: Int
  package let policy: StorePolicy
  /// The stored notifications, oldest first; the numbers rise.
  private(set) package var items: Deque<StoredNotification> = []
  /// How many notifications this boot accepted.
  private(set) package var acceptedCount = 0
  /// The writers of notifications with an identity.
  package internal(set) var writers: WriterRecords
  /// Notifications that are gone and not settled yet.
  package internal(set) var gone = GoneList()
  /// Presses that no host has taken yet.
  package internal(set) var presses = PressList()
  /// Events for the bearers; a change leaves at most `GoneList.limit` + 4 of them.
  var events: [Event] = []
  /// `nil`: the display is not recorded.
  var display: DisplayLog?
  private var expiries = ExpiryQueue()
  /// Stored and hidden.
  private var hiddenCount = 0
  /// How many can be evicted, by level. Source: PROTOCOL.md NTF-25.
  private var evictableCounts = [Int](repeating: 0, count: NotificationDetails.Level.allCases.count)
  /// Accepted, not dismissed, and no longer remembered individually.
  private var forgottenCount = 0
  /// The notifications that writers other than these bearers have in the store, such as BLE and a
  /// local button.
  private(set) var otherWritersCount = 0

  /// - Parameter writersLimit: how many writers are known at the same time (NTF-22).
  package init(capacity: Int, policy: StorePolicy, writersLimit: Int = WriterRecords.limit) {
    self.capacity = capacity
    self.policy = policy
    writers = WriterRecords(limit: writersLimit)
  }

  /// How many notifications are stored, not dismissed and not expired, from all writers.
  package var storedCount: Int { items.count - hiddenCount + forgottenCount + otherWritersCount }

  /// The value of Notification Count. Source: PROTOCOL.md NTF-10.
  package var count: UInt16 { UInt16(clamping: storedCount) }

  /// Seconds since 1970-01-01 UTC at which the next one expires; `nil` if none does.
  package var nextExpiry: UInt32? { soonestExpiry?.expires }

  /// Which one expires next.
  var soonestExpiry: ExpiryQueue.Entry? { expiries.soonest }

  /// A shown notification; `nil` if there is none with this number.
  package func notification(_ item: Int) -> StoredNotification? {
    index(of: item).map { items[$0] }.flatMap { $0.hasExpired ? nil : $0 }
  }

  /// Whether a notification is stored and shown.
  package func holds(item: Int) -> Bool {
    notification(item) != nil
  }

  /// Sets how many notifications other writers have in the store. They affect only the count and
  /// take no capacity.
  package mutating func setOtherWritersCount(_ count: Int) {
    otherWritersCount = min(max(0, count), Self.otherWritersLimit)
  }

  // MARK: Shared by the extensions

  /// Stores one under the next number, which is returned. The caller has made room, including for
  /// its writer.
  mutating func append(_ notification: StoredNotification) -> Int {
    acceptedCount += 1
    var notification = notification
    notification.item = acceptedCount
    items.append(notification)
    if let identity = notification.identity { writers.insert(identity, item: acceptedCount) }
    index(notification)
    return acceptedCount
  }

  /// Replaces one; its number stays.
  mutating func replace(at position: Int, by notification: StoredNotification) {
    let old = items[position]
    unindex(old)
    if let identity = old.identity { writers.remove(identity) }
    items[position] = notification
    if let identity = notification.identity { writers.insert(identity, item: notification.item) }
    index(notification)
  }

  /// Removes one, as if it had never been stored.
  mutating func remove(at position: Int) -> StoredNotification {
    let notification = items.remove(at: position)
    if let identity = notification.identity { writers.remove(identity) }
    unindex(notification)
    return notification
  }

  /// Removes all for which `isLeaving` holds, oldest first.
  mutating func removeAll(where isLeaving: (StoredNotification) -> Bool) -> [StoredNotification] {
    let leaving = items.filter(isLeaving)
    guard !leaving.isEmpty else { return [] }
    items.removeAll(where: isLeaving)
    for notification in leaving {
      if let identity = notification.identity { writers.remove(identity) }
      unindex(notification)
    }
    return Array(leaving)
  }

  /// Hides an expired one. Source: PROTOCOL.md NTF-27.
  mutating func hide(at position: Int) {
    unindex(items[position])
    items[position].hasExpired = true
    index(items[position])
  }

  /// Forgets all that are not remembered individually.
  mutating func removeUnremembered() {
    forgottenCount = 0
    otherWritersCount = 0
  }

  /// Makes room for one of this level; returns false if that is not possible. Source: PROTOCOL.md
  /// NTF-8, NTF-25.
  mutating func makeRoom(for level: NotificationDetails.Level) -> Bool {
    switch policy {
    case .refuseWhenFull:
      guard items.count >= capacity else { return true }
      guard let position = evictionPosition(below: level) else { return false }
      evict(at: position)
    case .remember(let kept):
      if items.count >= max(1, kept) { forgetOldest() }
    }
    return true
  }

  func index(of item: Int) -> Int? {
    let position = position(notBelow: item)
    return position < items.count && items[position].item == item ? position : nil
  }

  /// At most `limit` of them, oldest first, from item number `from` on, which need not exist.
  func items(from: Int, limit: Int) -> [StoredNotification] {
    Array(items[position(notBelow: from)...].prefix(limit))
  }

  /// The numbers rise, so half of the rest can be skipped at each step.
  private func position(notBelow item: Int) -> Int {
    var low = 0
    var high = items.count
    while low < high {
      let middle = (low + high) / 2
      if items[middle].item < item { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Private

  /// The oldest of the lowest level, if that is below `level`.
  private func evictionPosition(below level: NotificationDetails.Level) -> Int? {
    guard let lowest = evictableCounts.firstIndex(where: { $0 > 0 }), lowest < Int(level.rawValue) else {
      return nil
    }
    return items.firstIndex { $0.identity != nil && Int($0.level.rawValue) == lowest }
  }

  private mutating func forgetOldest() {
    guard let oldest = items.popFirst() else { return }
    unindex(oldest)
    if let identity = oldest.identity { writers.forgetItem(of: identity.key) }
    if !oldest.hasExpired { forgottenCount += 1 }
  }

  private mutating func index(_ notification: StoredNotification) {
    if notification.identity != nil { evictableCounts[Int(notification.level.rawValue)] += 1 }
    if notification.hasExpired {
      hiddenCount += 1
    } else if let expires = notification.expires {
      expiries.insert(.init(expires: expires, item: notification.item))
    }
  }

  private mutating func unindex(_ notification: StoredNotification) {
    if notification.identity != nil { evictableCounts[Int(notification.level.rawValue)] -= 1 }
    if notification.hasExpired {
      hiddenCount -= 1
    } else if let expires = notification.expires {
      expiries.remove(.init(expires: expires, item: notification.item))
    }
  }
}

package import DequeModule
import NotibotProtocol

/// What the display shows: one store for all bearers. Source: PROTOCOL.md NTF-12.
///
/// A plain collection with limits; it has no states. Each change may leave `events` for the bearers, which the server
/// takes before the next one.
package struct NotificationStore: Equatable, Sendable {
  /// The count at which the two bytes stop. Source: PROTOCOL.md NTF-10.
  package static let countLimit = 65_535

  /// The most notifications of other writers that are counted.
  package static let otherWritersLimit = 10_000_000

  package let capacity: Int
  package let policy: StorePolicy
  /// What is held, oldest first; the numbers rise.
  private(set) package var items: Deque<StoredNotification> = []
  /// How many notifications this boot accepted.
  private(set) package var acceptedCount = 0
  /// Those who write notifications with an identity.
  package internal(set) var writers: WriterRecords
  /// What is gone and not yet settled.
  package internal(set) var gone = GoneList()
  /// What the bearers have not been told; a change leaves at most `GoneList.limit` + 4 of them.
  var events: [Event] = []
  /// `nil`: nobody looks at the display.
  var display: DisplayLog?
  private var expiries = ExpiryQueue()
  /// Stored and hidden.
  private var hiddenCount = 0
  /// How many may be evicted, by level. Source: PROTOCOL.md NTF-25.
  private var evictableCounts = [Int](repeating: 0, count: NotificationDetails.Level.allCases.count)
  /// Accepted, not dismissed, and no longer remembered one by one.
  private var forgottenCount = 0
  /// Notifications that writers other than these bearers have in the store, as BLE and a local button would.
  private var otherWritersCount = 0

  /// - Parameter writersLimit: how many writers are known at once (NTF-22).
  package init(capacity: Int, policy: StorePolicy, writersLimit: Int = WriterRecords.limit) {
    self.capacity = capacity
    self.policy = policy
    writers = WriterRecords(limit: writersLimit)
  }

  /// How many notifications are stored, not dismissed and not expired, from all writers.
  package var storedCount: Int { items.count - hiddenCount + forgottenCount + otherWritersCount }

  /// The value of Notification Count. Source: PROTOCOL.md NTF-10.
  package var count: UInt16 { UInt16(clamping: storedCount) }

  /// Seconds since 1970-01-01 UTC when the next one expires; `nil` when none does.
  package var nextExpiry: UInt32? { soonestExpiry?.expires }

  /// Which one expires next.
  var soonestExpiry: ExpiryQueue.Entry? { expiries.soonest }

  /// A notification that is shown; `nil` when there is none of this number.
  package func notification(_ item: Int) -> StoredNotification? {
    index(of: item).map { items[$0] }.flatMap { $0.hasExpired ? nil : $0 }
  }

  /// Whether a notification is there and shown.
  package func holds(item: Int) -> Bool {
    notification(item) != nil
  }

  /// Sets how many notifications other writers have in the store. Only the count shows them; they take no capacity.
  package mutating func setOtherWritersCount(_ count: Int) {
    otherWritersCount = min(max(0, count), Self.otherWritersLimit)
  }

  // MARK: Shared by the extensions

  /// Stores one under the next number, which is returned. The caller has made room, also for its writer.
  mutating func append(_ notification: StoredNotification) -> Int {
    acceptedCount += 1
    var notification = notification
    notification.item = acceptedCount
    items.append(notification)
    if let identity = notification.identity { writers.insert(identity, item: acceptedCount) }
    index(notification)
    return acceptedCount
  }

  /// Puts one in the place of another; its number stays.
  mutating func replace(at position: Int, by notification: StoredNotification) {
    let old = items[position]
    unindex(old)
    if let identity = old.identity { writers.remove(identity) }
    items[position] = notification
    if let identity = notification.identity { writers.insert(identity, item: notification.item) }
    index(notification)
  }

  /// Takes one out, as if it had never been there.
  mutating func remove(at position: Int) -> StoredNotification {
    let notification = items.remove(at: position)
    if let identity = notification.identity { writers.remove(identity) }
    unindex(notification)
    return notification
  }

  /// Takes out all for which `isLeaving` holds, oldest first.
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

  /// Hides one that has expired. Source: PROTOCOL.md NTF-27.
  mutating func hide(at position: Int) {
    unindex(items[position])
    items[position].hasExpired = true
    index(items[position])
  }

  /// Forgets all that are not remembered one by one.
  mutating func removeUnremembered() {
    forgottenCount = 0
    otherWritersCount = 0
  }

  /// Makes room for one of this level; false when there is none. Source: PROTOCOL.md NTF-8, NTF-25.
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

  /// At most `limit` of them, oldest first, from item number `from` on, which need not be there.
  func items(from: Int, limit: Int) -> [StoredNotification] {
    Array(items[position(notBelow: from)...].prefix(limit))
  }

  /// The numbers rise, so half of what is left can be skipped at each step.
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

package import DequeModule
package import NotibotProtocol

/// A notification that the device holds.
package struct StoredNotification: Equatable, Sendable {
  /// Its number in the order in which this boot accepted them, from 1. Source: PROTOCOL.md NTF-11.
  package var item: Int
  /// The JSON as it was written.
  package var json: [UInt8]
}

/// What the display shows: one store for all bearers. Source: PROTOCOL.md NTF-12.
///
/// A plain collection with limits; it has no states.
package struct NotificationStore: Equatable, Sendable {
  /// How a write ended.
  package enum WriteOutcome: Equatable, Sendable {
    /// Stored under this number.
    case stored(item: Int)
    /// Not a valid notification, and why. Source: PROTOCOL.md NTF-4.
    case invalid(NotificationError)
    /// The store is full. Source: PROTOCOL.md NTF-8.
    case full
  }

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
  /// Accepted, not dismissed, and no longer remembered one by one.
  private var forgottenCount = 0
  /// Notifications that writers other than these bearers have in the store, as BLE and a local button would.
  private var otherWritersCount = 0

  package init(capacity: Int, policy: StorePolicy) {
    self.capacity = capacity
    self.policy = policy
  }

  /// How many notifications are stored and not dismissed, from all writers.
  package var storedCount: Int { items.count + forgottenCount + otherWritersCount }

  /// The value of Notification Count. Source: PROTOCOL.md NTF-10.
  package var count: UInt16 { UInt16(clamping: storedCount) }

  /// Takes one notification, or says why not and stores nothing.
  package mutating func write(_ json: [UInt8]) -> WriteOutcome {
    do {
      _ = try Notification(parsing: json)
    } catch {
      return .invalid(error)
    }
    switch policy {
    case .refuseWhenFull:
      guard items.count < capacity else { return .full }
    case .remember(let kept):
      if items.count >= max(1, kept) {
        items.removeFirst()
        forgottenCount += 1
      }
    }
    acceptedCount += 1
    items.append(StoredNotification(item: acceptedCount, json: json))
    return .stored(item: acceptedCount)
  }

  /// Removes one notification. Returns false when it is not there.
  package mutating func dismiss(item: Int) -> Bool {
    guard let index = index(of: item) else { return false }
    items.remove(at: index)
    return true
  }

  /// Whether a notification is there.
  package func holds(item: Int) -> Bool {
    index(of: item) != nil
  }

  /// Sets how many notifications other writers have in the store. Only the count shows them; they take no capacity.
  package mutating func setOtherWritersCount(_ count: Int) {
    otherWritersCount = min(max(0, count), Self.otherWritersLimit)
  }

  /// Empties the store. Numbers go on rising.
  package mutating func removeAll() {
    items.removeAll()
    forgottenCount = 0
    otherWritersCount = 0
  }

  /// The numbers rise, so half of what is left can be skipped at each step.
  private func index(of item: Int) -> Int? {
    var low = 0
    var high = items.count
    while low < high {
      let middle = (low + high) / 2
      if items[middle].item < item { low = middle + 1 } else { high = middle }
    }
    return low < items.count && items[low].item == item ? low : nil
  }
}

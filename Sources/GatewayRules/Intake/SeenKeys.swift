/// The last push of each item that has no id of its own: an equal one is a repetition only until
/// another push changes the item.
struct LastContents: Hashable, Sendable {
  private struct Entry: Hashable {
    var key: [UInt8]
    var topic: String
    var at: WallTime

    /// The item shows something else.
    var ended: Self { Self(key: [], topic: topic, at: at) }
  }

  private static let limit = 10_000
  private var entries: [[UInt8]: Entry] = [:]
  private let keepMs: Int64

  init(keepMs: Int64) { self.keepMs = keepMs }

  /// Records a push; returns whether another one has changed its item since an equal one.
  mutating func replace(_ push: IntakePush, now: WallTime) -> Bool {
    var wasChanged = false
    switch push.meaning {
    case .nothing: break
    case .clearTopic:
      for (item, entry) in entries where entry.topic == push.topic { entries[item] = entry.ended }
    case .clear(let identifiers, _):
      for item in identifiers.map(push.target) { entries[item] = entries[item]?.ended }
    case .show(let shown), .activity(let shown, _, _):
      let item = shown.identifier.map(push.target) ?? push.key
      wasChanged = entries[item].map { $0.key != push.key } ?? false
      if entries.count >= Self.limit {
        entries = entries.filter { now.milliseconds - $0.value.at.milliseconds < keepMs }
      }
      if entries.count < Self.limit { entries[item] = Entry(key: push.key, topic: push.topic, at: now) }
    }
    return wasChanged
  }
}

/// The keys of pushes that were taken, so that a repetition is answered and not shown again.
struct SeenKeys: Hashable, Sendable {
  /// A push that waits for the result of an equal one.
  struct Waiter: Hashable, Sendable {
    var ticket: IntakeMachine.Ticket
  }

  enum State: Hashable, Sendable {
    /// Its changes are not durable yet.
    case pending([Waiter])
    indirect case done(apnsID: String, at: WallTime, isOwn: Bool)
  }

  private var states: [[UInt8]: State] = [:]
  /// Finished keys in the order of their times, from `first`.
  private var order: [[UInt8]] = []
  private var first = 0
  private let limit: Int
  private let keepMs: Int64
  private let contentKeepMs: Int64

  init(limit: Int, keepMs: Int64, contentKeepMs: Int64, restored: [IntakeContents.Key]) {
    self.limit = limit
    self.keepMs = keepMs
    self.contentKeepMs = contentKeepMs
    for key in restored {
      states[key.bytes] = .done(apnsID: key.apnsID, at: key.at, isOwn: key.isOwn)
      order.append(key.bytes)
    }
  }

  /// The state of a key, unless it is too old to count.
  func state(_ key: [UInt8], now: WallTime) -> State? {
    switch states[key] {
    case nil: nil
    case .pending(let waiters): .pending(waiters)
    case .done(let id, let at, let isOwn):
      abs(now.milliseconds - at.milliseconds) < (isOwn ? keepMs : contentKeepMs)
        ? .done(apnsID: id, at: at, isOwn: isOwn) : nil
    }
  }

  /// Finished keys.
  var count: Int { order.count - first }
  var isFull: Bool { count >= limit }

  mutating func begin(_ key: [UInt8]) { states[key] = .pending([]) }

  mutating func wait(_ key: [UInt8], _ waiter: Waiter) {
    guard case .pending(let waiters) = states[key] else { return }
    states[key] = .pending(waiters + [waiter])
  }

  /// Ends a pending key; returns those that wait for it, and keys to forget.
  mutating func finish(
    _ key: [UInt8], _ state: State?
  ) -> (waiters: [Waiter], forgotten: [[UInt8]]) {
    var waiters: [Waiter] = []
    if case .pending(let pending) = states[key] { waiters = pending }
    states[key] = state
    guard case .done(_, let now, _) = state else { return (waiters, []) }
    order.append(key)
    return (waiters, trim(now))
  }

  /// Drops the oldest: those that no longer count, and those beyond the limit.
  private mutating func trim(_ now: WallTime) -> [[UInt8]] {
    var forgotten: [[UInt8]] = []
    while first < order.count, count > limit || self.state(order[first], now: now) == nil {
      let key = order[first]
      first += 1
      if case .done = states[key] {
        states[key] = nil
        forgotten.append(key)
      }
    }
    if first > 1000, first > order.count / 2 {
      order.removeFirst(first)
      first = 0
    }
    return forgotten
  }
}

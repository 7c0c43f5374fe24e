import DequeModule
import NotibotProtocol

/// The state of one connection of the attribute protocol; it ends with the connection. Source:
/// PROTOCOL.md ATT-3.
struct ATTBearer: Equatable, Sendable {
  /// A part of a long write.
  struct Part: Equatable, Sendable {
    var handle: UInt16
    var offset: Int
    var value: [UInt8]
  }

  /// Whether a notification of the count is pending, if the client subscribed.
  enum PendingCount: Equatable, Sendable {
    case none
    /// The value changed; the current value is read when the notification is made. Source:
    /// PROTOCOL.md ATT-19.
    case changed
  }

  /// The answer that a SYNC still needs. Source: PROTOCOL.md NTF-31.
  enum PendingSync: Equatable, Sendable {
    case none
    /// SYNCED for this source, sent after the queued notifications.
    case synced(source: UInt32)
  }

  /// Whether the host should sync. Source: PROTOCOL.md NTF-33.
  enum PendingResync: Equatable, Sendable {
    case none
    case due
    /// It was sent, and the host has not synced since.
    case sent
  }

  /// Entries of the prepare queue: enough for 512 bytes at MTU 23. Source: PROTOCOL.md ATT-14.
  static let partsLimit = 32
  /// Bytes of the prepare queue. Source: PROTOCOL.md ATT-14.
  static let partsLimitBytes = 1024
  /// The minimum size of the queue of Data notifications. Source: PROTOCOL.md ATT-19.
  static let eventsLimit = 8
  /// The maximum number of queued notices: all remembered ones, and as many that are not.
  static let noticesLimit = 2 * GoneList.limit

  let id: BearerID
  /// The features of both sides. Source: PROTOCOL.md LNK-5.
  let features: Features
  /// The maximum number of queued Data notifications; beyond it the newest is dropped. Source:
  /// PROTOCOL.md ATT-19.
  let eventsLimit: Int
  let model: ServerModel
  /// The largest PDU of either direction, in bytes.
  private(set) var mtu = NotibotProfile.firstMTU
  private var hasExchangedMTU = false
  /// The CCCDs as written: 0 or 1.
  private(set) var countCCCD: UInt16 = 0
  private(set) var dataCCCD: UInt16 = 0
  private var serviceChangedCCCD: UInt16 = 0
  private(set) var parts: [Part] = []
  private(set) var pendingCount = PendingCount.none
  private(set) var events: Deque<[UInt8]> = []
  /// Queued notices of notifications that are gone, one each. Source: PROTOCOL.md NTF-26.
  private(set) var notices: Deque<GoneNotice> = []
  /// The writer, and what its host is known to know. Source: PROTOCOL.md NTF-21, NTF-28.
  private(set) var writer = NotificationStore.Writer()
  private(set) var pendingSync = PendingSync.none
  private(set) var pendingResync = PendingResync.none
  /// The source of the latest SYNC; `nil` before it.
  private(set) var syncedSource: UInt32?
  /// The highest number of a press that was reported since that SYNC. Source: PROTOCOL.md NTF-40.
  private(set) var reportedPress: UInt32 = 0

  /// - Parameters:
  ///   - features: the features in use; generic code would make the literal `[]` at each request.
  ///   - source: the SRC of the SYN.
  ///   - eventsLimit: the size of the queue of Data notifications.
  ///   - model: its attributes and their server.
  init(
    id: BearerID, features: Features = Features(rawValue: 0), source: UInt32? = nil,
    eventsLimit: Int = Self.eventsLimit, model: ServerModel = .own
  ) {
    self.id = id
    self.model = model
    self.features = features
    self.eventsLimit = eventsLimit
    writer.keys = features.contains(.optionalKeys) ? .all : .four
    writer.source = source
  }

  /// Takes the client's receive MTU; only the first exchange counts, unless the server has another
  /// trait. Source: PROTOCOL.md ATT-8.
  mutating func exchangeMTU(client: UInt16, server: UInt16) {
    guard !hasExchangedMTU || model.traits.changesMTUAgain else { return }
    hasExchangedMTU = true
    mtu = max(NotibotProfile.firstMTU, min(client, server))
  }

  func cccd(of subscription: AttributeTable.Subscription) -> UInt16 {
    switch subscription {
    case .count: countCCCD
    case .data: dataCCCD
    case .serviceChanged: serviceChangedCCCD
    }
  }

  /// Subscribes or unsubscribes; notifications that are queued for a client that unsubscribes are
  /// discarded. Source: PROTOCOL.md ATT-17.
  mutating func setCCCD(of subscription: AttributeTable.Subscription, to value: UInt16) {
    switch subscription {
    case .count:
      countCCCD = value
      if value == 0 { pendingCount = .none }
    case .data:
      dataCCCD = value
      guard value == 0 else { return }
      events.removeAll()
      notices.removeAll()
    case .serviceChanged: serviceChangedCCCD = value
    }
  }

  mutating func setCCCDs(count: UInt16, data: UInt16) {
    setCCCD(of: .count, to: count)
    setCCCD(of: .data, to: data)
  }

  /// Marks the count as changed.
  mutating func markCountChanged() {
    if countCCCD == 1 { pendingCount = .changed }
  }

  /// Queues an event of Data. Returns false if it was dropped: the queue is full, or the event is
  /// longer than a notification, because truncated JSON is useless to the host. Source: PROTOCOL.md
  /// ATT-19, NTF-11.
  mutating func queue(event: [UInt8]) -> Bool {
    guard dataCCCD == 1 else { return true }
    guard event.count <= eventLimitBytes else { return false }
    guard events.count < eventsLimit else {
      requestResync()
      return false
    }
    events.append(event)
    return true
  }

  /// The longest Data notification. Source: PROTOCOL.md ATT-17.
  var eventLimitBytes: Int { Int(mtu) - 3 }

  /// Whether a notification of the count was pending; it then no longer is.
  mutating func popPendingCount() -> Bool {
    defer { pendingCount = .none }
    return pendingCount == .changed
  }

  mutating func popEvent() -> [UInt8]? {
    events.popFirst()
  }

  // MARK: Gone notifications

  /// Queues the notice that a notification is gone; a newer notice of the same notification
  /// replaces the older one. Returns false if it was dropped. Source: PROTOCOL.md NTF-26, NTF-33.
  mutating func queue(_ notice: GoneNotice) -> Bool {
    guard dataCCCD == 1 else { return true }
    if let index = notices.firstIndex(where: { $0.key == notice.key }) {
      notices[index] = notice
      return true
    }
    guard notices.count < Self.noticesLimit else {
      requestResync()
      return false
    }
    notices.append(notice)
    return true
  }

  mutating func popNotice() -> GoneNotice? {
    notices.popFirst()
  }

  /// Removes the queued notice of a notification. Source: PROTOCOL.md NTF-24.
  mutating func settle(_ key: NotificationKey) {
    notices.removeAll { $0.key == key }
  }

  // MARK: SYNC

  /// Takes the state that the host reports; all gone notifications of its source are reported again
  /// before the answer. Source: PROTOCOL.md NTF-26, NTF-31.
  mutating func sync(_ request: SyncRequest) {
    writer.source = request.source
    writer.knownID = request.knownID
    notices.removeAll { $0.key.source == request.source }
    syncedSource = request.source
    reportedPress = 0
    pendingSync = .synced(source: request.source)
    pendingResync = .none
  }

  /// Notes that the host should sync; RESYNC is sent once until it does. Source: PROTOCOL.md
  /// NTF-33.
  mutating func requestResync() {
    guard features.contains(.sync), pendingResync == .none else { return }
    pendingResync = .due
  }

  /// The source of the pending SYNCED, which is then no longer pending.
  mutating func popPendingSync() -> UInt32? {
    defer { pendingSync = .none }
    switch pendingSync {
    case .none: return nil
    case .synced(let source): return source
    }
  }

  /// Whether RESYNC is due; it then counts as sent.
  mutating func popPendingResync() -> Bool {
    guard pendingResync == .due else { return false }
    pendingResync = .sent
    return true
  }

  // MARK: Presses

  /// Whether the host gets the kept presses of a source. Source: PROTOCOL.md NTF-40.
  func collectsPresses(of source: UInt32) -> Bool {
    features.contains(.keptActions) && syncedSource == source
  }

  /// The next press to report.
  mutating func nextPress(from presses: PressList) -> KeptPress? {
    guard features.contains(.keptActions), let syncedSource,
      let press = presses.first(of: syncedSource, above: reportedPress)
    else { return nil }
    reportedPress = press.number
    return press
  }

  // MARK: Long writes

  /// Queues a part of a long write. Returns false if the queue is full.
  mutating func prepare(_ part: Part) -> Bool {
    let queuedBytes = parts.reduce(0) { $0 + $1.value.count }
    guard parts.count < Self.partsLimit, queuedBytes + part.value.count <= Self.partsLimitBytes else {
      return false
    }
    parts.append(part)
    return true
  }

  /// Empties the prepare queue and returns its parts.
  mutating func drainParts() -> [Part] {
    defer { parts = [] }
    return parts
  }
}

extension UInt16 {
  /// Two bytes, least significant first.
  var littleEndianBytes: [UInt8] { [UInt8(truncatingIfNeeded: self), UInt8(truncatingIfNeeded: self >> 8)] }
}

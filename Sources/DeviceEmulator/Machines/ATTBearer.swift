import DequeModule
import NotibotProtocol

/// What belongs to one connection of the attribute protocol and ends with it. Source: PROTOCOL.md ATT-3.
struct ATTBearer: Equatable, Sendable {
  /// A part of a long write.
  struct Part: Equatable, Sendable {
    var handle: UInt16
    var offset: Int
    var value: [UInt8]
  }

  /// What a characteristic has to tell, if the client subscribed.
  enum CountNews: Equatable, Sendable {
    case none
    /// The value changed; which one it is now is read when the notification is made. Source: PROTOCOL.md ATT-19.
    case changed
  }

  /// Entries of the prepare queue: enough for 512 bytes at MTU 23. Source: PROTOCOL.md ATT-14.
  static let partsLimit = 32
  /// Bytes of the prepare queue. Source: PROTOCOL.md ATT-14.
  static let partsLimitBytes = 1024
  /// Notifications of Data that wait. Source: PROTOCOL.md ATT-19.
  static let eventsLimit = 8

  let id: BearerID
  /// The largest PDU of either direction, in bytes.
  private(set) var mtu = NotibotProfile.firstMTU
  private var hasExchangedMTU = false
  /// The CCCDs as written: 0 or 1.
  private(set) var countCCCD: UInt16 = 0
  private(set) var dataCCCD: UInt16 = 0
  private(set) var parts: [Part] = []
  private(set) var countNews = CountNews.none
  private(set) var events: Deque<[UInt8]> = []

  init(id: BearerID) {
    self.id = id
  }

  /// Takes what the client receives; only the first exchange counts. Source: PROTOCOL.md ATT-8.
  mutating func exchangeMTU(client: UInt16, server: UInt16) {
    guard !hasExchangedMTU else { return }
    hasExchangedMTU = true
    mtu = max(NotibotProfile.firstMTU, min(client, server))
  }

  func cccd(of subscription: AttributeTable.Subscription) -> UInt16 {
    switch subscription {
    case .count: countCCCD
    case .data: dataCCCD
    }
  }

  /// Subscribes or unsubscribes; what waits for a client that left is forgotten. Source: PROTOCOL.md ATT-17.
  mutating func setCCCD(of subscription: AttributeTable.Subscription, to value: UInt16) {
    switch subscription {
    case .count:
      countCCCD = value
      if value == 0 { countNews = .none }
    case .data:
      dataCCCD = value
      if value == 0 { events.removeAll() }
    }
  }

  /// Notes that the count changed.
  mutating func noteCountChange() {
    if countCCCD == 1 { countNews = .changed }
  }

  /// Queues an event of Data. Returns false when it had to be dropped: too many wait, or it is longer than a
  /// notification. Source: PROTOCOL.md ATT-19, NTF-11.
  mutating func queue(event: [UInt8]) -> Bool {
    guard dataCCCD == 1 else { return true }
    guard events.count < Self.eventsLimit, event.count <= Int(mtu) - 3 else { return false }
    events.append(event)
    return true
  }

  /// The next notification. Source: PROTOCOL.md ATT-17.
  mutating func nextNotification(count: UInt16) -> ATTPDU? {
    if countNews == .changed {
      countNews = .none
      return .handleValueNotification(handle: NotibotProfile.Handle.count, value: count.littleEndianBytes)
    }
    guard let event = events.popFirst() else { return nil }
    return .handleValueNotification(handle: NotibotProfile.Handle.data, value: event)
  }

  /// Queues a part of a long write. Returns false when the queue is full.
  mutating func prepare(_ part: Part) -> Bool {
    let queuedBytes = parts.reduce(0) { $0 + $1.value.count }
    guard parts.count < Self.partsLimit, queuedBytes + part.value.count <= Self.partsLimitBytes else {
      return false
    }
    parts.append(part)
    return true
  }

  /// Empties the prepare queue and returns what was in it.
  mutating func takeParts() -> [Part] {
    defer { parts = [] }
    return parts
  }
}

extension UInt16 {
  /// Two bytes, least significant first.
  var littleEndianBytes: [UInt8] { [UInt8(truncatingIfNeeded: self), UInt8(truncatingIfNeeded: self >> 8)] }
}

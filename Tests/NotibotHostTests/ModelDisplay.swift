import NotibotProtocol

@testable import NotibotHost

/// A device's store, written from NTF-22 to NTF-33 for tests of the outbox: a dictionary and a
/// highest id for each source. It has no timing; a test carries each message by hand.
struct ModelDisplay {
  struct Item: Equatable {
    var notification: DisplayNotification
    var revision: UInt16
    var crc: UInt32
    var isHidden = false
  }

  /// Its messages, in order.
  enum Message: Equatable {
    case answered(tag: UInt64, HostResult)
    case event(DeviceEvent)
    case sync(SyncMessage)
    case count(UInt16)
  }

  struct Source: Equatable {
    var items: [UInt32: Item] = [:]
    var gone: [UInt32: GoneReason] = [:]
    var highestID: UInt32 = 0
  }

  var capacity = 8
  var hasIdentity = true
  /// Whether it announces kept actions; a test reports the presses itself.
  var keepsActions = false
  var evicts = false
  var bootID: UInt32 = 1
  var bootCount: UInt32?
  var sources: [UInt32: Source] = [:]
  /// Notifications accepted without an identity.
  var plain: [DisplayNotification] = []
  /// The error for the next content.
  var nextError: ATTError?
  var source: UInt32 = 0
  private var count: UInt16 = 0

  var info: DeviceInfo {
    var features: Features = hasIdentity ? [.pipelinedRequests, .optionalKeys, .sync] : [.pipelinedRequests]
    if keepsActions { features.insert(.keptActions) }
    let answer = SynAck(
      nonce: 1, features: features, limits: .usual, capacity: UInt16(capacity), bootID: bootID,
      bootCount: bootCount)
    return DeviceInfo(answer, mtu: 517, features: features)
  }

  /// All shown notifications.
  var shown: [DisplayNotification] {
    plain + sources.values.flatMap { $0.items.values.filter { !$0.isHidden }.map(\.notification) }
  }

  mutating func restart() {
    bootID += 1
    sources = [:]
    plain = []
    source = 0
    count = 0
  }

  mutating func write(_ json: [UInt8], tag: UInt64) -> [Message] {
    var messages: [Message] = []
    guard let write = try? WrittenNotification(parsing: json, keys: hasIdentity ? .all : .four) else {
      return [.answered(tag: tag, .refused(.notANotification))]
    }
    let result = apply(write, json: json, messages: &messages)
    messages.append(.answered(tag: tag, result))
    return messages + countMessage()
  }

  mutating func sync(_ request: SyncRequest) -> [Message] {
    source = request.source
    let state = sources[source] ?? Source()
    sources[source] = state
    var messages = state.gone.sorted { $0.key < $1.key }.map { gone($0.value, id: $0.key) }
    var holdings = Holdings()
    for (id, item) in state.items { holdings.insert(id: id, crc: item.crc) }
    let answer = SyncAnswer(
      source: source, holdings: holdings, highestID: state.highestID, capacity: UInt16(capacity),
      bootID: bootID)
    messages.append(.sync(.synced(answer)))
    return messages
  }

  /// The user dismisses a notification, or it expires.
  mutating func leave(_ id: UInt32, of source: UInt32, _ reason: GoneReason) -> [Message] {
    guard var item = sources[source]?.items[id], !item.isHidden else { return [] }
    if reason == .expired {
      item.isHidden = true
      sources[source]?.items[id] = item
    } else {
      sources[source]?.items[id] = nil
    }
    sources[source]?.gone[id] = reason
    return [gone(reason, id: id, source: source)] + countMessage()
  }

  private mutating func apply(
    _ write: WrittenNotification, json: [UInt8], messages: inout [Message]
  ) -> HostResult {
    guard let identity = write.identity else { return applyPlain(write.notification) }
    let key = identity.source ?? source
    var state = sources[key] ?? Source()
    defer { sources[key] = state }
    if identity.change == .removed {
      state.items[identity.id] = nil
      state.gone[identity.id] = nil
      return .accepted
    }
    if let error = nextError {
      nextError = nil
      return .refused(error)
    }
    let crc = CRC32.checksum(json)
    let item = Item(notification: write.notification, revision: identity.revision, crc: crc)
    if identity.id > state.highestID {
      if isFull {
        guard let (victim, id) = victim(below: write.notification.details.level) else {
          return .refused(.insufficientResources)
        }
        sources[key] = state
        messages += leave(id, of: victim, .evicted)
        state = sources[key] ?? Source()
      }
      state.items[identity.id] = item
      state.highestID = identity.id
    } else if let stored = state.items[identity.id] {
      if identity.revision < stored.revision { return .refused(.conflict) }
      if identity.revision > stored.revision {
        state.items[identity.id] = item
        state.items[identity.id]?.isHidden = stored.isHidden
      } else if stored.crc != crc {
        return .refused(.conflict)
      }
      if stored.isHidden { messages.append(gone(.expired, id: identity.id, source: key)) }
    } else {
      let reason = state.gone[identity.id] ?? .dismissed
      state.gone[identity.id] = reason
      messages.append(gone(reason, id: identity.id, source: key))
    }
    return .accepted
  }

  private mutating func applyPlain(_ notification: DisplayNotification) -> HostResult {
    if let error = nextError {
      nextError = nil
      return .refused(error)
    }
    guard !isFull else { return .refused(.insufficientResources) }
    plain.append(notification)
    return .accepted
  }

  private var isFull: Bool {
    plain.count + sources.values.reduce(0) { $0 + $1.items.count } >= capacity
  }

  private func victim(below level: NotificationDetails.Level) -> (UInt32, UInt32)? {
    guard evicts else { return nil }
    let candidates = sources.flatMap { source, state in
      state.items.filter { !$0.value.isHidden && $0.value.notification.details.level < level }
        .map { (source, $0.key, $0.value.notification.details.level) }
    }
    return candidates.min { ($0.2, $0.1, $0.0) < ($1.2, $1.1, $1.0) }.map { ($0.0, $0.1) }
  }

  private func gone(_ reason: GoneReason, id: UInt32, source: UInt32? = nil) -> Message {
    .event(.gone(reason, NotificationKey(source: source ?? self.source, id: id), item: 0))
  }

  private mutating func countMessage() -> [Message] {
    let now = UInt16(shown.count)
    guard now != count else { return [] }
    count = now
    return [.count(now)]
  }
}

/// A message of channel 0: host and device compare what is on the display. Source: PROTOCOL.md
/// NTF-30.
package enum SyncMessage: Hashable, Sendable {
  /// The host sends what it believes the device holds.
  case sync(SyncRequest)
  /// The device sends what it holds.
  case synced(SyncAnswer)
  /// The device dropped an event; the host should sync.
  case resync
  /// A notification is gone, and its event does not fit in a notification of Data.
  case gone(GoneReason, NotificationKey)
  /// ACTION: a kept press. Source: PROTOCOL.md NTF-40.
  case press(KeptPress)
  /// TAKEN: the host has the kept presses of this source up to this number. Source: PROTOCOL.md
  /// NTF-41.
  case taken(source: UInt32, press: UInt32)

  /// Reads a message; bytes beyond its format are ignored (LNK-3).
  package init(parsing payload: [UInt8]) throws(WireError) {
    switch payload.first {
    case 1: self = .sync(try SyncRequest(parsing: payload))
    case 2: self = .synced(try SyncAnswer(parsing: payload))
    case 3: self = .resync
    case 4:
      guard let source = payload.littleEndian(at: 2, as: UInt32.self),
        let id = payload.littleEndian(at: 6, as: UInt32.self)
      else { throw WireError.tooShort(expectedBytes: 10, actualBytes: payload.count) }
      guard let reason = GoneReason(rawValue: payload[1]) else {
        throw WireError.badField(name: "reason", value: Int(payload[1]))
      }
      guard source != 0 else { throw WireError.badField(name: "src", value: 0) }
      guard id != 0 else { throw WireError.badField(name: "id", value: 0) }
      self = .gone(reason, NotificationKey(source: source, id: id))
    case 5: self = .press(try KeptPress(parsing: payload))
    case 6:
      guard let source = payload.littleEndian(at: 1, as: UInt32.self),
        let press = payload.littleEndian(at: 5, as: UInt32.self)
      else { throw WireError.tooShort(expectedBytes: 9, actualBytes: payload.count) }
      guard source != 0 else { throw WireError.badField(name: "src", value: 0) }
      guard press != 0 else { throw WireError.badField(name: "press", value: 0) }
      self = .taken(source: source, press: press)
    case let kind?: throw WireError.badField(name: "kind", value: Int(kind))
    case nil: throw WireError.tooShort(expectedBytes: 1, actualBytes: 0)
    }
  }

  /// The payload's bytes.
  package func encoded() -> [UInt8] {
    var payload: [UInt8] = []
    switch self {
    case .sync(let request):
      payload.append(1)
      payload.appendLittleEndian(request.source)
      payload.appendLittleEndian(request.knownID)
      payload.append(request.holdings)
    case .synced(let answer):
      payload.append(2)
      payload.appendLittleEndian(answer.source)
      payload.append(answer.holdings)
      payload.appendLittleEndian(answer.highestID)
      payload.appendLittleEndian(answer.capacity)
      payload.appendLittleEndian(answer.bootID)
    case .resync: payload.append(3)
    case .gone(let reason, let key):
      payload += [4, reason.rawValue]
      payload.appendLittleEndian(key.source)
      payload.appendLittleEndian(key.id)
    case .press(let press):
      payload += [5, press.act]
      payload.appendLittleEndian(press.key.source)
      payload.appendLittleEndian(press.key.id)
      payload.appendLittleEndian(press.revision)
      payload.appendLittleEndian(press.number)
    case .taken(let source, let press):
      payload.append(6)
      payload.appendLittleEndian(source)
      payload.appendLittleEndian(press)
    }
    return payload
  }
}

/// Identifies a notification among those of all writers. Source: PROTOCOL.md NTF-21.
package struct NotificationKey: Hashable, Sendable {
  /// The writer, never 0.
  package var source: UInt32
  /// The writer's number for it, from 1.
  package var id: UInt32

  package init(source: UInt32, id: UInt32) {
    self.source = source
    self.id = id
  }
}

/// Why a notification left the display without a request of its writer. Source: PROTOCOL.md NTF-26.
package enum GoneReason: UInt8, Hashable, Sendable, CaseIterable {
  case dismissed = 1
  case evicted = 2
  case expired = 3

  /// The spelling in an event.
  package var name: String {
    switch self {
    case .dismissed: "dismissed"
    case .evicted: "evicted"
    case .expired: "expired"
    }
  }
}

/// SYNC. Source: PROTOCOL.md NTF-30.
package struct SyncRequest: Hashable, Sendable {
  package var source: UInt32
  /// The highest id whose write succeeded; 0 if there is none.
  package var knownID: UInt32
  /// What the host believes the device holds.
  package var holdings: Holdings

  package init(source: UInt32, knownID: UInt32, holdings: Holdings) {
    self.source = source
    self.knownID = knownID
    self.holdings = holdings
  }

  fileprivate init(parsing payload: [UInt8]) throws(WireError) {
    guard let source = payload.littleEndian(at: 1, as: UInt32.self),
      let knownID = payload.littleEndian(at: 5, as: UInt32.self),
      let holdings = payload.holdings(at: 9)
    else { throw WireError.tooShort(expectedBytes: 19, actualBytes: payload.count) }
    guard source != 0 else { throw WireError.badField(name: "src", value: 0) }
    self.init(source: source, knownID: knownID, holdings: holdings)
  }
}

/// SYNCED. Source: PROTOCOL.md NTF-30.
package struct SyncAnswer: Hashable, Sendable {
  package var source: UInt32
  /// What the device holds of this source.
  package var holdings: Holdings
  /// hwm: the highest id applied since boot; 0 if there is none.
  package var highestID: UInt32
  /// Capacity of the store, in notifications.
  package var capacity: UInt16
  package var bootID: UInt32

  package init(source: UInt32, holdings: Holdings, highestID: UInt32, capacity: UInt16, bootID: UInt32) {
    self.source = source
    self.holdings = holdings
    self.highestID = highestID
    self.capacity = capacity
    self.bootID = bootID
  }

  fileprivate init(parsing payload: [UInt8]) throws(WireError) {
    guard let source = payload.littleEndian(at: 1, as: UInt32.self),
      let holdings = payload.holdings(at: 5),
      let highestID = payload.littleEndian(at: 15, as: UInt32.self),
      let capacity = payload.littleEndian(at: 19, as: UInt16.self),
      let bootID = payload.littleEndian(at: 21, as: UInt32.self)
    else { throw WireError.tooShort(expectedBytes: 25, actualBytes: payload.count) }
    self.init(source: source, holdings: holdings, highestID: highestID, capacity: capacity, bootID: bootID)
  }
}

extension [UInt8] {
  fileprivate func holdings(at offset: Int) -> Holdings? {
    guard let count = littleEndian(at: offset, as: UInt16.self),
      let digest = littleEndian(at: offset + 2, as: UInt64.self)
    else { return nil }
    return Holdings(count: count, digest: digest)
  }

  fileprivate mutating func append(_ holdings: Holdings) {
    appendLittleEndian(holdings.count)
    appendLittleEndian(holdings.digest)
  }
}

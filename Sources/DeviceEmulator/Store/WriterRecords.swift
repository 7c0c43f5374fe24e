package import NotibotProtocol

/// The state of a writer since boot. Source: PROTOCOL.md NTF-22.
package struct WriterRecord: Equatable, Sendable {
  package let source: UInt32
  /// hwm: the highest id applied; 0 if there is none.
  package var highestID: UInt32 = 0
  /// n and digest. Source: PROTOCOL.md NTF-32.
  package var holdings = Holdings()
  /// The item numbers of its stored notifications, by id.
  var items: [UInt32: Int] = [:]
  /// Whether presses of its notifications are kept. Source: PROTOCOL.md NTF-39.
  var keepsActions = false

  init(source: UInt32) {
    self.source = source
  }
}

/// The writers that the device knows, the one that wrote or synced least recently first. Source:
/// PROTOCOL.md NTF-22.
///
/// An array, because it is short and its order matters; lookups by id within a writer take constant
/// time.
package struct WriterRecords: Equatable, Sendable {
  /// The minimum number of writers that a device keeps. Source: PROTOCOL.md NTF-22.
  package static let limit = 4

  /// The maximum number of known writers; beyond it the first is forgotten. Source: PROTOCOL.md
  /// NTF-22.
  let limit: Int
  private(set) package var records: [WriterRecord] = []

  /// - Parameter limit: the maximum number of known writers; 1 or more.
  init(limit: Int = Self.limit) {
    self.limit = limit
  }

  /// hwm of a writer; `nil` if it is not known.
  package func highestID(of source: UInt32) -> UInt32? {
    index(of: source).map { records[$0].highestID }
  }

  /// n and digest of a writer; empty if it is not known.
  package func holdings(of source: UInt32) -> Holdings {
    index(of: source).map { records[$0].holdings } ?? Holdings()
  }

  /// Whether presses of a writer's notifications are kept. Source: PROTOCOL.md NTF-39.
  func keepsActions(of source: UInt32) -> Bool {
    index(of: source).map { records[$0].keepsActions } ?? false
  }

  mutating func setKeepsActions(_ keepsActions: Bool, of source: UInt32) {
    if let index = index(of: source) { records[index].keepsActions = keepsActions }
  }

  /// The number of a stored notification.
  func item(of key: NotificationKey) -> Int? {
    index(of: key.source).flatMap { records[$0].items[key.id] }
  }

  /// The writer that must be forgotten before `source` is known; `nil` if there is room or it is
  /// already known.
  func victim(for source: UInt32) -> UInt32? {
    records.count < limit || index(of: source) != nil ? nil : records[0].source
  }

  /// Whether a writer has notifications that are stored individually.
  func hasItems(_ source: UInt32) -> Bool {
    index(of: source).map { !records[$0].items.isEmpty } ?? false
  }

  /// Notes that a writer wrote or synced. The caller has made room for a new one; otherwise nothing
  /// changes.
  mutating func use(_ source: UInt32) {
    guard let index = index(of: source) else {
      if records.count < limit { records.append(WriterRecord(source: source)) }
      return
    }
    records.append(records.remove(at: index))
  }

  mutating func forget(_ source: UInt32) {
    records.removeAll { $0.source == source }
  }

  mutating func insert(_ identity: StoredIdentity, item: Int) {
    guard let index = index(of: identity.key.source) else { return }
    records[index].items[identity.key.id] = item
    records[index].holdings.insert(id: identity.key.id, crc: identity.crc)
    records[index].highestID = max(records[index].highestID, identity.key.id)
  }

  mutating func remove(_ identity: StoredIdentity) {
    guard let index = index(of: identity.key.source) else { return }
    records[index].items[identity.key.id] = nil
    records[index].holdings.remove(id: identity.key.id, crc: identity.crc)
  }

  /// Forgets the item of a notification, which stays in n and digest.
  mutating func forgetItem(of key: NotificationKey) {
    guard let index = index(of: key.source) else { return }
    records[index].items[key.id] = nil
  }

  private func index(of source: UInt32) -> Int? {
    // The latest writer is usually the next one too.
    records.lastIndex { $0.source == source }
  }
}

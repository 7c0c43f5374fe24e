import NotibotProtocol

/// The entries of an outbox by number and by id, and the sets derived from them: queued entries,
/// and the expected content of the device.
struct OutboxEntries: Equatable, Sendable {
  private var entries: [OutboxNumber: Indirect<OutboxEntry>] = [:]
  /// The entries that have an id on the wire.
  private(set) var numbers: [UInt32: OutboxNumber] = [:]
  /// The *queued* ones.
  private(set) var queue = OutboxQueue()
  /// The *held* ones that have no id, for a device without identities.
  private(set) var replayable = OutboxQueue()
  /// Entries that are certainly on the device: *held*, and *removing* whose removal was not written
  /// yet.
  private(set) var holdings = Holdings()
  /// The times of the *queued* ones that expire. The first is always that of one.
  private var expiries = OutboxExpiries()
  /// Entries with something still to be sent to the device.
  private(set) var unfinishedCount = 0
  /// The *refused* ones.
  private(set) var refusedCount = 0
  /// CRC-32 of the JSON of the *removing* entries that are certainly on the device, by id.
  private var unsentRemovals: [UInt32: UInt32] = [:]

  init(_ entries: [OutboxEntry]) {
    for entry in entries { put(entry) }
  }

  var count: Int { entries.count }

  subscript(number: OutboxNumber) -> OutboxEntry? { entries[number]?.value }

  /// The entries that have an id on the wire, in the order of their ids.
  var identified: [(id: UInt32, entry: OutboxEntry)] {
    numbers.keys.sorted().compactMap { id in numbers[id].flatMap { self[$0] }.map { (id, $0) } }
  }

  /// All entries, in the order of their numbers.
  var sorted: [OutboxEntry] { entries.values.map(\.value).sorted { $0.number < $1.number } }

  // MARK: Changes

  /// Adds an entry, or replaces the one of its number.
  mutating func put(_ entry: OutboxEntry) {
    if let old = self[entry.number] {
      if case .held(let write) = old.state, case .removing(id: write.id) = entry.state, write.id != 0 {
        // It is on the device until the removal is written.
        unsentRemovals[write.id] = CRC32.checksum(write.json)
        holdings.insert(id: write.id, crc: CRC32.checksum(write.json))
        removeProperties(of: old)
      } else if case .removing(let id) = old.state, old.state == entry.state, let crc = unsentRemovals[id] {
        removeProperties(of: old)
        unsentRemovals[id] = crc
        holdings.insert(id: id, crc: crc)
      } else {
        removeProperties(of: old)
      }
    }
    entries[entry.number] = .value(entry)
    addProperties(of: entry)
    cleanExpiries()
  }

  /// Removes an entry, if it is present.
  mutating func remove(_ number: OutboxNumber) {
    guard let old = entries.removeValue(forKey: number)?.value else { return }
    removeProperties(of: old)
    cleanExpiries()
  }

  /// The removal of `id` was written, or the device reported it as gone: it is no longer certainly
  /// on the device.
  mutating func markRemovalSent(of id: UInt32) {
    guard let crc = unsentRemovals.removeValue(forKey: id) else { return }
    holdings.remove(id: id, crc: crc)
  }

  private mutating func cleanExpiries() {
    while let first = expiries.first, !isQueued(first) { expiries.removeFirst() }
    guard expiries.needsCleaning(queuedCount: queue.count) else { return }
    var expiries = expiries
    expiries.clean { isQueued($0) }
    self.expiries = expiries
  }

  private func isQueued(_ item: OutboxExpiries.Item) -> Bool {
    guard let entry = self[item.number], case .queued = entry.state else { return false }
    return entry.content.details.expires == item.expires
  }

  // MARK: Queries

  /// The *queued* entry that expires next, and when.
  var nextExpiry: OutboxExpiries.Item? { expiries.first }

  /// Whether the device's state of this entry is unknown.
  func isUncertain(_ entry: OutboxEntry) -> Bool {
    switch entry.state {
    case .queued, .held, .refused: false
    case .written, .updating: true
    case .removing(let id): unsentRemovals[id] == nil
    }
  }

  /// The highest id that is certainly on the device, unless it has restarted; 0: none.
  var highestHeldID: UInt32 {
    var highest: UInt32 = 0
    for (id, number) in numbers {
      switch self[number]?.state {
      case .held, .updating: highest = max(highest, id)
      case .removing where unsentRemovals[id] != nil: highest = max(highest, id)
      case .removing, .queued, .written, .refused, nil: break
      }
    }
    return highest
  }

  // MARK: Properties of an entry

  private mutating func addProperties(of entry: OutboxEntry) {
    if Self.isUnfinished(entry) { unfinishedCount += 1 }
    if let id = entry.wireID { numbers[id] = entry.number }
    switch entry.state {
    case .queued:
      queue.insert(entry.number, level: entry.content.details.level)
      if let expires = entry.content.details.expires {
        expiries.insert(OutboxExpiries.Item(expires: expires, number: entry.number))
      }
    case .held(let write) where write.id == 0: replayable.insert(entry.number, level: .active)
    case .held(let write): holdings.insert(id: write.id, crc: CRC32.checksum(write.json))
    case .refused: refusedCount += 1
    case .written, .updating, .removing: break
    }
  }

  private mutating func removeProperties(of entry: OutboxEntry) {
    if Self.isUnfinished(entry) { unfinishedCount -= 1 }
    if let id = entry.wireID, numbers[id] == entry.number { numbers[id] = nil }
    switch entry.state {
    case .queued: queue.remove(entry.number, level: entry.content.details.level)
    case .held(let write) where write.id == 0: replayable.remove(entry.number, level: .active)
    case .held(let write): holdings.remove(id: write.id, crc: CRC32.checksum(write.json))
    case .removing(let id): markRemovalSent(of: id)
    case .refused: refusedCount -= 1
    case .written, .updating: break
    }
  }

  private static func isUnfinished(_ entry: OutboxEntry) -> Bool {
    switch entry.state {
    case .queued, .written, .updating, .removing: true
    case .held: entry.hasNewerContent
    case .refused: false
    }
  }
}

extension OutboxEntry {
  /// Its number on the wire; `nil`: it has none.
  var wireID: UInt32? {
    let id: UInt32 =
      switch state {
      case .queued, .refused: 0
      case .written(let write), .held(let write), .updating(let write, _): write.id
      case .removing(let id): id
      }
    return id == 0 ? nil : id
  }
}

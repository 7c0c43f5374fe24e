import NotibotProtocol

/// The commits that an outbox makes for notifications, as a benchmark of the journal: each is
/// queued, written, held and gone, in batches that share a commit.
package struct JournalLoad: Sendable {
  /// Commits for each batch.
  package static let commitsPerBatch = 4

  /// Notifications, 1 or more.
  package let count: Int
  /// Notifications that share a commit, 1 or more.
  package let batchSize: Int
  /// Whether each has a key.
  package let hasKeys: Bool

  private let content: DisplayNotification
  private let json: [UInt8]

  /// - Parameter textBytes: length of each text, 0 to 400.
  package init(count: Int, batchSize: Int, textBytes: Int = 48, hasKeys: Bool = false) {
    self.hasKeys = hasKeys
    self.count = count
    self.batchSize = batchSize
    content = DisplayNotification(
      app: "Messages", title: "Jane Doe", text: String(repeating: "x", count: textBytes),
      timestamp: 1_234_567_890)
    json = WrittenNotification(notification: content, identity: NotificationIdentity(id: .max)).encoded()
  }

  /// Runs all of them through `journal`, which must be open for sending and empty, and leaves
  /// nothing but the keys in it.
  package func run(through journal: Journal) throws(JournalError) {
    var header = try journal.contents().header
    for start in stride(from: 0, to: count, by: batchSize) {
      let ids = UInt32(start + 1)...UInt32(min(count, start + batchSize))
      header.lastNumber = OutboxNumber(rawValue: Int64(ids.upperBound))
      let keys = hasKeys ? ids.compactMap(key).map(JournalChange.putKey) : []
      try journal.apply(ids.map { .put(entry($0, .queued)) } + keys + [.header(header)])
      header.lastID = ids.upperBound
      try journal.apply(ids.map { .put(entry($0, .written(write($0)))) } + [.header(header)])
      header.knownID = ids.upperBound
      try journal.apply(ids.map { .put(entry($0, .held(write($0)))) } + [.header(header)])
      try journal.apply(ids.map { .delete(OutboxNumber(rawValue: Int64($0))) })
    }
  }

  /// A key like a UUID.
  private func key(_ id: UInt32) -> KeyRecord? {
    IdempotencyKey("2c1f9a3e-7b64-4d0a-9d58-\(1_000_000_000 + UInt64(id))").map {
      KeyRecord(
        row: Int64(id), key: $0, number: OutboxNumber(rawValue: Int64(id)), digest: Int64(id),
        submittedAt: 1_800_000_000, keepUntil: 1_800_086_400)
    }
  }

  private func entry(_ id: UInt32, _ state: OutboxEntry.State) -> OutboxEntry {
    OutboxEntry(number: OutboxNumber(rawValue: Int64(id)), content: content, state: state)
  }

  private func write(_ id: UInt32) -> OutboxWrite {
    OutboxWrite(id: id, revision: 0, json: json)
  }
}

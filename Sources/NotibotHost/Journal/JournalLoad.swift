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

  private let content: DisplayNotification
  private let json: [UInt8]

  /// - Parameter textBytes: length of each text, 0 to 400.
  package init(count: Int, batchSize: Int, textBytes: Int = 48) {
    self.count = count
    self.batchSize = batchSize
    content = DisplayNotification(
      app: "Messages", title: "Jane Doe", text: String(repeating: "x", count: textBytes),
      timestamp: 1_234_567_890)
    json = WrittenNotification(notification: content, identity: NotificationIdentity(id: .max)).encoded()
  }

  /// Runs all of them through `journal`, which must be open for sending and empty, and leaves it
  /// empty.
  package func run(through journal: Journal) throws(JournalError) {
    var header = try journal.contents().header
    for start in stride(from: 0, to: count, by: batchSize) {
      let ids = UInt32(start + 1)...UInt32(min(count, start + batchSize))
      header.lastNumber = OutboxNumber(rawValue: Int64(ids.upperBound))
      try journal.apply(ids.map { .put(entry($0, .queued)) } + [.header(header)])
      header.lastID = ids.upperBound
      try journal.apply(ids.map { .put(entry($0, .written(write($0)))) } + [.header(header)])
      header.knownID = ids.upperBound
      try journal.apply(ids.map { .put(entry($0, .held(write($0)))) } + [.header(header)])
      try journal.apply(ids.map { .delete(OutboxNumber(rawValue: Int64($0))) })
    }
  }

  private func entry(_ id: UInt32, _ state: OutboxEntry.State) -> OutboxEntry {
    OutboxEntry(number: OutboxNumber(rawValue: Int64(id)), content: content, state: state)
  }

  private func write(_ id: UInt32) -> OutboxWrite {
    OutboxWrite(id: id, revision: 0, json: json)
  }
}

import DequeModule
import NotibotProtocol

/// The remembered keys of accepted submissions, oldest first.
///
/// A key is forgotten when its time is over and its notification has left the outbox, the oldest
/// first. Until then a submission with it is a repetition. Source: docs/JOURNAL.md, Keys.
struct OutboxKeys: Equatable, Sendable {
  /// Keys that one new key makes the outbox forget, at most: a commit stays short.
  static let forgottenLimit = 16

  private var records: [IdempotencyKey: Indirect<KeyRecord>] = [:]
  /// All except the lingering ones, in the order of their rows.
  private var aging = Deque<IdempotencyKey>()
  /// Those whose time is over, of notifications that are still in the outbox.
  private var lingering: [OutboxNumber: [KeyRecord]] = [:]
  private var lastRow: Int64 = 0

  init(_ records: [KeyRecord]) {
    for record in records { insert(record) }
  }

  var count: Int { records.count }

  subscript(key: IdempotencyKey) -> KeyRecord? { records[key]?.value }

  /// Remembers a key that is not known; `seconds` is the time of day.
  mutating func add(
    _ key: IdempotencyKey, of number: OutboxNumber, digest: Int64, at seconds: Int64, keptFor retention: Int64
  ) -> KeyRecord {
    let (end, overflows) = seconds.addingReportingOverflow(retention)
    let record = KeyRecord(
      row: lastRow + 1, key: key, number: number, digest: digest, submittedAt: seconds,
      keepUntil: overflows ? .max : end)
    insert(record)
    return record
  }

  private mutating func insert(_ record: KeyRecord) {
    records[record.key] = .value(record)
    aging.append(record.key)
    lastRow = max(lastRow, record.row)
  }

  /// Forgets the oldest keys whose time is over; returns their rows. The time of a key that lasts
  /// longer than `retention` is brought back: the clock was set back since.
  /// - Parameter mustStay: whether the notification of this number is in the outbox, or was a
  ///   moment ago.
  mutating func forget(
    at seconds: Int64, keptFor retention: Int64, unless mustStay: (OutboxNumber) -> Bool
  ) -> [Int64] {
    var rows: [Int64] = []
    for _ in 0..<Self.forgottenLimit {
      guard let key = aging.first, let oldest = self[key] else { break }
      if oldest.keepUntil - seconds > retention {
        records[key] = .value(oldest.kept(until: seconds + retention))
        aging.append(aging.removeFirst())
        continue
      }
      guard seconds >= oldest.keepUntil else { break }
      aging.removeFirst()
      if mustStay(oldest.number) {
        lingering[oldest.number, default: []].append(oldest)
      } else {
        records[oldest.key] = nil
        rows.append(oldest.row)
      }
    }
    return rows
  }

  /// A notification has left the outbox: forgets its keys whose time is over; returns their rows.
  mutating func handleGone(_ number: OutboxNumber) -> [Int64] {
    guard let left = lingering.removeValue(forKey: number) else { return [] }
    for record in left { records[record.key] = nil }
    return left.map(\.row)
  }
}

extension OutboxSubmission {
  /// FNV-1a, 64 bits, over the kind of the submission, its number and its content: it detects a
  /// repeated key with other content by mistake, not by intent.
  var digest: Int64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ bytes: some Sequence<UInt8>) {
      // Wrap-around is the rule of this hash.
      for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }
    func add(_ number: Int64) {
      var bytes: [UInt8] = []
      bytes.appendLittleEndian(number)
      add(bytes)
    }
    func add(_ text: String) {
      add(Int64(text.utf8.count))
      add(text.utf8)
    }
    func add(_ content: DisplayNotification) {
      for text in [content.app, content.title, content.text, content.details.group] { add(text) }
      add(Int64(content.timestamp))
      add(Int64(content.details.level.rawValue))
      add(Int64(content.details.category))
      add(Int64(content.details.flags))
      add(content.details.expires.map { Int64($0) } ?? -1)
      for action in content.details.actions { add(action) }
    }
    switch self {
    case .add(let content):
      add(1)
      add(content)
    case .update(let number, let content):
      add(2)
      add(number.rawValue)
      add(content)
    case .remove(let number):
      add(3)
      add(number.rawValue)
    }
    return Int64(bitPattern: hash)
  }
}

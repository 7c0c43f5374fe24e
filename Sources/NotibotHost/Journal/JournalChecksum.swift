import GRDB
import NotibotProtocol

/// The checksum of a row: CRC-32 over its columns but the last, which holds it.
///
/// Each column is one byte for its type (0 NULL, 1 integer, 2 text, 3 blob, 4 anything else), then
/// 8 bytes: the integer, or the length of the text or blob, whose bytes follow. Numbers are
/// little-endian. An empty blob counts as NULL, because SQLite stores it as NULL.
enum JournalChecksum {
  /// The checksum of a row's columns, without the one that holds it.
  static func of(_ columns: some Sequence<DatabaseValue>) -> UInt32 {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(1024)
    for column in columns { append(column, to: &bytes) }
    return CRC32.checksum(bytes)
  }

  /// Whether the last of a row's columns is the checksum of the others.
  static func isValid(_ columns: [DatabaseValue]) -> Bool {
    stored(in: columns).map { $0 == of(columns.dropLast()) } ?? false
  }

  /// The last of a row's columns; nil if it cannot be a checksum.
  static func stored(in columns: [DatabaseValue]) -> UInt32? {
    guard case .int64(let stored)? = columns.last?.storage else { return nil }
    return UInt32(exactly: stored)
  }

  private static func append(_ column: DatabaseValue, to bytes: inout [UInt8]) {
    switch column.storage {
    case .null: bytes.append(0)
    case .int64(let number):
      bytes.append(1)
      bytes.appendLittleEndian(number)
    case .string(let text):
      bytes.append(2)
      bytes.appendLittleEndian(Int64(text.utf8.count))
      bytes.append(contentsOf: text.utf8)
    case .blob(let data) where data.isEmpty: bytes.append(0)
    case .blob(let data):
      bytes.append(3)
      bytes.appendLittleEndian(Int64(data.count))
      bytes.append(contentsOf: data)
    case .double(let number):
      bytes.append(4)
      bytes.appendLittleEndian(number.bitPattern)
    }
  }
}

/// The totals of one table, which detect a missing or duplicate row and one from an older commit.
struct TableTotals: Hashable {
  /// How many rows it has.
  var rows: Int64 = 0
  /// The sum of their checksums.
  var digest: Int64 = 0

  /// Adds a row that was read, with the checksum that it was found to have.
  mutating func add(_ columns: [DatabaseValue]) {
    if let stored = JournalChecksum.stored(in: columns) { add(stored) }
  }

  mutating func add(_ checksum: UInt32) {
    rows += 1
    // Wrap-around is the rule of this sum; its first value can come from a corrupt file.
    digest &+= Int64(checksum)
  }

  mutating func remove(_ checksum: UInt32) {
    rows -= 1
    digest &-= Int64(checksum)
  }
}

/// The totals in `writer`.
struct JournalTotals: Hashable {
  /// Their columns, in order; those of version 3 are the first two.
  static let names = ["entries", "digest", "keys", "keys_digest", "presses", "presses_digest"]

  /// Commits of this program since the file was created.
  var commits: Int64 = 0
  /// Those of `notification`.
  var notifications = TableTotals()
  /// Those of `intake`.
  var keys = TableTotals()
  /// Those of `press`.
  var presses = TableTotals()

  /// Whether all rows of the tables are the same, after any number of commits.
  func hasSameRows(as other: JournalTotals) -> Bool { values == other.values }

  /// The values of `names`.
  var values: [Int64] {
    [notifications, keys, presses].flatMap { [$0.rows, $0.digest] }
  }
}

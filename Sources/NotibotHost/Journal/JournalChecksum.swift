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
    guard case .int64(let stored)? = columns.last?.storage else { return false }
    return stored == Int64(of(columns.dropLast()))
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
  static let names = ["entries", "digest", "keys", "keys_digest"]

  /// Commits of this program since the file was created.
  var commits: Int64 = 0
  /// Those of `notification`.
  var notifications = TableTotals()
  /// Those of `intake`.
  var keys = TableTotals()

  /// The values of `names`.
  var values: [Int64] { [notifications.rows, notifications.digest, keys.rows, keys.digest] }
}

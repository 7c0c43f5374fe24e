import Foundation
import GRDB
import NotibotProtocol

// The keys of accepted submissions.
extension JournalRows {
  /// The columns of `intake`.
  static let intakeColumnsCount = 8
  private static let intakeNames = "row, key, number, digest, at, keep_until, at_commit, crc"
  private static let putKeySQL = """
    REPLACE INTO intake (\(intakeNames))
    VALUES (\(Array(repeating: "?", count: intakeColumnsCount).joined(separator: ", ")))
    """

  /// All rows, in their order. Throws if they are not the expected ones.
  static func keys(of database: Database, expected: TableTotals) throws -> [KeyRecord] {
    let statement = try database.cachedStatement(sql: "SELECT \(intakeNames) FROM intake ORDER BY row")
    var records: [KeyRecord] = []
    var totals = TableTotals()
    let rows = try Row.fetchCursor(statement)
    while let row = try rows.next() {
      let values = Array(row.databaseValues)
      records.append(try key(of: values))
      totals.add(JournalChecksum.of(values.dropLast()))
    }
    guard totals == expected else {
      throw BadContents(kind: "keys", found: totals.rows, expected: expected.rows)
    }
    return records
  }

  /// The record in the columns of a row, whose checksum must be right.
  static func key(of columns: [DatabaseValue]) throws -> KeyRecord {
    var number: Int64 = 0
    if case .int64(let stored)? = columns.first?.storage { number = stored }
    let row = CheckedRow(values: columns, name: "intake \(number)")
    guard JournalChecksum.isValid(columns) else { throw row.bad("crc") }
    guard let key = IdempotencyKey(try row.bytes(1, "key")) else { throw row.bad("key") }
    return KeyRecord(
      row: try row.number(0, "row", in: 1...Int64.max), key: key,
      number: OutboxNumber(rawValue: try row.number(2, "number", in: 1...Int64.max)),
      digest: try row.number(3, "digest"), submittedAt: try row.number(4, "at"),
      keepUntil: try row.number(5, "keep_until"))
  }

  static func put(_ record: KeyRecord, in database: Database, _ totals: inout JournalTotals) throws {
    try forgetKey(record.row, in: database, &totals)
    var columns: [DatabaseValue] = [
      record.row.databaseValue, Data(record.key.bytes).databaseValue,
      record.number.rawValue.databaseValue, record.digest.databaseValue,
      record.submittedAt.databaseValue, record.keepUntil.databaseValue, totals.commits.databaseValue,
    ]
    let checksum = JournalChecksum.of(columns)
    columns.append(Int64(checksum).databaseValue)
    totals.keys.add(checksum)
    let statement = try database.cachedStatement(sql: putKeySQL)
    statement.setUncheckedArguments(StatementArguments(columns))
    try statement.execute()
  }

  static func deleteKey(_ row: Int64, in database: Database, _ totals: inout JournalTotals) throws {
    try forgetKey(row, in: database, &totals)
    let statement = try database.cachedStatement(sql: "DELETE FROM intake WHERE row = ?")
    statement.setUncheckedArguments([row])
    try statement.execute()
  }

  /// Subtracts a stored row from the totals.
  private static func forgetKey(
    _ row: Int64, in database: Database, _ totals: inout JournalTotals
  ) throws {
    let statement = try database.cachedStatement(sql: "SELECT crc FROM intake WHERE row = ?")
    statement.setUncheckedArguments([row])
    guard let stored = try Int64.fetchOne(statement) else { return }
    guard let checksum = UInt32(exactly: stored) else { throw BadRow(row: "intake \(row)", column: "crc") }
    totals.keys.remove(checksum)
  }
}

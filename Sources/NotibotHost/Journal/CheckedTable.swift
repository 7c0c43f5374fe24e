import GRDB
import SerialLink

/// A table whose rows end with the commit that wrote them and a checksum over the columns before
/// it. `JournalTotals` has their number and sum, so that a missing or an old row is noticed.
struct CheckedTable: Sendable {
  /// As in the schema.
  let name: String
  /// What its rows are, in the plural.
  let kind: String
  /// All columns; the first is the key, the last two are `at_commit` and `crc`.
  let columns: [String]
  /// The columns that give the rows their order.
  let order: String

  private var columnNames: String { columns.joined(separator: ", ") }

  /// All rows, in their order; `record` checks them. Throws if they are not the expected ones.
  func rows<Record>(
    of database: Database, expected: TableTotals, record: ([DatabaseValue]) throws -> Record
  ) throws -> [Record] {
    let statement = try database.cachedStatement(sql: "SELECT \(columnNames) FROM \(name) ORDER BY \(order)")
    var records: [Record] = []
    var totals = TableTotals()
    let rows = try Row.fetchCursor(statement)
    while let row = try rows.next() {
      let values = Array(row.databaseValues)
      records.append(try record(values))
      totals.add(values)
    }
    guard totals == expected else {
      throw Failure(kind: kind, found: totals.rows, expected: expected.rows)
    }
    return records
  }

  /// The columns of a row, whose checksum must be right.
  func checked(_ columns: [DatabaseValue]) throws -> CheckedRow {
    var key: Int64 = 0
    if case .int64(let stored)? = columns.first?.storage { key = stored }
    let row = CheckedRow(values: columns, name: "\(name) \(key)")
    guard JournalChecksum.isValid(columns) else { throw row.bad("crc") }
    return row
  }

  /// Inserts or replaces a row: the columns before `at_commit`.
  func put(
    _ values: [DatabaseValue], key: Int64, commit: Int64, in database: Database, _ totals: inout TableTotals
  ) throws {
    try forget(key, in: database, &totals)
    var values = values + [commit.databaseValue]
    let checksum = JournalChecksum.of(values)
    values.append(Int64(checksum).databaseValue)
    totals.add(checksum)
    let places = Array(repeating: "?", count: columns.count).joined(separator: ", ")
    let statement = try database.cachedStatement(
      sql: "REPLACE INTO \(name) (\(columnNames)) VALUES (\(places))")
    statement.setUncheckedArguments(StatementArguments(values))
    try statement.execute()
  }

  func delete(_ key: Int64, in database: Database, _ totals: inout TableTotals) throws {
    try forget(key, in: database, &totals)
    let statement = try database.cachedStatement(sql: "DELETE FROM \(name) WHERE \(columns[0]) = ?")
    statement.setUncheckedArguments([key])
    try statement.execute()
  }

  /// Subtracts a stored row from the totals.
  private func forget(_ key: Int64, in database: Database, _ totals: inout TableTotals) throws {
    let statement = try database.cachedStatement(sql: "SELECT crc FROM \(name) WHERE \(columns[0]) = ?")
    statement.setUncheckedArguments([key])
    guard let stored = try Int64.fetchOne(statement) else { return }
    guard let checksum = UInt32(exactly: stored) else {
      throw Failure(row: "\(name) \(key)", column: "crc")
    }
    totals.remove(checksum)
  }
}

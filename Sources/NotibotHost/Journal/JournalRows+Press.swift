import GRDB
import NotibotProtocol

// The highest taken press of each boot.
extension JournalRows {
  /// The columns of `press`.
  static let pressColumnsCount = 4
  private static let pressNames = "boot_id, press, at_commit, crc"

  /// All rows, in the order in which they were written. Throws if they are not the expected ones.
  static func presses(of database: Database, expected: TableTotals) throws -> [TakenPresses] {
    let statement = try database.cachedStatement(
      sql: "SELECT \(pressNames) FROM press ORDER BY at_commit, boot_id")
    var records: [TakenPresses] = []
    var totals = TableTotals()
    let rows = try Row.fetchCursor(statement)
    while let row = try rows.next() {
      let values = Array(row.databaseValues)
      records.append(try presses(of: values))
      totals.add(JournalChecksum.of(values.dropLast()))
    }
    guard totals == expected else {
      throw BadContents(kind: "presses", found: totals.rows, expected: expected.rows)
    }
    return records
  }

  /// The record in the columns of a row, whose checksum must be right.
  static func presses(of columns: [DatabaseValue]) throws -> TakenPresses {
    var bootID: Int64 = 0
    if case .int64(let stored)? = columns.first?.storage { bootID = stored }
    let row = CheckedRow(values: columns, name: "press \(bootID)")
    guard JournalChecksum.isValid(columns) else { throw row.bad("crc") }
    return TakenPresses(
      bootID: try row.number(0, "boot_id"), press: try row.number(1, "press", in: 1...UInt32.max))
  }

  static func put(_ record: TakenPresses, in database: Database, _ totals: inout JournalTotals) throws {
    try forgetPresses(of: record.bootID, in: database, &totals)
    var columns: [DatabaseValue] = [
      Int64(record.bootID).databaseValue, Int64(record.press).databaseValue,
      totals.commits.databaseValue,
    ]
    let checksum = JournalChecksum.of(columns)
    columns.append(Int64(checksum).databaseValue)
    totals.presses.add(checksum)
    let statement = try database.cachedStatement(
      sql: "REPLACE INTO press (\(pressNames)) VALUES (?, ?, ?, ?)")
    statement.setUncheckedArguments(StatementArguments(columns))
    try statement.execute()
  }

  static func deletePresses(
    of bootID: UInt32, in database: Database, _ totals: inout JournalTotals
  ) throws {
    try forgetPresses(of: bootID, in: database, &totals)
    let statement = try database.cachedStatement(sql: "DELETE FROM press WHERE boot_id = ?")
    statement.setUncheckedArguments([Int64(bootID)])
    try statement.execute()
  }

  /// Subtracts a stored row from the totals.
  private static func forgetPresses(
    of bootID: UInt32, in database: Database, _ totals: inout JournalTotals
  ) throws {
    let statement = try database.cachedStatement(sql: "SELECT crc FROM press WHERE boot_id = ?")
    statement.setUncheckedArguments([Int64(bootID)])
    guard let stored = try Int64.fetchOne(statement) else { return }
    guard let checksum = UInt32(exactly: stored) else { throw BadRow(row: "press \(bootID)", column: "crc") }
    totals.presses.remove(checksum)
  }
}

import GRDB
import NotibotProtocol

// The highest taken press of each boot.
extension JournalRows {
  private static let press = CheckedTable(
    name: "press", kind: "presses", columns: ["boot_id", "press", "at_commit", "crc"],
    order: "at_commit, boot_id")
  /// The columns of `press`.
  static let pressColumnsCount = press.columns.count

  /// All rows, in the order in which they were written. Throws if they are not the expected ones.
  static func presses(of database: Database, expected: TableTotals) throws -> [TakenPresses] {
    try press.rows(of: database, expected: expected, record: presses(of:))
  }

  /// The record in the columns of a row, whose checksum must be right.
  static func presses(of columns: [DatabaseValue]) throws -> TakenPresses {
    let row = try press.checked(columns)
    return TakenPresses(
      bootID: try row.number(0, "boot_id"), press: try row.number(1, "press", in: 1...UInt32.max))
  }

  static func put(_ record: TakenPresses, in database: Database, _ totals: inout JournalTotals) throws {
    let values = [Int64(record.bootID).databaseValue, Int64(record.press).databaseValue]
    try press.put(
      values, key: Int64(record.bootID), commit: totals.commits, in: database, &totals.presses)
  }

  static func deletePresses(
    of bootID: UInt32, in database: Database, _ totals: inout JournalTotals
  ) throws {
    try press.delete(Int64(bootID), in: database, &totals.presses)
  }
}

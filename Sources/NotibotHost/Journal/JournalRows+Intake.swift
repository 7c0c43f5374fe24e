import Foundation
import GRDB
import NotibotProtocol

// The keys of accepted submissions.
extension JournalRows {
  private static let intake = CheckedTable(
    name: "intake", kind: "keys",
    columns: ["row", "key", "number", "digest", "at", "keep_until", "at_commit", "crc"], order: "row")
  /// The columns of `intake`.
  static let intakeColumnsCount = intake.columns.count

  /// All rows, in their order. Throws if they are not the expected ones.
  static func keys(of database: Database, expected: TableTotals) throws -> [KeyRecord] {
    try intake.rows(of: database, expected: expected, record: key(of:))
  }

  /// The record in the columns of a row, whose checksum must be right.
  static func key(of columns: [DatabaseValue]) throws -> KeyRecord {
    let row = try intake.checked(columns)
    guard let key = IdempotencyKey(try row.bytes(1, "key")) else { throw row.bad("key") }
    return KeyRecord(
      row: try row.number(0, "row", in: 1...Int64.max), key: key,
      number: OutboxNumber(rawValue: try row.number(2, "number", in: 1...Int64.max)),
      digest: try row.number(3, "digest"), submittedAt: try row.number(4, "at"),
      keepUntil: try row.number(5, "keep_until"))
  }

  static func put(_ record: KeyRecord, in database: Database, _ totals: inout JournalTotals) throws {
    let values: [DatabaseValue] = [
      record.row.databaseValue, Data(record.key.bytes).databaseValue,
      record.number.rawValue.databaseValue, record.digest.databaseValue,
      record.submittedAt.databaseValue, record.keepUntil.databaseValue,
    ]
    try intake.put(values, key: record.row, commit: totals.commits, in: database, &totals.keys)
  }

  static func deleteKey(_ row: Int64, in database: Database, _ totals: inout JournalTotals) throws {
    try intake.delete(row, in: database, &totals.keys)
  }
}

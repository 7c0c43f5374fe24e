import Foundation
import GRDB
import NotibotProtocol

/// Why a row is none of this program's.
struct BadRow: Error, CustomStringConvertible {
  var row: String
  var column: String

  var description: String { "\(row) has no valid '\(column)'" }
}

/// The statements that read and write a journal's rows. Each connection prepares each of them once.
enum JournalRows {
  static func apply(_ change: JournalChange, to database: Database) throws {
    switch change {
    case .header(let header): try write(header, to: database)
    case .put(let entry): try put(entry, in: database)
    case .delete(let number):
      let statement = try database.cachedStatement(sql: "DELETE FROM notification WHERE number = ?")
      statement.setUncheckedArguments([number.rawValue])
      try statement.execute()
    }
  }

  static func contents(of database: Database) throws -> JournalContents {
    // A reader brings nothing to another version, and another process may do so meanwhile.
    guard case .outbox(let version) = try JournalSchema.identity(of: database) else {
      throw BadRow(row: "PRAGMA", column: "application_id")
    }
    let header = try header(of: database, version: version)
    let told = version < 2 ? "state = 'held'" : "told"
    let statement = try database.cachedStatement(
      sql: "SELECT \(names), \(told) FROM notification ORDER BY number")
    var entries: [OutboxEntry] = []
    let rows = try Row.fetchCursor(statement)
    while let row = try rows.next() {
      entries.append(try entry(of: EntryRow(row: row, number: row[0] as Int64? ?? 0)))
    }
    return JournalContents(header: header, entries: entries)
  }

  // MARK: The writer

  private static func write(_ header: JournalHeader, to database: Database) throws {
    let statement = try database.cachedStatement(
      sql: """
        UPDATE writer SET src = ?, last_id = ?, known_id = ?, last_number = ?, run = ?, boot_id = ?, written_boot_id = ?
        WHERE row = 1
        """)
    statement.setUncheckedArguments([
      Int64(header.source), Int64(header.lastID), Int64(header.knownID), header.lastNumber.rawValue,
      Int64(header.run), header.bootID.map { Int64($0) }, header.writtenBootID.map { Int64($0) },
    ])
    try statement.execute()
  }

  private static func header(of database: Database, version: Int) throws -> JournalHeader {
    let written = version < 2 ? "boot_id" : "written_boot_id"
    let sql = "SELECT src, last_id, known_id, last_number, run, boot_id, \(written) FROM writer WHERE row = 1"
    guard let row = try Row.fetchOne(database.cachedStatement(sql: sql)) else {
      throw BadRow(row: "writer", column: "row")
    }
    let values = EntryRow(row: row, number: 0)
    return JournalHeader(
      source: try values.number(0, "src", in: 1...UInt32.max), lastID: try values.number(1, "last_id"),
      knownID: try values.number(2, "known_id"),
      lastNumber: OutboxNumber(rawValue: try values.number(3, "last_number", in: 0...Int64.max)),
      run: try values.number(4, "run"),
      bootID: try values.isNull(5) ? nil : values.number(5, "boot_id"),
      writtenBootID: try values.isNull(6) ? nil : values.number(6, "written_boot_id"))
  }

  // MARK: Notifications

  private static let names = """
    number, state, has_newer, id, rev, json, next_id, next_rev, next_json, att_error, level, app, title, text, \
    timestamp, category, grp, actions, expires, flags
    """
  /// Those of `names`, and `told`.
  private static let columnsCount = 21
  private static let putSQL = """
    REPLACE INTO notification (\(names), told)
    VALUES (\(Array(repeating: "?", count: columnsCount).joined(separator: ", ")))
    """

  private static func put(_ entry: OutboxEntry, in database: Database) throws {
    let statement = try database.cachedStatement(sql: putSQL)
    var columns: [(any DatabaseValueConvertible)?] = []
    columns.reserveCapacity(columnsCount)
    columns.append(entry.number.rawValue)
    append(entry.state, hasNewer: entry.hasNewerContent, to: &columns)
    let content = entry.content
    columns.append(content.details.level.name)
    columns.append(kept(content.app))
    columns.append(kept(content.title))
    columns.append(kept(content.text))
    columns.append(Int64(content.timestamp))
    columns.append(Int64(content.details.category))
    columns.append(kept(content.details.group))
    columns.append(try encoded(content.details.actions))
    columns.append(content.details.expires.map { Int64($0) })
    columns.append(Int64(content.details.flags))
    columns.append(entry.isTold ? 1 : 0)
    statement.setUncheckedArguments(StatementArguments(columns))
    try statement.execute()
  }

  /// `state`, `has_newer`, and the columns of what was written.
  private static func append(
    _ state: OutboxEntry.State, hasNewer: Bool, to columns: inout [(any DatabaseValueConvertible)?]
  ) {
    func add(_ name: String, id: UInt32? = nil, _ write: OutboxWrite?, next: OutboxWrite?, error: ATTError?) {
      columns.append(name)
      columns.append(hasNewer ? 1 : 0)
      columns.append((write?.id ?? id).map { Int64($0) })
      columns.append(write.map { Int64($0.revision) })
      columns.append(write.map { Data($0.json) })
      columns.append(next.map { Int64($0.id) })
      columns.append(next.map { Int64($0.revision) })
      columns.append(next.map { Data($0.json) })
      columns.append(error.map { Int64($0.rawValue) })
    }
    let name = state.name
    switch state {
    case .queued: add(name, nil, next: nil, error: nil)
    case .written(let write), .held(let write): add(name, write, next: nil, error: nil)
    case .updating(let held, let next): add(name, held, next: next, error: nil)
    case .removing(let id): add(name, id: id, nil, next: nil, error: nil)
    case .refused(let error): add(name, nil, next: nil, error: error)
    }
  }

  private static func entry(of row: EntryRow) throws -> OutboxEntry {
    var details = NotificationDetails()
    let level = try row.text(10, "level")
    guard let known = NotificationDetails.Level.allCases.first(where: { $0.name == level }) else {
      throw row.bad("level")
    }
    details.level = known
    details.category = try row.number(15, "category")
    details.group = try row.text(16, "grp")
    details.actions = try row.actions(17, "actions")
    details.expires = try row.isNull(18) ? nil : row.number(18, "expires")
    details.flags = try row.number(19, "flags")
    let content = Notification(
      app: try row.text(11, "app"), title: try row.text(12, "title"), text: try row.text(13, "text"),
      timestamp: try row.number(14, "timestamp"), details: details)
    return OutboxEntry(
      number: OutboxNumber(rawValue: try row.number(0, "number", in: 1...Int64.max)), content: content,
      state: try state(of: row), hasNewerContent: try row.number(2, "has_newer", in: 0...1) == UInt8(1),
      isTold: try row.number(20, "told", in: 0...1) == UInt8(1))
  }

  private static func state(of row: EntryRow) throws -> OutboxEntry.State {
    switch try row.text(1, "state") {
    case "queued": .queued
    case "written": .written(try row.write(from: 3, "json"))
    case "held": .held(try row.write(from: 3, "json"))
    case "updating":
      .updating(held: try row.write(from: 3, "json"), next: try row.write(from: 6, "next_json"))
    case "removing": .removing(id: try row.number(3, "id"))
    case "refused": .refused(ATTError(rawValue: try row.number(9, "att_error")))
    case _: throw row.bad("state")
    }
  }

  /// Text as a column keeps it: SQLite's ends at U+0000, which the wire does not carry either. Source: PROTOCOL.md NTF-6.
  private static func kept(_ text: String) -> String {
    guard text.utf8.contains(0) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
  }

  /// A JSON array, or NULL for none.
  private static func encoded(_ actions: [String]) throws -> String? {
    guard !actions.isEmpty else { return nil }
    return String(decoding: try JSONEncoder().encode(actions), as: UTF8.self)
  }
}

/// A row whose columns are checked as they are taken: another program may have written them, or a bad disk.
private struct EntryRow {
  let row: Row
  let number: Int64

  func bad(_ column: String) -> BadRow {
    BadRow(row: number == 0 ? "writer" : "notification \(number)", column: column)
  }

  func isNull(_ index: Int) -> Bool { row.hasNull(atIndex: index) }

  func number<Value: FixedWidthInteger>(
    _ index: Int, _ name: String, in range: ClosedRange<Value> = Value.min...Value.max
  ) throws -> Value {
    guard case .int64(let stored) = (row[index] as DatabaseValue).storage,
      let value = Value(exactly: stored), range.contains(value)
    else { throw bad(name) }
    return value
  }

  func text(_ index: Int, _ name: String) throws -> String {
    guard case .string(let text) = (row[index] as DatabaseValue).storage else { throw bad(name) }
    return text
  }

  func write(from index: Int, _ name: String) throws -> OutboxWrite {
    let json: [UInt8]
    switch (row[index + 2] as DatabaseValue).storage {
    case .blob(let data): json = [UInt8](data)
    case .string(let text): json = Array(text.utf8)
    // SQLite makes NULL of no bytes.
    case .null: json = []
    case .int64, .double: throw bad(name)
    }
    return OutboxWrite(
      id: try number(index, "id"), revision: try number(index + 1, "rev"), json: json)
  }

  func actions(_ index: Int, _ name: String) throws -> [String] {
    if isNull(index) { return [] }
    let text = try text(index, name)
    guard let actions = try? JSONDecoder().decode([String].self, from: Data(text.utf8)) else {
      throw bad(name)
    }
    return actions
  }
}

extension OutboxEntry.State {
  /// As it stands in the journal and on the screen.
  package var name: String {
    switch self {
    case .queued: "queued"
    case .written: "written"
    case .held: "held"
    case .updating: "updating"
    case .removing: "removing"
    case .refused: "refused"
    }
  }
}

extension NotificationDetails.Level {
  /// As it stands in the journal and on the screen.
  package var name: String {
    switch self {
    case .passive: "passive"
    case .active: "active"
    case .timeSensitive: "time-sensitive"
    case .critical: "critical"
    }
  }
}

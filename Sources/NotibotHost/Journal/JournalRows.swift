import Foundation
import GRDB
import SerialLink
import NotibotProtocol

/// What a journal held at one moment.
struct JournalSnapshot: Equatable {
  var contents: JournalContents
  var totals: JournalTotals

  var writer: JournalWriter { JournalWriter(header: contents.header, totals: totals) }
}

/// The row of `writer`: it is different after each commit.
struct JournalWriter: Equatable, Sendable {
  var header: JournalHeader
  var totals: JournalTotals
}

/// The statements that read and write a journal's rows. Each connection prepares each of them once.
enum JournalRows {
  /// Makes all changes, in order, inside the caller's transaction; returns the writer's row;
  /// nil if it is not `last`, because somebody else has committed: then nothing is changed.
  ///
  /// - Parameter last: the row that this process left; nil: it has left none yet.
  @discardableResult
  static func apply(
    _ changes: [JournalChange], to database: Database, after last: JournalWriter? = nil
  ) throws -> JournalWriter? {
    var (header, totals) = try writer(of: database, version: JournalSchema.version)
    let found = JournalWriter(header: header, totals: totals)
    guard last == nil || last == found else { return nil }
    guard !changes.isEmpty else { return found }
    totals.commits += 1
    for change in changes {
      switch change {
      case .header(let newer): header = newer
      case .put(let entry): try put(entry, in: database, &totals)
      case .delete(let number):
        try forget(number, in: database, &totals)
        let statement = try database.cachedStatement(sql: "DELETE FROM notification WHERE number = ?")
        statement.setUncheckedArguments([number.rawValue])
        try statement.execute()
      case .putKey(let record): try put(record, in: database, &totals)
      case .deleteKey(let row): try deleteKey(row, in: database, &totals)
      case .putPresses(let record): try put(record, in: database, &totals)
      case .deletePresses(let bootID): try deletePresses(of: bootID, in: database, &totals)
      }
    }
    try write(header, totals, to: database)
    return JournalWriter(header: header, totals: totals)
  }

  /// The whole content.
  ///
  /// - Parameter known: what was read before. It is not read again if the totals are still the
  ///   same: they are sums of checksums that include each row's commit.
  static func contents(of database: Database, known: JournalSnapshot? = nil) throws -> JournalContents {
    // A reader does not migrate the file, and another process can do so meanwhile.
    let version = try version(of: database)
    if version >= 3, var known {
      let (header, totals) = try writer(of: database, version: version)
      known.contents.header = header
      if totals.hasSameRows(as: known.totals) { return known.contents }
    }
    return try snapshot(of: database).contents
  }

  private static func version(of database: Database) throws -> Int {
    guard case .outbox(let version) = try JournalSchema.identity(of: database) else {
      throw Failure(row: "PRAGMA", column: "application_id")
    }
    return version
  }

  /// The whole content, with its totals.
  static func snapshot(of database: Database) throws -> JournalSnapshot {
    let version = try version(of: database)
    let (header, expected) = try writer(of: database, version: version)
    let statement = try database.cachedStatement(
      sql: "SELECT \(columns(ofVersion: version)) FROM notification ORDER BY number")
    var entries: [OutboxEntry] = []
    var totals = JournalTotals(commits: expected.commits)
    let rows = try Row.fetchCursor(statement)
    while let row = try rows.next() {
      let values = Array(row.databaseValues)
      entries.append(try entry(of: values, version: version))
      if version >= 3 { totals.notifications.add(values) }
    }
    guard version < 3 || totals.notifications == expected.notifications else {
      throw Failure(
        kind: "notifications", found: totals.notifications.rows, expected: expected.notifications.rows)
    }
    let keys = version < 4 ? [] : try keys(of: database, expected: expected.keys)
    var contents = JournalContents(header: header, entries: entries, keys: keys)
    if version >= 4 { contents.presses = try presses(of: database, expected: expected.presses) }
    return JournalSnapshot(contents: contents, totals: expected)
  }

  // MARK: The writer

  /// Writes the row, and creates it if it is missing.
  static func write(_ header: JournalHeader, _ totals: JournalTotals, to database: Database) throws {
    let statement = try database.cachedStatement(
      sql: """
        REPLACE INTO writer (row, \(writerNames)) VALUES (1\(String(repeating: ", ?", count: writerColumnsCount)))
        """)
    var columns: [DatabaseValue] = [
      Int64(header.source).databaseValue, Int64(header.lastID).databaseValue,
      Int64(header.knownID).databaseValue,
      header.lastNumber.rawValue.databaseValue, Int64(header.run).databaseValue,
      header.bootID.map { Int64($0).databaseValue } ?? .null,
      header.writtenBootID.map { Int64($0).databaseValue } ?? .null, totals.commits.databaseValue,
    ]
    columns += totals.values.map(\.databaseValue) + [Int64(header.runToken).databaseValue]
    columns.append(Int64(JournalChecksum.of(columns)).databaseValue)
    statement.setUncheckedArguments(StatementArguments(columns))
    try statement.execute()
  }

  /// The writer's row; in versions before 3 it has no totals.
  static func writer(
    of database: Database, version: Int
  ) throws -> (header: JournalHeader, totals: JournalTotals) {
    let columns =
      switch version {
      case ..<2: "src, last_id, known_id, last_number, run, boot_id, boot_id"
      case 2: "src, last_id, known_id, last_number, run, boot_id, written_boot_id"
      case 3: "\(writerHeaderNames), entries, digest, crc"
      case 4: "\(writerHeaderNames), \(totalsNames), crc"
      case _: writerNames
      }
    let sql = "SELECT \(columns) FROM writer WHERE row = 1"
    guard let row = try Row.fetchOne(database.cachedStatement(sql: sql)) else {
      throw Failure(row: "writer", column: "row")
    }
    return try writer(of: Array(row.databaseValues), version: version)
  }

  /// The columns of the row in `writer`, except the first.
  static func writer(
    of columns: [DatabaseValue], version: Int
  ) throws -> (header: JournalHeader, totals: JournalTotals) {
    let values = CheckedRow(values: columns, name: "writer")
    guard version < 3 || JournalChecksum.isValid(columns) else { throw values.bad("crc") }
    let header = JournalHeader(
      source: try values.number(0, "src", in: 1...UInt32.max), lastID: try values.number(1, "last_id"),
      knownID: try values.number(2, "known_id"),
      lastNumber: OutboxNumber(rawValue: try values.number(3, "last_number", in: 0...Int64.max)),
      run: try values.number(4, "run"), runToken: version < 5 ? 0 : try values.number(14, "run_token"),
      bootID: try values.isNull(5) ? nil : values.number(5, "boot_id"),
      writtenBootID: try values.isNull(6) ? nil : values.number(6, "written_boot_id"))
    guard version >= 3 else { return (header, JournalTotals()) }
    func totals(_ index: Int) throws -> TableTotals {
      TableTotals(
        rows: try values.number(index, JournalTotals.names[index - 8], in: 0...Int64.max - 1),
        digest: try values.number(index + 1, JournalTotals.names[index - 7]))
    }
    return (
      header,
      JournalTotals(
        commits: try values.number(7, "commits", in: 0...Int64.max - 1), notifications: try totals(8),
        keys: version < 4 ? TableTotals() : try totals(10),
        presses: version < 4 ? TableTotals() : try totals(12))
    )
  }

  /// Counts the run that begins, and gives it its token.
  static func countRun(in database: Database, token: UInt32) throws {
    var (header, totals) = try writer(of: database, version: JournalSchema.version)
    // Wrap-around is the rule for this number.
    header.run &+= 1
    header.runToken = token
    totals.commits += 1
    try write(header, totals, to: database)
  }

  // MARK: Notifications

  private static let names = """
    number, state, has_newer, id, rev, json, next_id, next_rev, next_json, att_error, level, app, title, text, \
    timestamp, category, grp, actions, expires, flags
    """
  private static let writerHeaderNames = """
    src, last_id, known_id, last_number, run, boot_id, written_boot_id, commits
    """
  private static let totalsNames = JournalTotals.names.joined(separator: ", ")
  private static let writerNames = "\(writerHeaderNames), \(totalsNames), run_token, crc"
  /// Those of `names`, `told`, `at_commit` and `crc`.
  static let columnsCount = 23
  /// Those of `writerNames`.
  static let writerColumnsCount = 10 + JournalTotals.names.count
  private static let putSQL = """
    REPLACE INTO notification (\(columns(ofVersion: JournalSchema.version)))
    VALUES (\(Array(repeating: "?", count: columnsCount).joined(separator: ", ")))
    """

  private static func columns(ofVersion version: Int) -> String {
    switch version {
    case ..<2: "\(names), state = 'held'"
    case 2: "\(names), told"
    case _: "\(names), told, at_commit, crc"
    }
  }

  /// Subtracts the row stored under a number from the totals.
  private static func forget(
    _ number: OutboxNumber, in database: Database, _ totals: inout JournalTotals
  ) throws {
    let statement = try database.cachedStatement(sql: "SELECT crc FROM notification WHERE number = ?")
    statement.setUncheckedArguments([number.rawValue])
    guard let stored = try Int64.fetchOne(statement) else { return }
    guard let checksum = UInt32(exactly: stored) else {
      throw Failure(row: "notification \(number.rawValue)", column: "crc")
    }
    totals.notifications.remove(checksum)
  }

  private static func put(
    _ entry: OutboxEntry, in database: Database, _ totals: inout JournalTotals
  ) throws {
    try forget(entry.number, in: database, &totals)
    var columns = try self.columns(of: entry)
    columns.append(totals.commits.databaseValue)
    let checksum = JournalChecksum.of(columns)
    columns.append(Int64(checksum).databaseValue)
    totals.notifications.add(checksum)
    let statement = try database.cachedStatement(sql: putSQL)
    statement.setUncheckedArguments(StatementArguments(columns))
    try statement.execute()
  }

  /// Those of `names`, and `told`.
  private static func columns(of entry: OutboxEntry) throws -> [DatabaseValue] {
    var columns: [DatabaseValue] = []
    columns.reserveCapacity(columnsCount)
    columns.append(entry.number.rawValue.databaseValue)
    append(entry.state, hasNewer: entry.hasNewerContent, to: &columns)
    let content = entry.content
    columns.append(content.details.level.name.databaseValue)
    columns.append(kept(content.app).databaseValue)
    columns.append(kept(content.title).databaseValue)
    columns.append(kept(content.text).databaseValue)
    columns.append(Int64(content.timestamp).databaseValue)
    columns.append(Int64(content.details.category).databaseValue)
    columns.append(kept(content.details.group).databaseValue)
    columns.append(try encoded(content.details.actions)?.databaseValue ?? .null)
    columns.append(content.details.expires.map { Int64($0).databaseValue } ?? .null)
    columns.append(Int64(content.details.flags).databaseValue)
    columns.append(Int64(entry.isReported ? 1 : 0).databaseValue)
    return columns
  }

  /// `state`, `has_newer`, and the columns of what was written.
  private static func append(
    _ state: OutboxEntry.State, hasNewer: Bool, to columns: inout [DatabaseValue]
  ) {
    func add(_ name: String, id: UInt32? = nil, _ write: OutboxWrite?, next: OutboxWrite?, error: ATTError?) {
      columns.append(name.databaseValue)
      columns.append(Int64(hasNewer ? 1 : 0).databaseValue)
      columns.append((write?.id ?? id).map { Int64($0).databaseValue } ?? .null)
      columns.append(write.map { Int64($0.revision).databaseValue } ?? .null)
      columns.append(write.map { Data($0.json).databaseValue } ?? .null)
      columns.append(next.map { Int64($0.id).databaseValue } ?? .null)
      columns.append(next.map { Int64($0.revision).databaseValue } ?? .null)
      columns.append(next.map { Data($0.json).databaseValue } ?? .null)
      columns.append(error.map { Int64($0.rawValue).databaseValue } ?? .null)
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

  /// The notification in the columns of a row; from version 3 on their checksum must be right.
  static func entry(of columns: [DatabaseValue], version: Int) throws -> OutboxEntry {
    var number: Int64 = 0
    if case .int64(let stored)? = columns.first?.storage { number = stored }
    let row = CheckedRow(values: columns, name: "notification \(number)")
    guard version < 3 || JournalChecksum.isValid(columns) else { throw row.bad("crc") }
    return try entry(of: row)
  }

  private static func entry(of row: CheckedRow) throws -> OutboxEntry {
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
    let content = DisplayNotification(
      app: try row.text(11, "app"), title: try row.text(12, "title"), text: try row.text(13, "text"),
      timestamp: try row.number(14, "timestamp"), details: details)
    return OutboxEntry(
      number: OutboxNumber(rawValue: try row.number(0, "number", in: 1...Int64.max)), content: content,
      state: try state(of: row), hasNewerContent: try row.number(2, "has_newer", in: 0...1) == UInt8(1),
      isReported: try row.number(20, "told", in: 0...1) == UInt8(1))
  }

  private static func state(of row: CheckedRow) throws -> OutboxEntry.State {
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

  /// Text for a column: SQLite's text ends at U+0000, which the wire does not carry either. Source:
  /// PROTOCOL.md NTF-6.
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

extension OutboxEntry.State {
  /// The spelling in the journal and on the screen.
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

import GRDB

/// The tables of a journal, version 5, and the migration from older ones. docs/JOURNAL.md describes
/// them.
///
/// A new table of rows is a line in `tables` with its statement, a `TableTotals` in `JournalTotals`
/// with its two columns in `writer`, its changes in `JournalRows.apply`, its rows in
/// `JournalRows.contents`, and its number of columns in `JournalSalvage`, which differs from those
/// of the other tables.
enum JournalSchema {
  /// "Ntbt", so that `file` and this program know an outbox from other databases.
  static let applicationID = 0x4E74_6274
  /// Raised when a program of the previous version could not read or preserve the content.
  static let version = 5

  /// Whether a database is an outbox.
  enum Identity: Equatable {
    /// Empty: a file that was just created, or a crash during its creation.
    case empty
    case outbox(version: Int)
    case foreign
  }

  static func identity(of database: Database) throws -> Identity {
    let application = try Int.fetchOne(database, sql: "PRAGMA application_id")
    let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    if application == applicationID { return .outbox(version: version) }
    let objects = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
    return application == 0 && version == 0 && objects == 0 ? .empty : .foreign
  }

  /// Creates the tables, inside the caller's transaction.
  static func create(in database: Database, source: UInt32) throws {
    try makeTables(in: database)
    try JournalRows.write(JournalHeader(source: source), JournalTotals(), to: database)
    try database.execute(sql: "PRAGMA application_id = \(applicationID)")
    try database.execute(sql: "PRAGMA user_version = \(version)")
  }

  private static func makeTables(in database: Database) throws {
    for table in tables { try database.execute(sql: table.sql) }
  }

  /// Migrates the tables of an older version to this one, inside the caller's transaction: all rows
  /// are read, and written to the tables of this version.
  ///
  /// Version 1 did not record which notifications were reported as delivered: those that the device
  /// holds were. Nor did it record the boot in which it wrote: that is at least the boot of the
  /// last agreement. Versions before 4 have no keys, those before 5 no `run_token`.
  static func migrate(_ database: Database, from version: Int) throws {
    guard version < Self.version else { return }
    let contents = try JournalRows.contents(of: database)
    for table in tables { try database.execute(sql: "DROP TABLE IF EXISTS \(table.name)") }
    try makeTables(in: database)
    try JournalRows.write(contents.header, JournalTotals(), to: database)
    try database.execute(sql: "PRAGMA user_version = \(Self.version)")
    let changes =
      contents.entries.map(JournalChange.put) + contents.keys.map(JournalChange.putKey)
      + contents.presses.map(JournalChange.putPresses)
    try JournalRows.apply(changes, to: database)
  }

  /// The contradiction between the tables and the version in the header; nil if they agree. The
  /// tables of versions 1 and 2 vary: they are recognised by differing from those of later ones.
  static func contradiction(in database: Database, version: Int) throws -> String? {
    let found = try String.fetchAll(
      database,
      sql: """
        SELECT coalesce(type || ' ' || name || ' ' || tbl_name || ' ' || sql, name) FROM sqlite_master
        WHERE name NOT GLOB 'sqlite_stat*'
        """
    ).sorted()
    if version < 1 { return "it says version \(version), which does not exist" }
    for (known, tables) in [(3, tablesOfVersion3), (4, tablesOfVersion4), (Self.version, tables)] {
      let isPresent = found == tables.map { "table \($0.name) \($0.name) \($0.sql)" }.sorted()
      if version == known, !isPresent { return "its tables are not those of version \(version)" }
      if version != known, isPresent {
        return "it says version \(version) and has the tables of version \(known)"
      }
    }
    return nil
  }

  /// Those of each version differ, which is how a wrong version in the header is detected.
  private static let tables = tables(writer: writerTable(numbers: JournalTotals.names + ["run_token"]))

  private static let tablesOfVersion4 = tables(writer: writerTable(numbers: JournalTotals.names))

  private static let tablesOfVersion3 = [
    (name: "writer", sql: writerTable(numbers: ["entries", "digest"])),
    (name: "notification", sql: notificationTable),
  ]

  private static func tables(writer: String) -> [(name: String, sql: String)] {
    [
      ("writer", writer), ("notification", notificationTable), ("intake", intakeTable), ("press", pressTable),
    ]
  }

  private static func writerTable(numbers: [String]) -> String {
    """
    CREATE TABLE writer (
      row INTEGER PRIMARY KEY CHECK (row = 1),
      src INTEGER NOT NULL CHECK (src BETWEEN 1 AND 4294967295),
      last_id INTEGER NOT NULL,
      known_id INTEGER NOT NULL,
      last_number INTEGER NOT NULL,
      run INTEGER NOT NULL,
      boot_id INTEGER,
      written_boot_id INTEGER,
      commits INTEGER NOT NULL,
    \(numbers.map { "  \($0) INTEGER NOT NULL," }.joined(separator: "\n"))
      crc INTEGER NOT NULL
    ) STRICT
    """
  }

  private static let intakeTable = """
    CREATE TABLE intake (
      row INTEGER PRIMARY KEY CHECK (row > 0),
      key BLOB NOT NULL CHECK (length(key) BETWEEN 1 AND 128),
      number INTEGER NOT NULL CHECK (number > 0),
      digest INTEGER NOT NULL,
      at INTEGER NOT NULL,
      keep_until INTEGER NOT NULL,
      at_commit INTEGER NOT NULL,
      crc INTEGER NOT NULL
    ) STRICT
    """

  private static let pressTable = """
    CREATE TABLE press (
      boot_id INTEGER PRIMARY KEY CHECK (boot_id BETWEEN 0 AND 4294967295),
      press INTEGER NOT NULL CHECK (press BETWEEN 1 AND 4294967295),
      at_commit INTEGER NOT NULL,
      crc INTEGER NOT NULL
    ) STRICT
    """

  private static let notificationTable = """
    CREATE TABLE notification (
      number INTEGER PRIMARY KEY CHECK (number > 0),
      state TEXT NOT NULL
        CHECK (state IN ('queued', 'written', 'held', 'updating', 'removing', 'refused')),
      has_newer INTEGER NOT NULL CHECK (has_newer IN (0, 1)),
      id INTEGER,
      rev INTEGER,
      json BLOB,
      next_id INTEGER,
      next_rev INTEGER,
      next_json BLOB,
      att_error INTEGER,
      level TEXT NOT NULL,
      app TEXT NOT NULL,
      title TEXT NOT NULL,
      text TEXT NOT NULL,
      timestamp INTEGER NOT NULL,
      category INTEGER NOT NULL,
      grp TEXT NOT NULL,
      actions TEXT,
      expires INTEGER,
      flags INTEGER NOT NULL,
      told INTEGER NOT NULL CHECK (told IN (0, 1)),
      at_commit INTEGER NOT NULL,
      crc INTEGER NOT NULL
    ) STRICT
    """
}

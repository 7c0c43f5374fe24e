import GRDB

/// The tables of a journal, version 2, and the way there from version 1. For a person they are described in docs/JOURNAL.md.
enum JournalSchema {
  /// "Ntbt", so that `file` and this program know an outbox from other databases.
  static let applicationID = 0x4E74_6274
  /// Raised when a program of the version before could not read or keep what is written.
  static let version = 2

  /// Whether a database is an outbox.
  enum Identity: Equatable {
    /// Nothing is in it: a file that was just made, or a crash came while it was.
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

  /// Makes the tables, inside a transaction of the caller's.
  static func create(in database: Database, source: UInt32) throws {
    try database.execute(sql: tables)
    try database.execute(
      sql: "INSERT INTO writer (row, src, last_id, known_id, last_number, run) VALUES (1, ?, 0, 0, 0, 0)",
      arguments: [source])
    try database.execute(sql: "PRAGMA application_id = \(applicationID)")
    try database.execute(sql: "PRAGMA user_version = \(version)")
  }

  /// Brings the tables of an older version to this one, inside a transaction of the caller's.
  ///
  /// Version 1 did not say what was reported delivered: what the device holds was. Nor did it say in which boot it wrote:
  /// at least in the one that it agreed in.
  static func migrate(_ database: Database, from version: Int) throws {
    guard version < 2 else { return }
    try database.execute(
      sql: """
        ALTER TABLE writer ADD COLUMN written_boot_id INTEGER;
        UPDATE writer SET written_boot_id = boot_id;
        ALTER TABLE notification ADD COLUMN told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1));
        UPDATE notification SET told = 1 WHERE state = 'held';
        PRAGMA user_version = 2;
        """)
  }

  private static let tables = """
    CREATE TABLE writer (
      row INTEGER PRIMARY KEY CHECK (row = 1),
      src INTEGER NOT NULL CHECK (src BETWEEN 1 AND 4294967295),
      last_id INTEGER NOT NULL,
      known_id INTEGER NOT NULL,
      last_number INTEGER NOT NULL,
      run INTEGER NOT NULL,
      boot_id INTEGER,
      written_boot_id INTEGER
    ) STRICT;
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
      told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1))
    ) STRICT;
    """
}

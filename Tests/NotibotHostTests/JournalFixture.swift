import GRDB
import NotibotHost
import NotibotProtocol

/// A journal of version 1 as originally written; it must stay readable. The statements are literal
/// and not taken from the program, so that a change of the tables is detected.
enum JournalFixture {
  static func make(at path: String, changing sql: String = "") throws {
    let database = try DatabaseQueue(path: path)
    try database.writeWithoutTransaction { try $0.execute(sql: statements + sql) }
    try database.close()
  }

  static var contents: JournalContents {
    var entry = OutboxEntry(
      number: OutboxNumber(rawValue: 5),
      content: DisplayNotification(app: "Mail", title: "Jane", text: "Hello", timestamp: 1_700_000_000),
      state: .updating(
        held: OutboxWrite(id: 4, revision: 1, json: Array("{}".utf8)),
        next: OutboxWrite(id: 4, revision: 2, json: Array("[]".utf8))),
      hasNewerContent: true)
    entry.content.details.level = .timeSensitive
    entry.content.details.category = 6
    entry.content.details.group = "g"
    entry.content.details.actions = ["Yes", "No"]
    entry.content.details.expires = 1_800_000_000
    entry.content.details.flags = 2
    return JournalContents(
      header: JournalHeader(
        source: 9, lastID: 4, knownID: 3, lastNumber: OutboxNumber(rawValue: 6), run: 12,
        bootID: 4_026_531_841, writtenBootID: 4_026_531_841),
      entries: [entry])
  }

  private static let statements = """
    PRAGMA journal_mode = WAL;
    PRAGMA application_id = 1316250228;
    PRAGMA user_version = 1;
    CREATE TABLE writer (row INTEGER PRIMARY KEY, src INTEGER, last_id INTEGER, known_id INTEGER,
      last_number INTEGER, run INTEGER, boot_id INTEGER);
    INSERT INTO writer VALUES (1, 9, 4, 3, 6, 12, 4026531841);
    CREATE TABLE notification (number INTEGER PRIMARY KEY, state TEXT, has_newer INTEGER, id INTEGER, rev INTEGER,
      json BLOB, next_id INTEGER, next_rev INTEGER, next_json BLOB, att_error INTEGER, level TEXT, app TEXT, title TEXT,
      text TEXT, timestamp INTEGER, category INTEGER, grp TEXT, actions TEXT, expires INTEGER, flags INTEGER);
    INSERT INTO notification VALUES (5, 'updating', 1, 4, 1, X'7B7D', 4, 2, X'5B5D', NULL, 'time-sensitive', 'Mail',
      'Jane', 'Hello', 1700000000, 6, 'g', '["Yes","No"]', 1800000000, 2);
    """
}

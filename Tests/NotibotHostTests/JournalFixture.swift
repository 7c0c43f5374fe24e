import Foundation
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

  /// A journal that `notibot forward` of version 3 wrote: two notifications on the display, two
  /// queued; and what that of version 4 made of it, with a third one that has a key.
  static func path(ofVersion version: Int) -> String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("journals/version-\(version).notibot").path
  }

  static func contents(ofVersion version: Int) -> JournalContents {
    guard version == 4 else { return contentsOfVersion3 }
    var contents = contentsOfVersion3
    contents.header.run = 3
    contents.header.lastNumber = OutboxNumber(rawValue: 5)
    contents.entries.append(
      OutboxEntry(
        number: OutboxNumber(rawValue: 5),
        content: DisplayNotification(
          app: "Mail", title: "Keyed", text: "queued three", timestamp: 1_700_000_005)))
    contents.keys = [
      KeyRecord(
        row: 1, key: IdempotencyKey(Array("first".utf8))!, number: OutboxNumber(rawValue: 5),
        digest: -4_167_321_750_729_809_522, submittedAt: 1_795_867_958, keepUntil: 1_795_954_358)
    ]
    return contents
  }

  private static var contentsOfVersion3: JournalContents {
    func entry(_ number: Int64, _ app: String, _ title: String, _ text: String) -> OutboxEntry {
      OutboxEntry(
        number: OutboxNumber(rawValue: number),
        content: DisplayNotification(
          app: app, title: title, text: text, timestamp: UInt32(1_700_000_000 + number)))
    }
    var entries = [
      entry(1, "Messages", "Jane Doe", "held one"), entry(2, "Mail", "Émile", "held two"),
      entry(3, "Calendar", "Later", "queued one"), entry(4, "Messages", "Jane Doe", "queued two"),
    ]
    entries[1].content.details.level = .timeSensitive
    entries[1].content.details.group = "work"
    entries[1].content.details.actions = ["Yes", "No"]
    entries[2].content.details.expires = 4_000_000_000
    for (index, json) in [
      (0, #"{"app":"Messages","title":"Jane Doe","text":"held one","timestamp":1700000001,"id":2}"#),
      (
        1,
        #"{"app":"Mail","title":"Émile","text":"held two","timestamp":1700000002,"id":1,"lvl":2,"grp":"work","act":["Yes","No"]}"#
      ),
    ] {
      entries[index].state = .held(OutboxWrite(id: UInt32(2 - index), revision: 0, json: Array(json.utf8)))
      entries[index].isReported = true
    }
    return JournalContents(
      header: JournalHeader(
        source: 1_506_698_625, lastID: 2, knownID: 2, lastNumber: OutboxNumber(rawValue: 4), run: 2,
        bootID: 252_556_307, writtenBootID: 252_556_307),
      entries: entries)
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

#if Gateway
import Foundation
import GRDB
import GatewayRules
import NotibotHost
import SerialLink
import Synchronization

/// A change that the gateway's file gets.
enum StoreRecord: Sendable {
  case intake(IntakeRecord)
  case decision(Decision)
  case forgetDecision(id: String)
  case summary(SummaryRecord)
  case registration(name: String, RegistrationMachine.State, deviceID: String?)
}

/// What is left of decisions and registrations at a start.
struct StoredDecisions: Sendable {
  var decisions: [Decision] = []
  /// Names of registrations that were taken back.
  var unregistered: Set<String> = []
}

/// What a gateway remembers next to the outbox: which pushes it has taken, and which notification
/// is which item of a sender, what the items ask, what was answered, and the summaries of groups.
/// No text of a push except the titles of items with answers, the texts of those that need a second
/// press and of delayed messages, and names of groups that have summaries. No token.
final class GatewayStore: Sendable {
  /// "Ntgw".
  private static let applicationID = 0x4E74_6777
  private static let version = 6
  private static let tables = """
    CREATE TABLE seen (
      key BLOB PRIMARY KEY, apns_id TEXT NOT NULL, at INTEGER NOT NULL, own INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE item (
      number INTEGER PRIMARY KEY, topic TEXT NOT NULL, target BLOB, question TEXT, member TEXT, message TEXT
    ) STRICT;
    CREATE TABLE suppressed (target BLOB PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE badge (topic TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE shown (grp BLOB PRIMARY KEY, day INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    """
  /// New in version 2.
  private static let decisionTables = """
    CREATE TABLE decision (
      id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, number INTEGER NOT NULL, action INTEGER NOT NULL,
      revision INTEGER NOT NULL, at INTEGER NOT NULL, state TEXT NOT NULL, question TEXT, target BLOB
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE registration (
      name TEXT PRIMARY KEY, state TEXT NOT NULL, device_id TEXT
    ) STRICT, WITHOUT ROWID;
    """
  /// New in version 3.
  private static let summaryTables = """
    CREATE TABLE summary (
      grp BLOB PRIMARY KEY, generation INTEGER NOT NULL, state TEXT NOT NULL, number INTEGER
    ) STRICT, WITHOUT ROWID;
    """

  /// New in version 5: the outbox that the numbers of the other tables belong to.
  private static let outboxTable = """
    CREATE TABLE outbox (
      row INTEGER PRIMARY KEY CHECK (row = 1), src INTEGER NOT NULL, next_src INTEGER, token INTEGER NOT NULL,
      next_token INTEGER NOT NULL
    ) STRICT;
    """

  /// New in version 6.
  private static let delayedTable = """
    CREATE TABLE delayed (target BLOB PRIMARY KEY, message TEXT NOT NULL) STRICT, WITHOUT ROWID;
    """

  let path: String
  let queue: DatabaseQueue
  /// Whether this process made its tables.
  let isNew: Bool
  /// How this process left the file.
  private let files: Mutex<DatabaseFiles>
  private let step: (@Sendable () -> Void)?

  /// Opens the file; creates it with mode 0600. Blocks.
  init(path: String, step: (@Sendable () -> Void)?) throws(Failure) {
    self.step = step
    self.path = path
    do {
      close(open(path, O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600))
      try Self.checkKind(path)
      var configuration = Configuration()
      configuration.prepareDatabase { database in
        try database.execute(sql: "PRAGMA synchronous = FULL")
      }
      queue = try DatabaseQueue(path: path, configuration: configuration)
      // Another program's file stays as it is.
      try queue.read { try Self.checkOwner($0, path) }
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
      isNew = try queue.write { try Self.prepare($0) }
      files = Mutex(try DatabaseFiles(named: path, operation: "open"))
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(Self.failure(error, path, "open"))
    }
  }

  /// SQLite would wait at a FIFO. Behind a symbolic link it can make the file.
  private static func checkKind(_ path: String) throws(Failure) {
    do throws(Failure) {
      close(try RegularFile.open(path))
    } catch {
      guard access(path, F_OK) == 0 || errno != ENOENT else { return }
      throw Failure(.usage, "cannot open \(path): \(error.message)")
    }
  }

  /// Throws unless it is empty, or a gateway's file that this program reads.
  private static func checkOwner(_ database: Database, _ path: String) throws {
    let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    let application = try Int.fetchOne(database, sql: "PRAGMA application_id") ?? 0
    let objects = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
    let isOwn = application == applicationID && (1...Self.version).contains(version)
    guard isOwn || application == 0 && version == 0 && objects == 0 else {
      throw Failure(.usage, "cannot use \(path): it is not a gateway's file of this version")
    }
  }

  /// Makes the tables, or those that a file of an earlier version lacks. Returns whether it had
  /// none.
  private static func prepare(_ database: Database) throws -> Bool {
    let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    switch version {
    case 0:
      try database.execute(sql: tables + decisionTables + summaryTables + outboxTable + delayedTable)
      try database.execute(sql: "PRAGMA application_id = \(applicationID)")
    case ..<Self.version:
      if version == 1 {
        try database.execute(sql: "ALTER TABLE item ADD COLUMN question TEXT")
        try database.execute(sql: decisionTables)
      }
      if version < 3 {
        try database.execute(sql: "ALTER TABLE item ADD COLUMN member TEXT")
        try database.execute(sql: summaryTables)
      }
      if version < 5 { try database.execute(sql: "DROP TABLE IF EXISTS outbox; \(outboxTable)") }
      try database.execute(sql: "ALTER TABLE item ADD COLUMN message TEXT")
      try database.execute(sql: delayedTable)
    case _: return false
    }
    try database.execute(sql: "PRAGMA user_version = \(Self.version)")
    return version == 0
  }

  /// Everything that the intake still needs. Times of the future are brought back: the calendar was
  /// set back since. Blocks.
  func contents(now: WallTime, options: IntakeMachine.Options) throws(JournalError) -> IntakeContents {
    try change { database in
      try database.execute(
        sql: "DELETE FROM seen WHERE at < ?", arguments: [now.milliseconds - options.keepMs])
      try database.execute(sql: "DELETE FROM suppressed WHERE until < ?", arguments: [now.milliseconds])
      var contents = IntakeContents()
      // Row by row: there can be 100 000.
      let keys = try Row.fetchCursor(database, sql: "SELECT key, apns_id, at, own FROM seen ORDER BY at")
      while let row = try keys.next() {
        contents.keys.append(
          IntakeContents.Key(
            bytes: Array(row["key"] as Data), apnsID: row["apns_id"],
            at: min(now, WallTime(milliseconds: row["at"])), isOwn: row["own"]))
      }
      let items = try Row.fetchCursor(database, sql: "SELECT * FROM item")
      // One text for all items of a topic.
      var topics: Set<String> = []
      while let row = try items.next() {
        let topic = topics.insert(row["topic"]).memberAfterInsert
        contents.items.append(
          IntakeContents.Item(
            number: row["number"], topic: topic, target: (row["target"] as Data?).map { Array($0) },
            question: (row["question"] as String?).flatMap { Question(line: $0) },
            member: (row["member"] as String?).flatMap { GroupMember(line: $0) },
            message: (row["message"] as String?).flatMap { PublishedMessage(line: $0) }))
      }
      for row in try Row.fetchAll(database, sql: "SELECT target, until FROM suppressed") {
        contents.suppressed[Array(row["target"] as Data)] = min(
          now.adding(milliseconds: options.suppressMs), WallTime(milliseconds: row["until"]))
      }
      for row in try Row.fetchAll(database, sql: "SELECT target, message FROM delayed") {
        contents.delayed[Array(row["target"] as Data)] = row["message"]
      }
      for row in try Row.fetchAll(database, sql: "SELECT topic, value FROM badge") {
        contents.badges[row["topic"]] = row["value"]
      }
      for row in try Row.fetchAll(database, sql: "SELECT grp, day FROM shown") {
        contents.shownDays[Array(row["grp"] as Data)] = row["day"]
      }
      return contents
    }
  }

  /// What the decisions and registrations still need. Blocks.
  func decisions() throws(JournalError) -> StoredDecisions {
    try change { database in
      var contents = StoredDecisions()
      for row in try Row.fetchAll(database, sql: "SELECT * FROM decision") {
        guard let state = Decision.State(rawValue: row["state"]) else { continue }
        contents.decisions.append(
          Decision(
            id: row["id"], sequence: row["sequence"], number: row["number"], action: row["action"],
            revision: row["revision"], at: WallTime(milliseconds: row["at"]), state: state,
            question: (row["question"] as String?).flatMap { Question(line: $0) },
            target: (row["target"] as Data?).map { Array($0) }))
      }
      let removed = RegistrationMachine.State.unregistered.rawValue
      contents.unregistered = Set(
        try String.fetchAll(
          database, sql: "SELECT name FROM registration WHERE state = ?", arguments: [removed]))
      return contents
    }
  }

  /// The summaries of groups. Blocks.
  func summaries() throws(JournalError) -> [Summary] {
    try change { database in
      try Row.fetchAll(database, sql: "SELECT * FROM summary").compactMap { row in
        let number: Int64 = row["number"] ?? 0
        let state: Summary.State
        switch row["state"] as String {
        case "begun": state = .begun
        case "live": state = .live(number: number)
        case "leaving": state = .leaving(number: number)
        case "dismissed": state = .dismissed
        case _: return nil
        }
        return Summary(group: Array(row["grp"] as Data), generation: row["generation"], state: state)
      }
    }
  }

  /// Writes records in one transaction; they are on the disk, in the file that has the name, on
  /// return. Blocks. After an error none is written; with the code `diskFull` the call can be
  /// repeated. Without records, it makes sure that all earlier ones still are there.
  func write(_ records: [StoreRecord]) throws(JournalError) {
    do {
      try files.withLock { files in
        switch files.difference() {
        case nil, .touched(isWritten: false): break
        case .displaced(let text): throw Self.displaced(text, path)
        case .touched(isWritten: true):
          throw Self.displaced("another program has changed it while in use", path)
        }
        do {
          if !records.isEmpty { try commit(records) }
        } catch {
          // A commit that failed can have written a part.
          _ = files.recordCommit()
          throw error
        }
        if case .displaced(let text)? = files.recordCommit() { throw Self.displaced(text, path) }
      }
    } catch {
      throw Self.failure(error, path, "write")
    }
  }

  /// Runs `body` in a transaction of its own. Blocks.
  func change<Value: Sendable>(_ body: (Database) throws -> Value) throws(JournalError) -> Value {
    do {
      return try files.withLock { files in
        defer { _ = files.recordCommit() }
        return try queue.write(body)
      }
    } catch {
      throw Self.failure(error, path, "write")
    }
  }

  private static func displaced(_ text: String, _ path: String) -> JournalError {
    JournalError(.displaced(text, isSaved: false), path: path, operation: "write")
  }

  private static func failure(_ error: any Error, _ path: String, _ operation: String) -> JournalError {
    var failure = JournalError(error, path: path, operation: operation)
    failure.subject = "the gateway's file"
    return failure
  }

  private func commit(_ records: [StoreRecord]) throws {
    step?()
    try queue.write { database in
      for record in records {
        switch record {
        case .intake(let record): try Self.write(record, to: database)
        case .decision(let decision): try Self.write(decision, to: database)
        case .forgetDecision(let id):
          try Self.run("DELETE FROM decision WHERE id = ?", [id], in: database)
        case .summary(let record): try Self.write(record, to: database)
        case .registration(let name, let state, let deviceID):
          try Self.run(
            "REPLACE INTO registration VALUES (?, ?, ?)", [name, state.rawValue, deviceID], in: database)
        }
      }
    }
    step?()
  }

  private static func run(
    _ sql: String, _ arguments: [(any DatabaseValueConvertible)?], in database: Database
  ) throws {
    try database.cachedStatement(sql: sql).execute(arguments: StatementArguments(arguments))
  }

  private static func write(_ decision: Decision, to database: Database) throws {
    try run(
      "REPLACE INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        decision.id, decision.sequence, decision.number, decision.action, decision.revision,
        decision.at.milliseconds, decision.state.rawValue, decision.question?.line,
        decision.target.map { Data($0) },
      ], in: database)
  }

  private static func write(_ record: SummaryRecord, to database: Database) throws {
    switch record {
    case .summary(let summary):
      let (state, number): (String, Int64?) =
        switch summary.state {
        case .begun: ("begun", nil)
        case .live(let number): ("live", number)
        case .leaving(let number): ("leaving", number)
        case .dismissed: ("dismissed", nil)
        }
      try run(
        "REPLACE INTO summary VALUES (?, ?, ?, ?)",
        [Data(summary.group), summary.generation, state, number], in: database)
    case .forget(let group): try run("DELETE FROM summary WHERE grp = ?", [Data(group)], in: database)
    }
  }

  private static func write(_ record: IntakeRecord, to database: Database) throws {
    func run(_ sql: String, _ arguments: [(any DatabaseValueConvertible)?]) throws {
      try Self.run(sql, arguments, in: database)
    }
    switch record {
    case .key(let key, let apnsID, let at, let isOwn):
      try run("REPLACE INTO seen VALUES (?, ?, ?, ?)", [Data(key), apnsID, at.milliseconds, isOwn])
    case .forgetKey(let key): try run("DELETE FROM seen WHERE key = ?", [Data(key)])
    case .item(let item):
      try run(
        "REPLACE INTO item (number, topic, target, question, member, message) VALUES (?, ?, ?, ?, ?, ?)",
        [
          item.number, item.topic, item.target.map { Data($0) }, item.question?.line, item.member?.line,
          item.message?.line,
        ])
    case .forgetItem(let number): try run("DELETE FROM item WHERE number = ?", [number])
    case .suppressed(let target, let until):
      try run("REPLACE INTO suppressed VALUES (?, ?)", [Data(target), until.milliseconds])
    case .badge(let topic, let value): try run("REPLACE INTO badge VALUES (?, ?)", [topic, value])
    case .shown(let group, let day): try run("REPLACE INTO shown VALUES (?, ?)", [Data(group), day])
    case .delayed(let target, let delay):
      try run("REPLACE INTO delayed VALUES (?, ?)", [Data(target), delay.line])
    case .forgetDelayed(let target): try run("DELETE FROM delayed WHERE target = ?", [Data(target)])
    }
  }
}
#endif

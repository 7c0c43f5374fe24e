import GRDB
import GRDBSQLite

/// Looks for corruption in a journal's files before SQLite can change them: SQLite checkpoints the
/// log when it closes them.
enum JournalInspection {
  /// Throws if the files of the database at `file` are corrupt; returns their state.
  ///
  /// - Parameters:
  ///   - path: as the user named it.
  ///   - corrects: whether to correct a bit in the log's last transaction that a torn write can
  ///     explain as well. The caller has the lock.
  ///   - isBusy: whether another process may be changing the files. If they look corrupt for too
  ///     long, only SQLite reads them then, row by row.
  static func check(
    file: String, path: String, corrects: Bool = false, unless isBusy: () -> Bool = { false }
  ) throws(JournalError) -> Finding {
    var last: JournalBytes?
    var corrects = corrects
    let end = ContinuousClock.now + .seconds(JournalOpening.busyLimitSeconds)
    while true {
      let files: JournalBytes
      do throws(JournalError) {
        files = try JournalBytes(path: file, named: path, operation: "open")
      } catch {
        // Of a file that cannot be opened SQLite reports a better reason.
        if let cause = error.underlying, cause.number & 0xFF == SQLITE_CANTOPEN { return .undecided }
        throw error
      }
      let finding = inspect(files)
      guard case .damaged(let text) = finding else { return finding }
      if isBusy() {
        if ContinuousClock.now < end { continue }
        return .undecided
      }
      if corrects, let bit = ambiguousBit(of: files) {
        corrects = false
        try files.flip(bit, inLogOf: file, named: path)
        continue
      }
      // A file that is being changed looks corrupt, but never twice in the same way.
      guard files != last else { throw JournalError(.corrupt(text), path: path, operation: "open") }
      last = files
    }
  }

  /// The only bit of the log's last transaction that makes all sound; nil if there is none.
  private static func ambiguousBit(of files: JournalBytes) -> JournalLog.WrongBit? {
    var log = JournalLog(files.log)
    guard let bit = log.damage?.ambiguousBit else { return nil }
    log.flip(bit)
    return inspect(JournalBytes(database: files.database, log: log.bytes)).snapshot == nil ? nil : bit
  }

  /// The state of the files.
  enum Finding: Equatable {
    /// The file is missing or empty, and there is no log.
    case empty
    /// A database without tables and without an owner.
    case unused
    /// All checks passed; what it holds.
    case sound(JournalSnapshot, JournalImage)
    /// Not an outbox.
    case foreign
    /// Written by a later version of this program.
    case tooNew(version: Int)
    /// With a rollback journal, or changing all the time: left to SQLite.
    case undecided
    /// Corrupt; the text is the finding.
    case damaged(String)

    /// What a sound one holds.
    var snapshot: JournalSnapshot? {
      if case .sound(let snapshot, _) = self { snapshot } else { nil }
    }
  }

  static func inspect(_ files: JournalBytes) -> Finding {
    if files.hasRollbackJournal { return .undecided }
    let log = JournalLog(files.log)
    guard !files.database.isEmpty else {
      let hasLog = files.log.contains { $0 != 0 }
      return hasLog ? .damaged("it has no content, but a log") : .empty
    }
    guard files.database.count >= JournalFileHeader.lengthBytes else {
      return .damaged("it ends in its header")
    }
    let header = JournalFileHeader(files.database)
    switch header.likeness {
    case .foreign: return .foreign
    case .damagedOutbox: return .damaged("its header has wrong bits")
    case .outbox, .unowned: break
    }
    if let damage = log.damage { return .damaged(damage.text) }
    guard let pageBytes = header.pageBytes else { return .damaged("its header has wrong bits") }
    if let logged = log.header?.pageBytes, logged != pageBytes, !log.committed.isEmpty {
      return .damaged("its log has pages of another size")
    }
    let image = JournalImage(
      database: files.database, pageBytes: pageBytes, log: files.log, frames: log.committed)
    return inspect(image)
  }

  private static func inspect(_ image: JournalImage) -> Finding {
    do {
      let queue = try image.database()
      defer { try? queue.close() }
      return try queue.inDatabase { database in
        try database.execute(sql: "PRAGMA cell_size_check = ON")
        return try inspect(database, of: image)
      }
    } catch {
      return .damaged(JournalError(error, path: "", operation: "open").seen)
    }
  }

  private static func inspect(_ database: Database, of image: JournalImage) throws -> Finding {
    switch try JournalSchema.identity(of: database) {
    case .empty: return .unused
    case .foreign:
      let application = try Int64.fetchOne(database, sql: "PRAGMA application_id") ?? 0
      return JournalFileHeader.isLikeApplicationID(UInt32(truncatingIfNeeded: application))
        ? .damaged("its header has wrong bits") : .foreign
    case .outbox(let version):
      if let text = try JournalSchema.contradiction(in: database, version: version) { return .damaged(text) }
      guard version <= JournalSchema.version else { return .tooNew(version: version) }
      try JournalOpening.checkForDamage(database, .quick)
      return .sound(try JournalRows.snapshot(of: database), image)
    }
  }
}

extension JournalError {
  /// The observation, without the file's name.
  fileprivate var seen: String {
    if case .corrupt(let text) = code { text } else { reason }
  }
}

import GRDB
import Glibc
import SerialLink

/// The steps from a name to an open journal.
struct JournalOpening {
  /// How thoroughly to look for corruption.
  enum Search {
    /// The structure of the file.
    case quick
    /// Everything that SQLite can check.
    case thorough
  }

  /// How long to wait for another process that reads or recovers the file.
  static let busyLimitSeconds = 2.0

  /// As the user named it.
  let path: String
  let file: String
  let access: Journal.Access
  let sharing: Journal.Sharing
  /// Of the run that begins.
  let runToken: UInt32

  init(
    path: String, file: String, _ access: Journal.Access, _ sharing: Journal.Sharing, runToken: UInt32 = 0
  ) {
    self.path = path
    self.file = file
    self.access = access
    self.sharing = sharing
    self.runToken = runToken
  }

  // MARK: Before SQLite

  /// Throws the errors that follow from the file's kind and mode; SQLite would only report "unable
  /// to open".
  static func check(_ place: JournalPath, for access: Journal.Access) throws(JournalError) {
    // SQLite overwrites these. A whole database under such a name is another outbox.
    for path in ["-wal", "-shm", "-journal"].map({ place.resolved + $0 }) {
      let file: Int32
      do throws(Failure) {
        file = try RegularFile.open(path)
      } catch {
        // At a FIFO SQLite would wait.
        guard error.kind == .usage else { continue }
        throw JournalError(.helperIsOther(path), path: place.named, operation: "open")
      }
      var header = [UInt8](repeating: 0, count: JournalPath.databaseMagic.count)
      let count = read(file, &header, header.count)
      close(file)
      guard count < header.count || header != JournalPath.databaseMagic else {
        throw JournalError(.helperIsOther(path), path: place.named, operation: "open")
      }
    }
    switch place.kind {
    case .other: throw JournalError(.notAnOutbox, path: place.named, operation: "open")
    case .absent:
      if place.hasOrphanedLog {
        throw JournalError(.corrupt("it is gone, and its log is there"), path: place.named, operation: "open")
      }
      if access != .forwarding { throw JournalError(.missing, path: place.named, operation: "open") }
    case .file:
      guard Glibc.access(place.resolved, mode(for: access)) == 0 else {
        throw JournalError(errno: errno, path: place.named, operation: "open")
      }
      guard place.names == 1 else {
        let text = DatabaseFiles.linked(place.names)
        throw JournalError(.displaced(text, isSaved: true), path: place.named, operation: "open")
      }
      // A reader needs the log only.
      for suffix in access == .reading ? ["-wal"] : ["-wal", "-shm", "-journal"] {
        let helper = place.resolved + suffix
        guard Glibc.access(helper, mode(for: access)) != 0, errno == EACCES else { continue }
        throw JournalError(.helperDenied(helper), path: place.named, operation: "open")
      }
    }
  }

  private static func mode(for access: Journal.Access) -> Int32 {
    access == .reading ? R_OK : R_OK | W_OK
  }

  static func lock(_ place: JournalPath, for access: Journal.Access) throws(JournalError) -> JournalLock? {
    switch access {
    case .forwarding, .maintaining: try JournalLock.acquire(for: place, operation: "open")
    case .reading: nil
    }
  }

  /// Creates the file, for its owner only and in one step, so that a crash leaves it complete or
  /// absent. Called with the lock held.
  static func make(_ place: JournalPath, source: UInt32) throws(JournalError) {
    // A name of its own: `FILE.new` can be another outbox.
    let unfinished = "\(place.resolved).\(UInt32.random(in: 0...UInt32.max)).new"
    // SQLite would take the mode from the umask.
    let descriptor = Glibc.open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw JournalError(errno: errno, path: place.named, operation: "make") }
    Glibc.close(descriptor)
    do throws(JournalError) {
      let opening = JournalOpening(path: place.named, file: unfinished, .forwarding, .lockFile)
      let database = try opening.open(.unused, source: source)
      do {
        // Checkpoints the log into the file and removes it.
        try database.close()
      } catch {
        throw JournalError(error, path: place.named, operation: "make")
      }
      guard rename(unfinished, place.resolved) == 0 else {
        throw JournalError(errno: errno, path: place.named, operation: "make")
      }
    } catch {
      removeAll(of: unfinished)
      throw error
    }
    syncFolder(of: place)
  }

  private static func removeAll(of file: String) {
    for suffix in ["", "-wal", "-shm", "-journal"] { unlink(file + suffix) }
  }

  /// Makes the new name durable. If that fails, a power failure can remove the name, and with it
  /// all queued notifications.
  private static func syncFolder(of place: JournalPath) {
    let folder = place.resolved.lastIndex(of: "/").map { String(place.resolved[...$0]) } ?? "."
    let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = fsync(descriptor)
    Glibc.close(descriptor)
  }

  /// Looks for corruption in the bytes of the files, and throws its finding.
  func inspect(_ place: JournalPath?) throws(JournalError) -> JournalInspection.Finding {
    let access = access
    let finding = try JournalInspection.check(file: file, path: path, corrects: access != .reading) {
      guard access == .reading, let place else { return false }
      return JournalLock.isTaken(for: place)
    }
    switch (finding, sharing) {
    case (.empty, .lockFile): throw failure(.corrupt("it is empty"))
    case (.unused, .lockFile): throw failure(.corrupt("it has no tables"))
    case (.tooNew(let version), _): throw failure(.tooNew(version: version))
    // SQLite would create files next to it.
    case (.foreign, _) where access == .reading: throw failure(.notAnOutbox)
    case (.empty, .exclusive), (.unused, .exclusive), (.sound, _), (.foreign, _), (.undecided, _),
      (.damaged, _):
      return finding
    }
  }

  // MARK: With SQLite

  /// The open database, known to be an outbox of a version that this program reads.
  ///
  /// For `forwarding` the run is counted, unless the database was only created for it. For
  /// `reading` it is a copy in memory: SQLite would create files next to the database, and fail
  /// where it cannot.
  func open(_ finding: JournalInspection.Finding, source: UInt32) throws(JournalError) -> DatabaseQueue {
    do {
      if access == .reading, sharing == .lockFile, case .sound(_, let image) = finding {
        return try image.database()
      }
      let database = try DatabaseQueue(path: file, configuration: configuration)
      do {
        try database.writeWithoutTransaction { database in
          try database.explaining(path, "open") { try prepare(database, finding, source: source) }
        }
        return database
      } catch {
        try? database.close()
        throw error
      }
    } catch {
      throw explained(error)
    }
  }

  /// The writer's row of a database of this version.
  func writer(of database: DatabaseQueue) throws(JournalError) -> JournalWriter {
    do {
      return try database.read { database in
        let (header, totals) = try JournalRows.writer(of: database, version: JournalSchema.version)
        return JournalWriter(header: header, totals: totals)
      }
    } catch {
      throw explained(error)
    }
  }

  private var configuration: Configuration {
    var configuration = Configuration()
    configuration.readonly = access == .reading
    configuration.foreignKeysEnabled = false
    configuration.label = "journal"
    configuration.busyMode = sharing == .exclusive ? .immediateError : .timeout(Self.busyLimitSeconds)
    let (sharing, path) = (sharing, path)
    configuration.prepareDatabase { database in
      try database.explaining(path, "open") {
        if sharing == .exclusive { try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
        // FULL: each commit is synced before it returns. NORMAL would lose the latest at a power
        // failure.
        try database.execute(
          sql: "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;")
      }
    }
    return configuration
  }

  private func prepare(
    _ database: Database, _ finding: JournalInspection.Finding, source: UInt32
  ) throws {
    let identity = try JournalSchema.identity(of: database)
    switch (identity, access) {
    case (.foreign, _), (.empty, .maintaining), (.empty, .reading): throw failure(.notAnOutbox)
    case (.outbox(let version), _) where version > JournalSchema.version:
      throw failure(.tooNew(version: version))
    case (.outbox(let version), _) where version < 1: throw failure(.notAnOutbox)
    case (.outbox, .reading): break
    case (.outbox(let version), .maintaining):
      if finding.snapshot == nil { try Self.checkForDamage(database, .quick) }
      try database.inTransaction(.immediate) {
        try JournalSchema.migrate(database, from: version)
        return .commit
      }
    case (.outbox(let version), .forwarding):
      if finding.snapshot == nil { try Self.checkForDamage(database, .quick) }
      try setUpLog(database)
      try database.inTransaction(.immediate) {
        try JournalSchema.migrate(database, from: version)
        try JournalRows.countRun(in: database, token: runToken)
        return .commit
      }
    case (.empty, .forwarding):
      try setUpLog(database)
      try database.inTransaction(.immediate) {
        try JournalSchema.create(in: database, source: source)
        if sharing == .exclusive { try JournalRows.countRun(in: database, token: runToken) }
        return .commit
      }
    }
  }

  /// A write-ahead log: one sync per commit, and readers that block nobody.
  private func setUpLog(_ database: Database) throws {
    let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
    guard mode == "wal" else { throw DatabaseError(resultCode: .SQLITE_IOERR, message: "no write-ahead log") }
  }

  static func checkForDamage(_ database: Database, _ search: Search) throws {
    let sql =
      switch search {
      case .quick: "PRAGMA quick_check(1)"
      case .thorough: "PRAGMA integrity_check(1)"
      }
    let result = try String.fetchOne(database, sql: sql) ?? "no result"
    guard result == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: result) }
  }

  private func failure(_ code: JournalError.Code) -> JournalError {
    JournalError(code, path: path, operation: "open")
  }

  /// The meaning of an SQLite error while opening. SQLite also reports "unable to open" if it
  /// cannot make a file next to it; what the system says to that is the reason.
  private func explained(_ error: any Error) -> JournalError {
    var result = JournalError(error, path: path, operation: "open")
    guard result.isUnexplained, sharing == .lockFile else { return result }
    guard access != .reading else {
      // The folder was there.
      result.code = .inputOutput
      return result
    }
    let probe = file + ".new"
    let descriptor = Glibc.open(probe, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      return errno == EEXIST ? result : JournalError(errno: errno, path: path, operation: "open")
    }
    unlink(probe)
    Glibc.close(descriptor)
    return result
  }
}

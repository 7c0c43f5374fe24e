import GRDB
import GRDBSQLite
import Glibc

// Where errors come from, and what their numbers mean.

extension JournalError {
  /// The error for an error of the database.
  package init(_ error: any Error, path: String, operation: String) {
    switch error {
    case let error as JournalError: self = error
    case let error as DatabaseError: self.init(Cause(error), path: path, operation: operation)
    default: self.init(.corrupt("\(error)"), path: path, operation: operation)
    }
  }

  /// The error with this cause.
  init(_ cause: Cause, path: String, operation: String) {
    self.init(Code(cause), path: path, operation: operation, underlying: cause)
  }

  /// The system's error `number`, on the way to `path`.
  init(errno number: Int32, path: String, operation: String) {
    let cause = Cause(message: String(cString: strerror(number)), systemNumber: number)
    self.init(Code(errno: number) ?? .inputOutput, path: path, operation: operation, underlying: cause)
  }

  /// Whether SQLite could not open a file and the system's reason is not known: after it cannot
  /// create a file, it tries to read it, and reports that it is missing.
  var isUnexplained: Bool {
    guard let underlying, [0, ENOENT].contains(underlying.systemNumber) else { return false }
    return underlying.number & 0xFF == SQLITE_CANTOPEN
  }
}

extension JournalError.Code {
  /// Source: sqlite.org/rescode.html.
  fileprivate init(_ cause: JournalError.Cause) {
    let code = ResultCode(rawValue: cause.number)
    self =
      switch code.primaryResultCode {
      case .SQLITE_FULL: .diskFull
      case .SQLITE_BUSY, .SQLITE_LOCKED: .locked(pid: nil)
      case .SQLITE_READONLY: .readOnly
      case .SQLITE_PERM, .SQLITE_AUTH: .permissionDenied
      case .SQLITE_NOTADB: .notAnOutbox
      case .SQLITE_CORRUPT: .corrupt(cause.message)
      // In this program's own tables: another program has changed them.
      case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_ERROR: .corrupt(cause.message)
      case .SQLITE_IOERR:
        switch code {
        // It is not known what is on the disk, for whatever reason.
        case .SQLITE_IOERR_FSYNC, .SQLITE_IOERR_DIR_FSYNC: .inputOutput
        // The file is open: this is not about the user's rights.
        case _ where cause.systemNumber == EPERM || cause.systemNumber == EACCES: .inputOutput
        case _: Self(errno: cause.systemNumber) ?? .inputOutput
        }
      case _: Self(errno: cause.systemNumber) ?? .inputOutput
      }
  }

  /// nil: neither the path, nor the user's rights, nor want of room.
  fileprivate init?(errno number: Int32) {
    switch number {
    case ENOENT: self = .directoryMissing
    case ENOTDIR, ELOOP, ENAMETOOLONG: self = .badPath
    case EACCES, EPERM: self = .permissionDenied
    case EROFS: self = .readOnly
    case ENOSPC, EDQUOT: self = .diskFull
    case _: return nil
    }
  }
}

extension JournalError.Cause {
  /// An error of SQLite with that of the system behind it; 0: none.
  init(_ error: DatabaseError, system number: Int32 = 0) {
    self.init(
      number: error.extendedResultCode.rawValue, message: error.message ?? "\(error.resultCode)",
      systemNumber: number)
  }

  /// What happened and what to do about it, of an error number.
  typealias Words = (reason: String, hint: String)

  /// nil: the numbers say no more than the message.
  var words: Words? { systemWords ?? databaseWords }

  private var systemWords: Words? {
    let again = "then start again"
    return switch systemNumber {
    case ENOSPC: ("no space or no inodes left on the disk", "free space on the disk (see: df, df -i)")
    case EDQUOT: ("the disk quota is used up", "free space within the quota (see: quota)")
    case EFBIG: ("a limit on the size of files is reached", "raise it (see: ulimit -f), \(again)")
    case EMFILE: ("this process has too many open files", "raise the limit (see: ulimit -n), \(again)")
    case ENFILE: ("the computer has too many open files", "stop other programs, \(again)")
    case ENOMEM: ("there is not enough memory", "stop other programs, \(again)")
    case ENOTDIR: ("a part of its path is not a folder", "check the path")
    case ELOOP: ("its symbolic links form a loop", "check the path")
    case ENAMETOOLONG: ("its path is too long", "check the path")
    case EIO: ("the disk cannot read or write it", "check the disk and its file system")
    case ENXIO, ENODEV: ("its disk is gone", "connect the disk, \(again)")
    case ESTALE: ("its network file system has lost it", "mount the file system again, \(again)")
    case ENOLCK: ("its file system has no working locks", "choose a folder on another file system")
    case EPERM, EACCES: ("the system does not permit it any more", "look at its attributes (see: lsattr)")
    case _: nil
    }
  }

  /// Source: sqlite.org/rescode.html.
  private var databaseWords: Words? {
    let check = "check the disk and its file system"
    return switch ResultCode(rawValue: number) {
    case .SQLITE_NOMEM, .SQLITE_IOERR_NOMEM: ("there is not enough memory", "stop other programs")
    case .SQLITE_CANTOPEN: ("it, or a file next to it, cannot be opened", "check its folder")
    case .SQLITE_PROTOCOL: ("another program holds its locks", "stop that program")
    case .SQLITE_NOLFS: ("a limit of its file system is reached", "choose a folder on another file system")
    case .SQLITE_IOERR_READ: ("the disk cannot read it", check)
    case .SQLITE_IOERR_SHORT_READ: ("it ends too early", check)
    case .SQLITE_IOERR_WRITE, .SQLITE_IOERR_TRUNCATE: ("the disk cannot write it", check)
    case .SQLITE_IOERR_FSYNC, .SQLITE_IOERR_DIR_FSYNC:
      ("the disk does not confirm what was written", check)
    case .SQLITE_IOERR_LOCK, .SQLITE_IOERR_RDLOCK, .SQLITE_IOERR_SHMLOCK:
      ("its file system has no working locks", "choose a folder on another file system")
    case .SQLITE_IOERR_SHMOPEN, .SQLITE_IOERR_SHMSIZE, .SQLITE_IOERR_SHMMAP:
      ("its index, the file ending in -shm, cannot be used", check)
    case .SQLITE_IOERR: ("the disk does not work as it should (SQLite error \(number))", check)
    case _: nil
    }
  }
}

extension Database {
  /// Runs `body`; an error of its input or output comes with the system's number. `path` and
  /// `operation` are those of its errors.
  func explaining<Value>(_ path: String, _ operation: String, _ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as DatabaseError {
      let isSystems = [.SQLITE_IOERR, .SQLITE_CANTOPEN].contains(error.resultCode)
      let number = isSystems ? sqlite3_system_errno(sqliteConnection) : 0
      throw JournalError(JournalError.Cause(error, system: number), path: path, operation: operation)
    }
  }
}

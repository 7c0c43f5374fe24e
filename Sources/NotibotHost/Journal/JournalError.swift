import GRDB
import Glibc
import NotibotProtocol
package import SerialLink

/// Why a journal could not be opened, read or written: what happened, which file, during what, and
/// what to do about it.
package struct JournalError: Error, Hashable, Sendable {
  /// What went wrong.
  package enum Code: Hashable, Sendable {
    /// No such file.
    case missing
    /// Its folder does not exist.
    case directoryMissing
    /// The file that locks it, at this path, is a symbolic link: another file would be written to.
    case lockIsLink(String)
    /// Another process sends from it or changes it; `nil` if that process is unknown.
    case locked(pid: Int32?)
    /// The user is not permitted to open, write or create it.
    case permissionDenied
    /// The file or its file system is read-only.
    case readOnly
    /// No space. The commit failed as a whole, and can be retried.
    case diskFull
    /// Another program's database, or no database.
    case notAnOutbox
    /// Written by a later version of this program.
    case tooNew(version: Int)
    /// Damaged; the text is the finding.
    case corrupt(String)
    /// Reading or writing failed. After the journal is opened again, such a commit is either
    /// complete or absent.
    case inputOutput
    /// Used after `close`.
    case closed
  }

  /// The error of SQLite or of the system.
  package struct Cause: Hashable, Sendable {
    /// SQLite's extended result code, or the system's error number.
    package var number: Int32
    package var message: String

    package init(number: Int32, message: String) {
      self.number = number
      self.message = message
    }
  }

  package var code: Code
  /// The journal as the user named it.
  package var path: String
  /// The operation that failed, as a verb: "open", "read", "write".
  package var operation: String
  /// The underlying error; `nil` if this program detected the error.
  package var underlying: Cause?

  package init(_ code: Code, path: String, operation: String, underlying: Cause? = nil) {
    self.code = code
    self.path = path
    self.operation = operation
    self.underlying = underlying
  }
}

extension JournalError: ClassifiedError {
  package var kind: FailureKind {
    switch code {
    case .missing, .directoryMissing, .notAnOutbox, .tooNew: .usage
    case .locked: .portBusy
    case .permissionDenied, .readOnly: .noPermission
    case .diskFull, .corrupt, .inputOutput, .lockIsLink, .closed: .unfitEnvironment
    }
  }

  /// One line without the hint: what, which file, why. Safe to print.
  package var description: String {
    "cannot \(operation) the outbox \(shown(path)): \(reason)"
  }

  /// Why, in a few words. Safe to print.
  package var reason: String {
    switch code {
    case .missing: "no such file"
    case .directoryMissing: "its folder does not exist"
    case .lockIsLink(let lock): "its lock file \(shown(lock)) is a symbolic link"
    case .locked(.some(let pid)) where pid == getpid(): "already in use by this process"
    case .locked(.some(let pid)): "in use by process \(pid)"
    case .locked(nil): "in use by another process"
    case .permissionDenied: "permission denied"
    case .readOnly: "the file or its file system is read-only"
    case .diskFull: "no space left on the disk"
    case .notAnOutbox: "not an outbox file"
    case .tooNew(let version):
      "its version is \(version), this program supports up to \(JournalSchema.version)"
    case .corrupt(let text): "the file is damaged: \(shown(text))"
    case .inputOutput:
      underlying.map { "\(shown($0.message)) (error \($0.number))" } ?? "input/output error"
    case .closed: "already closed"
    }
  }

  /// One line: the action for the user. Safe to print.
  package var hint: String {
    switch code {
    case .missing: "check the path"
    case .directoryMissing: "create the folder first, or choose another path"
    case .lockIsLink(let lock): "remove the link: rm \(shown(lock))"
    case .locked(.some(let pid)) where pid != getpid(): "stop process \(pid), or wait until it ends"
    case .locked: "stop the program that uses it (find it with: fuser -v \(shown(path)))"
    case .permissionDenied: "run this as the user who created it; its folder must be writable for that user"
    case .readOnly: "copy it to a writable folder, and use only the copy"
    case .diskFull: "free space on the disk; notifications reported as queued are not lost"
    case .notAnOutbox: "check the path; the file was not changed"
    case .tooNew: "update this program"
    case .corrupt:
      "the file was not changed; salvage its readable notifications, then move its files away"
    case .inputOutput: "check the disk and its file system"
    case .closed: ""
    }
  }

  private func shown(_ text: String) -> String {
    TerminalText.sanitised(text.utf8.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 })
  }
}

// MARK: Where errors come from

extension JournalError {
  /// The error for an error of the database.
  package init(_ error: any Error, path: String, operation: String) {
    switch error {
    case let error as JournalError: self = error
    case let error as DatabaseError:
      let cause = Cause(
        number: error.extendedResultCode.rawValue, message: error.message ?? "\(error.resultCode)")
      self.init(Code(error), path: path, operation: operation, underlying: cause)
    default: self.init(.corrupt("\(error)"), path: path, operation: operation)
    }
  }

  /// The system's error `number`, on the way to `path`.
  init(errno number: Int32, path: String, operation: String) {
    let code: Code =
      switch number {
      case ENOENT, ENOTDIR, ELOOP: .directoryMissing
      case EACCES, EPERM: .permissionDenied
      case EROFS: .readOnly
      case ENOSPC, EDQUOT: .diskFull
      case _: .inputOutput
      }
    let cause = Cause(number: number, message: String(cString: strerror(number)))
    self.init(code, path: path, operation: operation, underlying: cause)
  }
}

extension JournalError.Code {
  /// Source: sqlite.org/rescode.html.
  fileprivate init(_ error: DatabaseError) {
    self =
      switch error.resultCode {
      case .SQLITE_FULL: .diskFull
      case .SQLITE_BUSY, .SQLITE_LOCKED: .locked(pid: nil)
      case .SQLITE_READONLY: .readOnly
      case .SQLITE_PERM, .SQLITE_AUTH: .permissionDenied
      case .SQLITE_NOTADB: .notAnOutbox
      case .SQLITE_CORRUPT: .corrupt(error.message ?? "malformed")
      // In this program's own tables: another program has changed them.
      case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_ERROR: .corrupt(error.message ?? "malformed")
      case _: .inputOutput
      }
  }
}

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
    /// The path can lead to no file, for the reason of the underlying error.
    case badPath
    /// The file next to it that locks it or is SQLite's, at this path, is a link or another file:
    /// writing to it would destroy it.
    case helperIsOther(String)
    /// The user is not permitted to use the file next to it at this path, which is SQLite's.
    case helperDenied(String)
    /// Its files are no longer the ones that this process opened, or no longer as it left them; the
    /// text says which. `isSaved`: the file has all that was committed, under whatever name.
    case displaced(String, isSaved: Bool)
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

  /// The error of SQLite, and that of the system behind it.
  package struct Cause: Hashable, Sendable {
    /// SQLite's extended result code; 0: it was not SQLite's error.
    package var number: Int32
    package var message: String
    /// The system's error number; 0: none.
    package var systemNumber: Int32

    package init(number: Int32 = 0, message: String = "", systemNumber: Int32 = 0) {
      self.number = number
      self.message = message
      self.systemNumber = systemNumber
    }
  }

  package var code: Code
  /// The journal as the user named it.
  package var path: String
  /// The operation that failed, as a verb: "open", "read", "write".
  package var operation: String
  /// What the file is.
  package var subject = "the outbox"
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
  private var wasOpen: Bool { ["write", "close"].contains(operation) }

  package var kind: FailureKind {
    switch code {
    case .missing, .directoryMissing, .badPath, .notAnOutbox, .tooNew: .usage
    // One that could be written when it was opened has a problem of another kind.
    case .locked: wasOpen ? .unfitEnvironment : .portBusy
    case .permissionDenied, .helperDenied, .readOnly: wasOpen ? .unfitEnvironment : .noPermission
    case .diskFull, .corrupt, .inputOutput, .helperIsOther, .displaced, .closed: .unfitEnvironment
    }
  }

  /// One line without the hint: what, which file, why. Safe to print.
  package var description: String {
    "cannot \(operation) \(subject) \(shown(path)): \(reason)"
  }

  /// Why, in a few words. Safe to print.
  package var reason: String {
    switch code {
    case .missing: "no such file"
    case .directoryMissing: "its folder does not exist"
    case .badPath: underlying?.words?.reason ?? "it is not a path"
    case .helperIsOther(let lock): "its file \(shown(lock)) is a link or another file"
    case .helperDenied(let path): "no permission for its file \(shown(path))"
    case .displaced(let text, _): shown(text)
    case .locked(.some(let pid)) where pid == getpid(): "already in use by this process"
    case .locked(.some(let pid)): "in use by process \(pid)"
    case .locked(nil): "in use by another process"
    case .permissionDenied: "permission denied"
    case .readOnly: "the file or its file system is read-only"
    case .diskFull: underlying?.words?.reason ?? "no space left on the disk"
    case .notAnOutbox: "not an outbox file"
    case .tooNew(let version):
      "its version is \(version), this program supports up to \(JournalSchema.version)"
    case .corrupt(let text): "the file is damaged: \(shown(text))"
    case .inputOutput: underlying.map { $0.words?.reason ?? shown($0.message) } ?? "input/output error"
    case .closed: "already closed"
    }
  }

  /// One line: the action for the user. Safe to print.
  package var hint: String {
    switch code {
    case .missing, .badPath: "check the path"
    case .directoryMissing: "create the folder first, or choose another path"
    case .helperIsOther: "move it away, or choose another name for the outbox"
    case .helperDenied(let file):
      "give it the outbox's owner, as root: chown --reference=\(shown(path)) \(shown(file))"
    case .displaced(_, isSaved: true):
      "it has all notifications reported as queued: give it its one name again, and start again"
    case .displaced(_, isSaved: false):
      "stop the programs that use it and put its files back; notifications reported as queued can be missing"
    case .locked(.some(let pid)) where pid != getpid(): "stop process \(pid), or wait until it ends"
    case .locked: "stop the program that uses it (find it with: fuser -v \(shown(path)))"
    case .permissionDenied: "run this as the user who created it; its folder must be writable for that user"
    case .readOnly: "copy it to a writable folder, and use only the copy"
    case .diskFull:
      "\(underlying?.words?.hint ?? "free space on the disk"); notifications reported as queued are not lost"
    case .notAnOutbox: "check the path; the file was not changed"
    case .tooNew: "update this program"
    case .corrupt:
      "the file was not changed; salvage its readable notifications, then move its files away"
    case .inputOutput: underlying?.words?.hint ?? "check the disk and its file system"
    case .closed: ""
    }
  }

  private func shown(_ text: String) -> String {
    TerminalText.sanitised(text.utf8.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 })
  }
}

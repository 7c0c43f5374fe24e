import GRDB
import Glibc
import Testing

@testable import NotibotHost

/// Errors of the disk in words: what happened and what to do about it, not a number.
@Suite struct JournalCauseTests {
  private func error(_ code: ResultCode, system number: Int32) -> JournalError {
    let error = JournalError.Cause(DatabaseError(resultCode: code), system: number)
    return JournalError(error, path: "o", operation: "write")
  }

  @Test(arguments: [
    (ENOSPC, "inodes", "df -i"), (EDQUOT, "quota", "quota"), (EFBIG, "size of files", "ulimit -f"),
    (EMFILE, "open files", "ulimit -n"), (EROFS, "read-only", "writable"), (EIO, "disk", "file system"),
    (EPERM, "not permit", "lsattr"), (ENODEV, "disk is gone", "connect"),
  ])
  func `the system's reason behind an error is named, with a remedy`(
    number: Int32, reason: String, remedy: String
  ) {
    for code in [ResultCode.SQLITE_IOERR_WRITE, .SQLITE_IOERR_SHMSIZE] {
      let error = error(code, system: number)
      #expect(error.reason.contains(reason), "\(error)")
      #expect(error.hint.contains(remedy), "\(error.hint)")
    }
  }

  @Test(arguments: [
    ResultCode.SQLITE_CANTOPEN, .SQLITE_CANTOPEN_ISDIR, .SQLITE_IOERR, .SQLITE_IOERR_READ,
    .SQLITE_IOERR_WRITE, .SQLITE_IOERR_FSYNC, .SQLITE_IOERR_SHMMAP, .SQLITE_IOERR_LOCK, .SQLITE_NOMEM,
    .SQLITE_PROTOCOL, .SQLITE_NOLFS,
  ])
  func `an error of SQLite alone is in words, too`(code: ResultCode) {
    let error = error(code, system: 0)
    #expect(error.underlying?.words != nil)
    #expect(!error.reason.contains("error \(code.rawValue))") || code == .SQLITE_IOERR)
  }

  @Test func `want of room of every kind can be repeated, after a failed sync nothing can`() {
    #expect(error(.SQLITE_IOERR_WRITE, system: EDQUOT).code == .diskFull)
    #expect(error(.SQLITE_CANTOPEN, system: ENOSPC).code == .diskFull)
    #expect(error(.SQLITE_IOERR_FSYNC, system: ENOSPC).code == .inputOutput)
  }

  @Test func `a file that can no longer be written is a matter of the environment`() {
    for (operation, code) in [("open", NotibotError.Code.noPermission), ("write", .environment)] {
      let error = JournalError(.readOnly, path: "o", operation: operation)
      #expect(NotibotError(error).code == code)
    }
  }
}

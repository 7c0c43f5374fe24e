import GRDBSQLite
import Glibc

/// The bytes of a journal's files as they are on the disk, before SQLite has looked at them.
///
/// Read through SQLite's own file system layer: closing any other descriptor of the database would
/// end the locks that SQLite has on it in this process, and simulated disks exist only there.
/// Source: sqlite.org/howtocorrupt.html, section 2.2; sqlite.org/c3ref/vfs.html.
struct JournalBytes: Equatable {
  /// Empty when there is no such file.
  var database: [UInt8]
  /// The write-ahead log; empty when there is none.
  var log: [UInt8]
  /// Whether a rollback journal is there: SQLite was about to change the file without a log.
  var hasRollbackJournal: Bool

  init(database: [UInt8], log: [UInt8], hasRollbackJournal: Bool = false) {
    self.database = database
    self.log = log
    self.hasRollbackJournal = hasRollbackJournal
  }

  /// Reads all files of the database at `path`, and changes nothing. `named` and `operation` are
  /// those of its errors.
  init(path: String, named: String, operation: String) throws(JournalError) {
    let disk = try JournalDisk(path: named, operation: operation, problem: "the disk cannot read it")
    // The log first: whatever a checkpoint then moves out of it is read from the database as well.
    log = try disk.read(path + "-wal")
    database = try disk.read(path)
    hasRollbackJournal = try disk.exists(path + "-journal")
  }

  /// Flips a bit of the log of the database at `path`, durably.
  func flip(_ bit: JournalLog.WrongBit, inLogOf path: String, named: String) throws(JournalError) {
    let disk = try JournalDisk(path: named, operation: "open", problem: "its log cannot be written")
    var byte = log[bit.offset] ^ bit.mask
    try disk.withFile(path + "-wal", SQLITE_OPEN_READWRITE) { file, methods throws(JournalError) in
      for result in [
        methods.xWrite(file, &byte, 1, sqlite3_int64(bit.offset)), methods.xSync(file, SQLITE_SYNC_FULL),
      ] where result != SQLITE_OK {
        throw disk.error(result)
      }
    }
  }
}

/// SQLite's file system layer, with the words of its errors.
private struct JournalDisk {
  private let vfs: UnsafeMutablePointer<sqlite3_vfs>
  private let path: String
  private let operation: String
  private let problem: String

  init(path: String, operation: String, problem: String) throws(JournalError) {
    (self.path, self.operation, self.problem) = (path, operation, problem)
    guard let vfs = sqlite3_vfs_find(nil) else {
      let cause = JournalError.Cause(number: SQLITE_NOMEM, message: problem)
      throw JournalError(.inputOutput, path: path, operation: operation, underlying: cause)
    }
    self.vfs = vfs
  }

  /// The error for SQLite's result code, right after the call that failed.
  func error(_ code: Int32) -> JournalError {
    let isSystems = [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xFF) && code != Self.shortRead
    let number = isSystems ? errno : 0
    let cause = JournalError.Cause(number: code, message: problem, systemNumber: number)
    return JournalError(.inputOutput, path: path, operation: operation, underlying: cause)
  }

  /// Whether the file exists and is not empty.
  func exists(_ path: String) throws(JournalError) -> Bool {
    var isThere: Int32 = 0
    let result = vfs.pointee.xAccess(vfs, path, SQLITE_ACCESS_EXISTS, &isThere)
    guard result == SQLITE_OK else { throw error(result) }
    return isThere != 0
  }

  /// Each file is opened as a database, the log too: a log is opened with the mode of its database,
  /// which may be gone.
  func read(_ path: String) throws(JournalError) -> [UInt8] {
    guard try exists(path) else { return [] }
    return try withFile(path, SQLITE_OPEN_READONLY, content)
  }

  func withFile<Value>(
    _ path: String, _ mode: Int32,
    _ body: (UnsafeMutablePointer<sqlite3_file>, sqlite3_io_methods) throws(JournalError) -> Value
  ) throws(JournalError) -> Value {
    guard let name = sqlite3_create_filename(path, "", "", 0, nil) else { throw error(SQLITE_NOMEM) }
    defer { sqlite3_free_filename(name) }
    let room = Int(vfs.pointee.szOsFile)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 16)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: room)
    let file = memory.assumingMemoryBound(to: sqlite3_file.self)
    var flags: Int32 = 0
    let result = vfs.pointee.xOpen(vfs, name, file, mode | SQLITE_OPEN_MAIN_DB, &flags)
    defer { if let methods = file.pointee.pMethods { _ = methods.pointee.xClose(file) } }
    guard result == SQLITE_OK, let methods = file.pointee.pMethods else {
      throw error(result == SQLITE_OK ? SQLITE_CANTOPEN : result)
    }
    return try body(file, methods.pointee)
  }

  private static let chunkBytes = 1 << 20

  private func content(
    of file: UnsafeMutablePointer<sqlite3_file>, _ methods: sqlite3_io_methods
  ) throws(JournalError) -> [UInt8] {
    var size: sqlite3_int64 = 0
    var result = methods.xFileSize(file, &size)
    guard result == SQLITE_OK, size >= 0 else { throw error(result) }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    result = bytes.withUnsafeMutableBytes { buffer in
      for offset in stride(from: 0, to: buffer.count, by: Self.chunkBytes) {
        let count = min(Self.chunkBytes, buffer.count - offset)
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[offset..<offset + count])
        let result = methods.xRead(file, part.baseAddress, Int32(count), sqlite3_int64(offset))
        // A file that is truncated meanwhile reads as zeros there.
        guard result == SQLITE_OK || result == Self.shortRead else { return result }
      }
      return SQLITE_OK
    }
    guard result == SQLITE_OK else { throw error(result) }
    return bytes
  }

  /// SQLITE_IOERR_SHORT_READ, which Swift does not import.
  private static let shortRead = SQLITE_IOERR | 2 << 8
}

extension [UInt8] {
  /// The value whose most significant byte is at `offset`; nil when it runs past the end.
  func bigEndian<Value: FixedWidthInteger & UnsignedInteger>(at offset: Int, as type: Value.Type) -> Value? {
    guard offset >= 0, offset <= count - Value.bitWidth / 8 else { return nil }
    return self[offset..<offset + Value.bitWidth / 8].reduce(0) { $0 << 8 | Value($1) }
  }
}

import Glibc

/// The lock that keeps a second process from sending from a journal: an flock on the file
/// `JOURNAL.lock` next to it, which contains the holder's pid. The kernel releases it when the
/// process ends for any reason; a leftover file locks nobody out. `deinit` releases the lock and
/// removes the file.
///
/// Not a lock of the journal itself: closing any descriptor of that file would end the locks that
/// SQLite has on it in this process. Source: fcntl(2), "Record locking";
/// sqlite.org/howtocorrupt.html, section 2.2.
///
/// The name of that file is not enough: it can be deleted, and a journal can have two names. So the
/// journal itself is locked as well (`lockContent`), at a byte that SQLite does not use and with an
/// open file description lock, which no other descriptor's end releases.
struct JournalLock: ~Copyable, Sendable {
  private let descriptor: Int32
  private let path: String
  /// The journal itself; nil: it is not there yet.
  private(set) var content: Int32?

  /// Behind the bytes that SQLite locks. Source: sqlite.org/src, os.h, `PENDING_BYTE` and
  /// `SHARED_SIZE`.
  private static let lockedByte = off_t(0x4000_0000 + 1024)

  /// Bytes of a lock file, at most.
  private static let lockBytes = 16

  private init(descriptor: Int32, path: String) {
    (self.descriptor, self.path) = (descriptor, path)
  }

  /// Acquires the lock of the journal at `path`, with all symbolic links resolved. Throws `.locked`
  /// if it is held.
  static func acquire(for journal: JournalPath, operation: String) throws(JournalError) -> JournalLock {
    let path = journal.resolved + ".lock"
    // A holder removes the file when it releases the lock, so the file opened here can be gone once
    // it is locked. The number of attempts is limited.
    for _ in 0..<100 {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0o600)
      guard descriptor >= 0 else {
        // All links of its folder are resolved: only the last component can be a link.
        if errno == ELOOP {
          throw JournalError(.helperIsOther(path), path: journal.named, operation: operation)
        }
        throw JournalError(errno: errno, path: journal.named, operation: operation)
      }
      // A lock file has a pid. Anything longer is the user's, such as another outbox.
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_size <= off_t(lockBytes) else {
        close(descriptor)
        throw JournalError(.helperIsOther(path), path: journal.named, operation: operation)
      }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let number = errno
        let holder = holder(in: descriptor)
        close(descriptor)
        guard number == EWOULDBLOCK else {
          throw JournalError(errno: number, path: journal.named, operation: operation)
        }
        throw JournalError(.locked(pid: holder), path: journal.named, operation: operation)
      }
      let lock = JournalLock(descriptor: descriptor, path: path)
      if lock.isInPlace {
        lock.writeHolder()
        return lock
      }
    }
    throw JournalError(.locked(pid: nil), path: journal.named, operation: operation)
  }

  /// Whether another process, or another journal of this one, has the lock of the journal at
  /// `path`. A process that takes the lock at the same moment can be refused: use this only after
  /// an error.
  static func isTaken(for journal: JournalPath) -> Bool {
    let descriptor = open(journal.resolved + ".lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  deinit {
    if isInPlace { unlink(path) }
    close(descriptor)
    if let content { close(content) }
  }

  /// Locks the journal itself. SQLite must not have it open yet in this process, and must have
  /// closed it before this lock ends. Throws `.locked` if another process has done so, under
  /// whatever name.
  mutating func lockContent(of journal: JournalPath, operation: String) throws(JournalError) {
    let descriptor = open(journal.resolved, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY)
    guard descriptor >= 0 else {
      throw JournalError(errno: errno, path: journal.named, operation: operation)
    }
    content = descriptor
    var byte = flock()
    (byte.l_type, byte.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
    (byte.l_start, byte.l_len) = (Self.lockedByte, 1)
    guard fcntl(descriptor, Self.setLock, &byte) != 0, errno == EAGAIN || errno == EACCES else { return }
    throw JournalError(.locked(pid: nil), path: journal.named, operation: operation)
  }

  /// F_OFD_SETLK, which Swift does not import.
  private static let setLock: Int32 = 37

  /// What is wrong with the lock; nil: other processes meet it where they look.
  var problem: String? {
    isInPlace ? nil : "its lock file \(path) was deleted, moved or replaced while in use"
  }

  /// Whether the locked file is still the one that others would open.
  private var isInPlace: Bool {
    var locked = stat()
    var found = stat()
    return fstat(descriptor, &locked) == 0 && lstat(path, &found) == 0
      && locked.st_ino == found.st_ino && locked.st_dev == found.st_dev
  }

  /// For the error message of the next process; the lock works without it.
  private func writeHolder() {
    let text = "\(getpid())\n"
    if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, text, text.utf8.count, 0) }
  }

  /// The pid in a lock file, `nil` if there is none.
  private static func holder(in descriptor: Int32) -> Int32? {
    var bytes = [UInt8](repeating: 0, count: lockBytes)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    let digits = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
    return Int32(String(decoding: digits, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
  }
}

/// The name of a journal, and the file that it leads to.
struct JournalPath: Hashable, Sendable {
  /// As the user named it.
  let named: String
  /// With all symbolic links resolved, so that two names of one file share a lock.
  let resolved: String
  /// The kind of file at this path.
  let kind: Kind
  /// How many names the file has; 0: there is none.
  private(set) var names: UInt64 = 0

  /// What any SQLite database begins with, and the length of its header. Source:
  /// sqlite.org/fileformat2.html, section 1.3.
  static let databaseMagic = Array("SQLite format 3\0".utf8)
  private static let headerBytes = 100

  enum Kind: Hashable, Sendable {
    case absent
    case file
    /// A folder, a terminal, a dangling link; a non-empty file that is too short for a database.
    case other
  }

  /// Whether there is a log without its database.
  var hasOrphanedLog: Bool {
    var status = stat()
    return kind == .absent && stat(resolved + "-wal", &status) == 0 && status.st_size > 0
  }

  /// Inspects the path without opening anything. Throws `.directoryMissing` and system errors.
  init(_ named: String, operation: String) throws(JournalError) {
    self.named = named
    if let pointer = realpath(named, nil) {
      defer { free(pointer) }
      resolved = String(cString: pointer)
      var status = stat()
      guard stat(resolved, &status) == 0 else {
        throw JournalError(errno: errno, path: named, operation: operation)
      }
      names = UInt64(status.st_nlink)
      let isRegular = status.st_mode & S_IFMT == S_IFREG
      kind = isRegular && !(1..<Self.headerBytes).contains(Int(status.st_size)) ? .file : .other
      return
    }
    guard errno == ENOENT else { throw JournalError(errno: errno, path: named, operation: operation) }
    let end = named.lastIndex(of: "/")
    let folder = end.map { named[...$0] } ?? "."
    guard let pointer = realpath(String(folder), nil) else {
      throw JournalError(errno: errno, path: named, operation: operation)
    }
    defer { free(pointer) }
    let name = end.map { String(named[named.index(after: $0)...]) } ?? named
    resolved = String(cString: pointer) + "/" + name
    var status = stat()
    kind = lstat(resolved, &status) == 0 || name.isEmpty ? .other : .absent
  }
}

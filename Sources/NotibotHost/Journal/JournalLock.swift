import Glibc

/// What keeps a second process from sending from a journal: an flock of the file `JOURNAL.lock` beside it, with the
/// holder's pid in it. The kernel ends it with the process, however that ends; a file that stays then locks nobody out.
/// Let go on `deinit`, and the file removed.
///
/// Not a lock of the journal itself: closing any descriptor of that file would end the locks that SQLite has on it in this
/// process. Source: fcntl(2), "Record locking"; sqlite.org/howtocorrupt.html, section 2.2.
struct JournalLock: ~Copyable, Sendable {
  private let descriptor: Int32
  private let path: String

  /// Takes the lock of the journal at `path`, all symbolic links followed. Throws `.locked` when it is taken.
  static func take(for journal: JournalPath, operation: String) throws(JournalError) -> JournalLock {
    let path = journal.resolved + ".lock"
    // Whoever lets go removes the file, so that what was opened here may be gone when it is locked; not for ever.
    for _ in 0..<100 {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0o600)
      guard descriptor >= 0 else {
        // Its folder is known, all links followed: only the last name can be one.
        if errno == ELOOP { throw JournalError(.lockIsLink(path), path: journal.named, operation: operation) }
        throw JournalError(errno: errno, path: journal.named, operation: operation)
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

  /// Whether another process, or another journal of this one, has the lock of the journal at `path`. A process that asks
  /// for the lock at the same moment may be refused: for when something is wrong already.
  static func isTaken(for journal: JournalPath) -> Bool {
    let descriptor = open(journal.resolved + ".lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  deinit {
    unlink(path)
    close(descriptor)
  }

  /// Whether the file that is locked is still the one that others would open.
  private var isInPlace: Bool {
    var locked = stat()
    var found = stat()
    return fstat(descriptor, &locked) == 0 && lstat(path, &found) == 0
      && locked.st_ino == found.st_ino && locked.st_dev == found.st_dev
  }

  /// For the message of those who come second; the lock holds without it.
  private func writeHolder() {
    let text = "\(getpid())\n"
    if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, text, text.utf8.count, 0) }
  }

  /// The pid that stands in a lock file, `nil` when there is none.
  private static func holder(in descriptor: Int32) -> Int32? {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    let digits = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
    return Int32(String(decoding: digits, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
  }
}

/// The name of a journal, and the file that it leads to.
struct JournalPath: Hashable, Sendable {
  /// As the user named it.
  let named: String
  /// All symbolic links followed, so that two names of one file have one lock.
  let resolved: String
  /// What is there.
  let kind: Kind

  /// Of any SQLite database. Source: sqlite.org/fileformat2.html, section 1.3.
  private static let headerBytes = 100

  enum Kind: Hashable, Sendable {
    case absent
    case file
    /// A folder, a terminal, a link that leads nowhere; a file of some bytes that is too short for a database.
    case other
  }

  /// Whether a log is left of a file that is not there.
  var hasOrphanedLog: Bool {
    var status = stat()
    return kind == .absent && stat(resolved + "-wal", &status) == 0 && status.st_size > 0
  }

  /// Looks at what is there; opens nothing. Throws `.directoryMissing` and what the system says.
  init(_ named: String, operation: String) throws(JournalError) {
    self.named = named
    if let pointer = realpath(named, nil) {
      defer { free(pointer) }
      resolved = String(cString: pointer)
      var status = stat()
      guard stat(resolved, &status) == 0 else {
        throw JournalError(errno: errno, path: named, operation: operation)
      }
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

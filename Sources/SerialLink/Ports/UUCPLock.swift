import Glibc
import Synchronization

/// A UUCP lock file, `LCK..ttyUSB0`, for programs that check nothing else (ser2net, microcom).
/// Holds the owner's pid as ten characters and a newline. Removed on `deinit` if it is still ours.
///
/// Taken only while this process holds the flock of the same port, so no two processes of this
/// program race for it.
struct UUCPLock: ~Copyable, Sendable {
  /// Where the lock file is; `nil` when the directory is missing or not writable, which is
  /// tolerated.
  let path: String?
  private let inode: UInt64

  /// `nil` if there was no lock; otherwise its holder, or the content of the file.
  enum Owner: Equatable {
    case process(Int32)
    /// Not a pid: another program is writing it, or left it incomplete.
    case unreadable
  }

  /// The lock files that this process keeps while the port is opened and closed several times.
  static let reserved = Mutex<Set<String>>([])

  /// Acquires the lock of `devicePath`, replacing the file of a dead process. One that this process
  /// has reserved stays as it is.
  static func acquire(devicePath: String, directory: String, port: String) throws(PortError) -> UUCPLock {
    let path = lockPath(devicePath: devicePath, directory: directory)
    if reserved.withLock({ $0.contains(path) }) { return UUCPLock(path: nil, inode: 0) }
    let draft = "\(directory)/LTMP.\(getpid()).\(UInt32.random(in: 0 ... .max))"
    guard let inode = writeDraft(draft) else { return UUCPLock(path: nil, inode: 0) }
    defer { unlink(draft) }
    // A stale file can be followed by one that another program wrote meanwhile; the number of
    // attempts is limited.
    for _ in 0..<4 {
      // link() makes the file appear complete or not at all.
      if link(draft, path) == 0 { return UUCPLock(path: path, inode: inode) }
      guard errno == EEXIST else { return UUCPLock(path: nil, inode: 0) }
      try refuseIfLive(path: path, devicePath: devicePath, port: port)
      // Lock directories are sticky: the leftover file of another user's killed process stays, and
      // locks nobody out, because this process has the flock.
      guard unlink(path) == 0 || errno == ENOENT else { return UUCPLock(path: nil, inode: 0) }
    }
    throw PortError(.busy(nil), port: port, operation: "lock")
  }

  /// Throws `.busy` if a live process other than this one has locked `devicePath`. Changes nothing.
  static func check(devicePath: String, directory: String, port: String) throws(PortError) {
    let path = lockPath(devicePath: devicePath, directory: directory)
    try refuseIfLive(path: path, devicePath: devicePath, port: port)
  }

  /// The live process, other than this one, whose lock file names `devicePath`.
  static func liveOwner(devicePath: String, directory: String) -> Int32? {
    let path = lockPath(devicePath: devicePath, directory: directory)
    guard case .process(let pid) = owner(of: path), isHeld(path, by: pid, devicePath) else { return nil }
    return pid
  }

  /// Not by this process: only the holder of the flock asks, so the number was a former process's.
  /// Nor by one that began after the file was written and does not have the port open.
  private static func isHeld(_ path: String, by pid: Int32, _ devicePath: String) -> Bool {
    guard pid != getpid(), PortHolder.isRunning(pid) else { return false }
    guard let written = FileSystem.linkStatus(of: path)?.st_mtim.tv_sec,
      let start = PortHolder.startSeconds(of: pid), start > written + 1
    else { return true }
    return PortHolder.mayHaveOpen(pid, devicePath)
  }

  deinit {
    guard let path, let status = FileSystem.linkStatus(of: path), status.st_ino == inode else { return }
    unlink(path)
  }

  private init(path: String?, inode: UInt64) {
    self.path = path
    self.inode = inode
  }

  /// `/dev/` dropped, further slashes become `_`, as ser2net does.
  static func lockPath(devicePath: String, directory: String) -> String {
    let name = devicePath.hasPrefix("/dev/") ? String(devicePath.dropFirst(5)) : devicePath
    return "\(directory)/LCK..\(String(name.map { $0 == "/" ? "_" : $0 }))"
  }

  private static func refuseIfLive(path: String, devicePath: String, port: String) throws(PortError) {
    switch owner(of: path) {
    case nil:
      return
    case .process(let pid):
      guard isHeld(path, by: pid, devicePath) else { return }
      // Without the port open it is one that keeps a port which it has closed, or one that began in
      // the file's second: only the user can distinguish them.
      let isUser = PortHolder.mayHaveOpen(pid, devicePath)
      let holder = PortHolder(pid: pid)
      throw PortError(isUser ? .busy(holder) : .locked(file: path, by: holder), port: port, operation: "lock")
    case .unreadable: throw PortError(.locked(file: path, by: nil), port: port, operation: "lock")
    }
  }

  /// Text in any width, or the four raw bytes that very old programs write.
  static func owner(of path: String) -> Owner? {
    guard let bytes = FileSystem.contents(of: path, limitBytes: 64) else { return nil }
    let first = String(decoding: bytes, as: UTF8.self).trimmingSpaces().split(separator: " ").first
    if let first, let pid = Int32(first.prefix { !$0.isNewline }), pid > 0 { return .process(pid) }
    guard bytes.count == 4 else { return .unreadable }
    let pid = bytes.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) }
    return pid > 0 ? .process(pid) : .unreadable
  }

  /// The inode of a new file with our pid in it, or `nil` when the directory does not take one.
  private static func writeDraft(_ path: String) -> UInt64? {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard descriptor >= 0 else { return nil }
    let owned = OwnedDescriptor(owning: descriptor)
    let digits = String(getpid())
    let text = String(repeating: " ", count: max(0, 10 - digits.count)) + digits + "\n"
    var status = stat()
    guard write(owned.raw, text, text.utf8.count) == text.utf8.count, fstat(owned.raw, &status) == 0 else {
      unlink(path)
      return nil
    }
    return UInt64(status.st_ino)
  }
}

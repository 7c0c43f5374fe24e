import Glibc

extension Failure {
  /// The file at `path` could not be written, for the system's error number. Safe to print.
  package init(writing path: String, _ number: Int32) {
    let file = "use the path of a file"
    let (reason, remedy) =
      switch number {
      case EISDIR: ("it is a directory", file)
      case ENOTBLK: ("it is a disk", file)
      case ENOTSOCK: ("it is a socket", file)
      case ENXIO: ("it is a FIFO without a reader", "start the reader first")
      case ENOENT: (systemText(number), "create its folder first")
      case ENOSPC, EDQUOT: (systemText(number), "free space on its disk")
      case EFBIG: (systemText(number), "raise the limit with: ulimit -f unlimited")
      case ETIMEDOUT: ("its reader is stalled", "choose a path that you can write to")
      default: (systemText(number), "choose a path that you can write to")
      }
    self.init(
      remedy == file ? .usage : .unfitEnvironment, "cannot write \(path.printable): \(reason)", remedy: remedy
    )
  }
}

/// Writes files as a whole: a reader, a crash or a full disk finds the former content or the new
/// one, and nothing between.
package enum WholeFile {
  /// Whose a new file is. Only root has a choice.
  package enum Owner: Sendable {
    case writer
    /// The owner of its folder, such as a service's.
    case folder
  }

  /// Replaces or creates the file at `path`; links are followed. It is on the disk on return.
  ///
  /// - Parameters:
  ///   - mode: of the file; if omitted, that of the present file, or as the umask allows.
  ///   - isNew: fails with EEXIST if there is a file; links are not followed.
  ///   - owner: of a new file; a present one's stays.
  package static func write(
    _ bytes: some Sequence<UInt8>, to path: String, mode: UInt32? = nil, isNew: Bool = false,
    owner: Owner = .writer
  ) throws(Failure) {
    let bytes = Array(bytes)
    let target = isNew ? path : FileSystem.destination(of: path)
    let present = FileSystem.status(of: target)
    let draft = Self.draft(of: target)
    let descriptor = open(
      draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode ?? (isNew ? 0o600 : 0o666))
    guard descriptor >= 0 else {
      // A file that can be written in a folder that cannot, such as one that a container has bound.
      if !isNew, present != nil, [EACCES, EPERM, EROFS].contains(errno) {
        return try overwrite(target, with: bytes, named: path)
      }
      throw Failure(writing: path, errno)
    }
    if let present, !isNew {
      _ = fchown(descriptor, present.st_uid, present.st_gid)
      if mode == nil { _ = fchmod(descriptor, present.st_mode & 0o7777) }
    } else if owner == .folder, geteuid() == 0, let folder = FileSystem.status(of: folder(of: target)) {
      _ = fchown(descriptor, folder.st_uid, folder.st_gid)
    }
    var number = fill(descriptor, with: bytes)
    if close(descriptor) != 0, number == nil { number = errno }
    if number == nil {
      let isPlaced = isNew ? link(draft, target) == 0 : rename(draft, target) == 0
      if !isPlaced { number = errno }
    }
    if isNew || number != nil { unlink(draft) }
    if !isNew, number == EBUSY || number == EXDEV { return try overwrite(target, with: bytes, named: path) }
    if let number { throw Failure(writing: path, number) }
    syncFolder(of: target)
  }

  /// Checks that `write` can begin: finds an unusable path before the work is done.
  package static func check(_ path: String) throws(Failure) {
    let target = FileSystem.destination(of: path)
    let present = FileSystem.status(of: target)
    // For example a name that is too long, which the draft's is not.
    if present == nil, errno != ENOENT { throw Failure(writing: path, errno) }
    if present?.isDirectory == true || path.hasSuffix("/") { throw Failure(writing: path, EISDIR) }
    let draft = Self.draft(of: target)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      close(descriptor)
      unlink(draft)
    } else if present == nil || ![EACCES, EPERM, EROFS].contains(errno) || access(target, W_OK) != 0 {
      throw Failure(writing: path, errno)
    }
  }

  private static func draft(of target: String) -> String {
    let slash = target.lastIndex(of: "/").map { target[...$0] } ?? ""
    return "\(slash).notibot-\(getpid())-\(UInt32.random(in: 0 ... .max))"
  }

  /// The error's number, or `nil` when the bytes are on the disk.
  private static func fill(_ descriptor: Int32, with bytes: [UInt8]) -> Int32? {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count >= 0 || errno == EINTR else { return errno }
      written += max(0, count)
    }
    // Some file systems cannot, and need not.
    return fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP ? nil : errno
  }

  /// Where only the file itself can be written: its room is reserved before its content is lost.
  private static func overwrite(_ target: String, with bytes: [UInt8], named path: String) throws(Failure) {
    let descriptor = open(target, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw Failure(writing: path, errno) }
    defer { close(descriptor) }
    var number = bytes.isEmpty ? 0 : posix_fallocate(descriptor, 0, off_t(bytes.count))
    if number == EOPNOTSUPP || number == EINVAL { number = 0 }
    if number == 0 { number = fill(descriptor, with: bytes) ?? 0 }
    if number == 0, ftruncate(descriptor, off_t(bytes.count)) != 0 { number = errno }
    if number != 0 { throw Failure(writing: path, number) }
  }

  private static func folder(of target: String) -> String {
    target.lastIndex(of: "/").map { String(target[...$0]) } ?? "."
  }

  private static func syncFolder(of target: String) {
    let descriptor = open(folder(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}

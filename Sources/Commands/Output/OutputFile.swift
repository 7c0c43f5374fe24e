import Foundation
import SerialLink
import Synchronization

/// A file that grows while a command runs, such as the bytes of a port. It is opened before the
/// work begins, so that an unusable path is found then. A FIFO with a reader is written to like a
/// file.
final class OutputFile: Sendable {
  enum Beginning {
    /// Replaces the content.
    case empty
    /// Appends to the content.
    case end
  }

  /// Time limit for a stalled reader of a report.
  static let stallLimitMs: Int32 = 2000

  let path: String
  private let descriptor: Int32
  private let hasFailed = Mutex(false)

  /// Creates the file, or truncates it.
  ///
  /// - Throws: `Failure` for an unusable path: 2 if it cannot be a file, else 18.
  init(path: String, from beginning: Beginning = .empty) throws(Failure) {
    self.path = path
    // Without O_NONBLOCK the open of a FIFO waits for its reader.
    var flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
    if beginning == .end { flags |= O_APPEND }
    descriptor = Self.standardStream(at: path) ?? open(path, flags, 0o666)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
      let number = errno
      let isSocket = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
      throw Failure(writing: path, isSocket ? ENOTSOCK : number)
    }
    if status.st_mode & S_IFMT == S_IFBLK { throw Failure(writing: path, ENOTBLK) }
    if beginning == .empty, status.st_mode & S_IFMT == S_IFREG, Self.standardStream(at: path) == nil {
      guard ftruncate(descriptor, 0) == 0 else { throw Failure(writing: path, errno) }
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Whether `path` is written to as it is: anything but a file, and the file that a standard
  /// stream is redirected to.
  static func isStream(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    return ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) || isStandardStream(status) != nil
  }

  /// Writes all bytes. Blocks while the reader is stalled: up to `stallLimitMs` milliseconds (-1:
  /// indefinitely).
  ///
  /// - Returns: the error, the first time that a write fails; nothing is written after that.
  func write(_ bytes: [UInt8], stallLimitMs: Int32 = -1) -> Failure? {
    hasFailed.withLock { hasFailed -> Failure? in
      guard !hasFailed, let number = writeAll(bytes, stallLimitMs) else { return nil }
      hasFailed = true
      return Failure(writing: path, number)
    }
  }

  /// Bytes in a regular file; 0 for anything else.
  var sizeBytes: Int {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
  }

  /// The error's number, or `nil`.
  private func writeAll(_ bytes: [UInt8], _ stallLimitMs: Int32) -> Int32? {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        Foundation.write(descriptor, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        written += count
      } else if errno == EAGAIN {
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        if poll(&room, 1, stallLimitMs) == 0 { return ETIMEDOUT }
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }

  /// A copy of stdout or stderr if the regular file `path` is one of them: with an offset of its
  /// own it would be overwritten.
  private static func standardStream(at path: String) -> Int32? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return isStandardStream(status).map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
  }

  private static func isStandardStream(_ file: stat) -> Int32? {
    [STDOUT_FILENO, STDERR_FILENO].first { number in
      var status = stat()
      return fstat(number, &status) == 0 && status.st_ino == file.st_ino && status.st_dev == file.st_dev
    }
  }

}

/// A report's file. The report is written once, by the first exit path, as a whole: until then, and
/// if that fails, the former report is there.
final class ReportFile: Sendable {
  private static let isAnyLost = Mutex(false)

  private let path: String
  /// Where nothing can be replaced: a FIFO, a device, a redirected stream.
  private let stream: OutputFile?
  private let isWritten = Mutex(false)

  /// Whether a report or another file of this command could not be written.
  static var isLost: Bool { isAnyLost.withLock(\.self) }

  /// Notes that a file of this command could not be written: it does not end with 0.
  static func recordLoss() { isAnyLost.withLock { $0 = true } }

  /// - Throws: `Failure` when the path cannot be written to.
  init(path: String) throws(Failure) {
    guard path != "-" else {
      throw Failure(
        .usage, "'-' is not the name of a report",
        remedy: "name a file; /dev/stdout is standard output")
    }
    self.path = path
    stream = OutputFile.isStream(path) ? try OutputFile(path: path) : nil
    guard stream == nil else { return }
    try WholeFile.check(path)
  }

  /// `nil` without a path. Throws as the initializer.
  static func at(_ path: String?) throws(Failure) -> ReportFile? {
    guard let path else { return nil }
    return try ReportFile(path: path)
  }

  /// - Throws: `Failure` when both are the same file.
  func checkDiffers(from other: ReportFile?) throws(Failure) {
    guard let other, other.stream == nil, isAt(other.path) else { return }
    throw Failure(
      .usage, "cannot write two reports to the same file \(path.printable)",
      remedy: "use one file per report")
  }

  /// - Throws: `Failure` when it would replace a file that the command reads.
  func checkDiffers(fromInputs paths: [String]) throws(Failure) {
    guard paths.contains(where: isAt) else { return }
    throw Failure(
      .usage, "cannot write \(path.printable): it is read as well", remedy: "write to another file")
  }

  /// Whether `other` names the same file, which does not have to exist.
  func isAt(_ other: String) -> Bool {
    stream == nil && FileSystem.destination(of: path) == FileSystem.destination(of: other)
  }

  /// Writes the report, once: another exit path waits until it is there. If its path fails, the
  /// report is written to a temporary file, stderr names both, and a command that would succeed
  /// ends with 18.
  func write(_ document: String) {
    isWritten.withLock { isWritten in
      guard !isWritten else { return }
      isWritten = true
      writeNow(document)
    }
  }

  private func writeNow(_ document: String) {
    guard let failure = Self.failure(of: document, to: path, stream) else { return }
    Self.recordLoss()
    let name = URL(fileURLWithPath: path).lastPathComponent
    let other = FileManager.default.temporaryDirectory
      .appendingPathComponent("notibot-\(getpid())-\(UInt32.random(in: 0 ... .max))-\(name)").path
    if Self.failure(of: document, to: other, nil) == nil {
      Output.note("notibot: \(failure.message); the report is in \(other)")
    } else {
      Output.note("notibot: \(failure); the report follows")
      Output.noteLines(document)
    }
  }

  private static func failure(of document: String, to path: String, _ stream: OutputFile?) -> Failure? {
    if let stream { return stream.write(Array(document.utf8), stallLimitMs: OutputFile.stallLimitMs) }
    do throws(Failure) {
      try WholeFile.write(document.utf8, to: path)
      return nil
    } catch {
      return error
    }
  }
}

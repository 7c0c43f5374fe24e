import Foundation
import SerialLink
import Synchronization

/// A file that a command writes: a report, or the bytes of a port. It is opened before the work
/// begins, so that an unusable path is found then, and writes never block indefinitely. A FIFO with
/// a reader is written to like a file.
final class OutputFile: Sendable {
  enum Beginning {
    /// Replaces the content.
    case empty
    /// Appends to the content.
    case end
  }

  /// Time limit for a stalled reader of a report.
  static let stallLimitMs: Int32 = 2000

  private struct State {
    var hasFailed = false
  }

  let path: String
  private let descriptor: Int32
  private let state = Mutex(State())

  /// Creates the file, or truncates it.
  ///
  /// - Throws: `CommandFailure` for an unusable path: 2 if it cannot be a file, else 18.
  init(path: String, from beginning: Beginning = .empty) throws(CommandFailure) {
    self.path = path
    // Without O_NONBLOCK the open of a FIFO waits for its reader.
    var flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
    if beginning == .end { flags |= O_APPEND }
    descriptor = open(path, flags, 0o666)
    guard descriptor >= 0 else { throw OutputFile.failure(path, opening: errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw OutputFile.failure(path, errno) }
    switch status.st_mode & S_IFMT {
    case S_IFBLK:
      throw CommandFailure(
        .usage, "cannot write \(path.printable): it is a disk", remedy: "use the path of a file")
    case S_IFREG where beginning == .empty:
      guard ftruncate(descriptor, 0) == 0 else { throw OutputFile.failure(path, errno) }
    case _: break
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Writes all bytes. Blocks while the reader is stalled: up to `stallLimitMs` milliseconds (-1:
  /// indefinitely).
  ///
  /// - Returns: the error, the first time that a write fails; nothing is written after that.
  func write(_ bytes: [UInt8], stallLimitMs: Int32 = -1) -> CommandFailure? {
    state.withLock { state -> CommandFailure? in
      guard !state.hasFailed else { return nil }
      guard let number = writeAll(bytes, stallLimitMs) else { return nil }
      state.hasFailed = true
      return OutputFile.failure(path, number)
    }
  }

  /// Removes the content of a regular file; does nothing for anything else.
  func removeContent() {
    guard ftruncate(descriptor, 0) == 0 else { return }
    lseek(descriptor, 0, SEEK_SET)
  }

  /// Whether it is a file on a disk, whose content can be replaced.
  var isRegular: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Bytes in a regular file; 0 for anything else.
  var sizeBytes: Int {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Whether both are the same regular file.
  func isSameFile(as other: OutputFile) -> Bool {
    var (own, others) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && fstat(other.descriptor, &others) == 0
      && own.st_mode & S_IFMT == S_IFREG && own.st_ino == others.st_ino && own.st_dev == others.st_dev
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

  private static func failure(_ path: String, opening number: Int32) -> CommandFailure {
    var status = stat()
    let kind = stat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
    switch (number, kind) {
    case (ENXIO, S_IFIFO):
      return CommandFailure(
        .unfitEnvironment, "cannot write \(path.printable): it is a FIFO without a reader",
        remedy: "start the reader first")
    case (ENXIO, S_IFSOCK):
      return CommandFailure(
        .usage, "cannot write \(path.printable): it is a socket", remedy: "use the path of a file")
    case (EISDIR, _):
      return CommandFailure(
        .usage, "cannot write \(path.printable): it is a directory", remedy: "use the path of a file in it")
    case _: return failure(path, number)
    }
  }

  private static func failure(_ path: String, _ number: Int32) -> CommandFailure {
    let reason =
      number == ETIMEDOUT ? "its reader is stalled" : String(cString: strerror(number))
    return CommandFailure(
      .unfitEnvironment, "cannot write \(path.printable): \(reason)",
      remedy: number == ENOENT ? "create its folder first" : "choose a path that you can write to")
  }
}

/// A report's file. The report is written once, by the first exit path, and to a temporary file if
/// its path fails.
final class ReportFile: Sendable {
  private let file: OutputFile
  private let isWritten = Mutex(false)

  /// - Parameter unfinished: the content until the report is written, for a process that is killed
  ///   before; not written to anything but a file on a disk.
  /// - Throws: `CommandFailure` when the path cannot be written to.
  init(path: String, unfinished: String? = nil) throws(CommandFailure) {
    file = try OutputFile(path: path)
    guard let unfinished, file.isRegular else { return }
    if let failure = file.write(Array(unfinished.utf8), stallLimitMs: OutputFile.stallLimitMs) {
      throw failure
    }
  }

  /// - Throws: `CommandFailure` when both are the same file.
  func checkDiffers(from other: ReportFile?) throws(CommandFailure) {
    guard let other, file.isSameFile(as: other.file) else { return }
    throw CommandFailure(
      .usage, "cannot write two reports to the same file \(file.path.printable)",
      remedy: "use one file per report")
  }

  /// Writes the report; does nothing after the first time. If its path fails, the report is written
  /// to a temporary file, and stderr names both: the verdict of the run is not changed.
  func write(_ document: String) {
    let isFirst = isWritten.withLock { isWritten in
      defer { isWritten = true }
      return !isWritten
    }
    let bytes = Array(document.utf8)
    guard isFirst else { return }
    file.removeContent()
    guard let failure = file.write(bytes, stallLimitMs: OutputFile.stallLimitMs) else { return }
    let name = URL(fileURLWithPath: file.path).lastPathComponent
    let other = FileManager.default.temporaryDirectory
      .appendingPathComponent("notibot-\(getpid())-\(UInt32.random(in: 0 ... .max))-\(name)").path
    do throws(CommandFailure) {
      if let failure = try OutputFile(path: other).write(bytes) { throw failure }
      Output.note("notibot: \(failure.message); the report is in \(other.printable)")
    } catch {
      Output.note("notibot: \(failure.message), and \(error.message); the report follows")
      Output.note(document)
    }
  }
}

import Foundation
import SerialLink
import Synchronization

/// A file that a command writes: a report, or what a port sends. It is opened before the work begins, so that a place that
/// takes nothing is found then, and never waited for without a limit: a FIFO is written to like a file, if somebody reads it.
final class OutputFile: Sendable {
  enum Beginning {
    /// What is there is replaced.
    case empty
    /// What is there stays.
    case end
  }

  /// How long a reader that takes nothing is waited for, once a report is written.
  static let stallLimitMs: Int32 = 2000

  private struct State {
    var hasFailed = false
  }

  let path: String
  private let descriptor: Int32
  private let state = Mutex(State())

  /// Makes the file, or empties it.
  ///
  /// - Throws: `CommandFailure` with what is wrong with the place: 2 for one that cannot be a file, 18 for the rest.
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
        .usage, "cannot write \(path.printable): it is a disk", remedy: "name a file")
    case S_IFREG where beginning == .empty:
      guard ftruncate(descriptor, 0) == 0 else { throw OutputFile.failure(path, errno) }
    case _: break
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Writes all of it. Blocks while a reader takes nothing: up to `stallLimitMs` milliseconds (-1: indefinitely).
  ///
  /// - Returns: what went wrong, the first time that something does; nothing is written after that.
  func write(_ bytes: [UInt8], stallLimitMs: Int32 = -1) -> CommandFailure? {
    state.withLock { state -> CommandFailure? in
      guard !state.hasFailed else { return nil }
      guard let number = writeAll(bytes, stallLimitMs) else { return nil }
      state.hasFailed = true
      return OutputFile.failure(path, number)
    }
  }

  /// Bytes in a regular file; 0 for anything else.
  var sizeBytes: Int {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Whether both are one regular file, in which each would write over the other.
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
        .unfitEnvironment, "cannot write \(path.printable): it is a FIFO that nobody reads",
        remedy: "start its reader first")
    case (ENXIO, S_IFSOCK):
      return CommandFailure(
        .usage, "cannot write \(path.printable): it is a socket", remedy: "name a file")
    case (EISDIR, _):
      return CommandFailure(
        .usage, "cannot write \(path.printable): it is a directory", remedy: "name a file in it")
    case _: return failure(path, number)
    }
  }

  private static func failure(_ path: String, _ number: Int32) -> CommandFailure {
    let reason =
      number == ETIMEDOUT ? "its reader takes nothing" : String(cString: strerror(number))
    return CommandFailure(
      .unfitEnvironment, "cannot write \(path.printable): \(reason)",
      remedy: number == ENOENT ? "make its folder first" : "choose a place that can be written")
  }
}

/// A report's file. The report is written once, on whichever way out comes first, and elsewhere if its place takes it no more.
final class ReportFile: Sendable {
  private let file: OutputFile
  private let isWritten = Mutex(false)

  /// - Throws: `CommandFailure` when the place cannot be written to.
  init(path: String) throws(CommandFailure) {
    file = try OutputFile(path: path)
  }

  /// - Throws: `CommandFailure` when both are one file.
  func checkDiffers(from other: ReportFile?) throws(CommandFailure) {
    guard let other, file.isSameFile(as: other.file) else { return }
    throw CommandFailure(
      .usage, "two reports cannot go to one file, \(file.path.printable)", remedy: "name a file for each")
  }

  /// Writes the report; does nothing after the first time. When its place fails, a file in the directory for temporary files
  /// gets it, and stderr names both: the verdict of the run stays what it is.
  func write(_ document: String) {
    let isFirst = isWritten.withLock { isWritten in
      defer { isWritten = true }
      return !isWritten
    }
    let bytes = Array(document.utf8)
    guard isFirst, let failure = file.write(bytes, stallLimitMs: OutputFile.stallLimitMs) else { return }
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

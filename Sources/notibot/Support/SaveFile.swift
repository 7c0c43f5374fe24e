import Foundation
import SerialLink
import Synchronization

/// A file that takes bytes exactly as they come, each read in one write and at once.
final class SaveFile: Sendable {
  private let name: String
  private let descriptor: Int32
  private let hasFailed = Mutex(false)

  /// Makes the file, or empties it. Throws `CommandFailure`.
  init(path: String) throws {
    name = path.printable
    descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw failure(errno) }
  }

  deinit {
    close(descriptor)
  }

  /// Writes all of it. Returns what went wrong, the first time that something does; nothing is written after that.
  func write(_ bytes: [UInt8]) -> CommandFailure? {
    hasFailed.withLock { hasFailed -> CommandFailure? in
      guard !hasFailed else { return nil }
      var written = 0
      while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes {
          Foundation.write(descriptor, $0.baseAddress, $0.count)
        }
        if count >= 0 {
          written += count
        } else if errno != EINTR {
          hasFailed = true
          return failure(errno)
        }
      }
      return nil
    }
  }

  private func failure(_ number: Int32) -> CommandFailure {
    CommandFailure(
      .unfitEnvironment, "cannot write \(name): \(String(cString: strerror(number)))",
      remedy: "choose a place that can be written")
  }
}

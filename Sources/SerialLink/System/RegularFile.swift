import Glibc

/// Reads files whose path a user or another program has chosen. What is not a regular file is
/// refused at its opening, because a FIFO or a device can keep a reader waiting.
package enum RegularFile {
  /// Why a file cannot be read: words for after "cannot read PATH: ".
  package enum Problem: Error, Hashable, Sendable, CustomStringConvertible {
    case system(errno: Int32)
    case notRegular
    case directory
    case tooLong(limitBytes: Int)

    package var description: String {
      switch self {
      case .system(let number): systemText(number)
      case .notRegular: "it is not a regular file"
      case .directory: "it is a directory"
      case .tooLong(let limit): "it has more than \(limit) bytes"
      }
    }
  }

  /// An open descriptor, which the caller closes.
  package static func open(_ path: String, flags: Int32 = 0) throws(Problem) -> Int32 {
    // Without O_NONBLOCK, opening a FIFO waits for its writer.
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags)
    guard descriptor >= 0 else { throw .system(errno: errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw status.isDirectory ? .directory : .notRegular
    }
    return descriptor
  }

  /// All bytes, at most `limitBytes`.
  package static func read(_ path: String, limitBytes: Int, flags: Int32 = 0) throws(Problem) -> [UInt8] {
    let file = OwnedDescriptor(owning: try open(path, flags: flags))
    var bytes: [UInt8] = []
    while true {
      var number: Int32 = 0
      let chunk = [UInt8](unsafeUninitializedCapacity: min(65_536, limitBytes + 1 - bytes.count)) {
        let result = Glibc.read(file.raw, $0.baseAddress, $0.count)
        number = result < 0 ? errno : 0
        $1 = max(0, result)
      }
      if number == EINTR { continue }
      guard number == 0 else { throw .system(errno: number) }
      if chunk.isEmpty { return bytes }
      bytes += chunk
      guard bytes.count <= limitBytes else { throw .tooLong(limitBytes: limitBytes) }
    }
  }
}

import Foundation
import NIOPosix
import SerialLink

/// Reads firmware files.
enum FirmwareFile {
  /// The largest flash of an ESP chip that is known here, and so the largest file.
  static let limitBytes = 16 << 20

  /// The bytes of a regular file. Links are followed; directories, FIFOs and devices are refused,
  /// as are empty and too large files. Throws `CommandFailure`.
  static func read(_ path: String) async throws -> [UInt8] {
    let result = try await NIOThreadPool.singleton.runIfActive { readNow(path) }
    return try result.get()
  }

  private static func readNow(_ path: String) -> Result<[UInt8], CommandFailure> {
    func failure(_ reason: String, _ remedy: String = "") -> Result<[UInt8], CommandFailure> {
      .failure(CommandFailure(.usage, "cannot read \(path.printable): \(reason)", remedy: remedy))
    }
    // Without O_NONBLOCK a FIFO would hold the command until somebody writes.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return failure(String(cString: strerror(errno))) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return failure(String(cString: strerror(errno))) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: return failure("it is a directory", "name a file in it")
    case _: return failure("it is not a regular file")
    }
    guard status.st_size > 0 else { return failure("it is empty") }
    guard status.st_size <= limitBytes else { return failure("it has more than \(limitBytes >> 20) MB") }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var count = 0
    while count < bytes.count {
      let taken = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + count, $0.count - count) }
      if taken < 0, errno == EINTR { continue }
      guard taken > 0 else { return failure("it became shorter while it was read") }
      count += taken
    }
    return .success(bytes)
  }

  private static func read(_ descriptor: Int32, _ start: UnsafeMutableRawPointer, _ count: Int) -> Int {
    Glibc.read(descriptor, start, count)
  }
}

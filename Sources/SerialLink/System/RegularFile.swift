import Glibc

/// Reads files whose path a user or another program has chosen. What is not a regular file is
/// refused at its opening, because a FIFO or a device can keep a reader waiting.
package enum RegularFile {
  /// An open descriptor, which the caller closes. The message of an error follows "cannot read
  /// PATH: "; its kind is `usage` if there is something else than a regular file.
  package static func open(_ path: String, flags: Int32 = 0) throws(Failure) -> Int32 {
    // Without O_NONBLOCK, opening a FIFO waits for its writer.
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags)
    guard descriptor >= 0 else { throw systemFailure(errno, flags) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw status.isDirectory
        ? Failure(.usage, "it is a directory", remedy: "name a file in it")
        : Failure(.usage, "it is not a regular file")
    }
    return descriptor
  }

  private static func systemFailure(_ number: Int32, _ flags: Int32) -> Failure {
    number == ELOOP && flags & O_NOFOLLOW != 0
      ? Failure(.unfitEnvironment, "it is a symbolic link", remedy: "name the file that it points to")
      : Failure(.unfitEnvironment, systemText(number))
  }

  /// All bytes, at most `limitBytes`.
  package static func read(_ path: String, limitBytes: Int, flags: Int32 = 0) throws(Failure) -> [UInt8] {
    let file = OwnedDescriptor(owning: try open(path, flags: flags))
    return try read(from: file.raw, limitBytes: limitBytes, flags: flags)
  }

  /// The same for an open file or stream. Waits for more of a stream.
  package static func read(
    from descriptor: Int32, limitBytes: Int, flags: Int32 = 0
  ) throws(Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      var number: Int32 = 0
      let chunk = [UInt8](unsafeUninitializedCapacity: min(65_536, limitBytes + 1 - bytes.count)) {
        let result = Glibc.read(descriptor, $0.baseAddress, $0.count)
        number = result < 0 ? errno : 0
        $1 = max(0, result)
      }
      if number == EINTR { continue }
      if number == EAGAIN {
        var input = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&input, 1, -1)
        continue
      }
      guard number == 0 else { throw systemFailure(number, flags) }
      if chunk.isEmpty { return bytes }
      bytes += chunk
      guard bytes.count <= limitBytes else {
        let limit = limitBytes % (1 << 20) == 0 ? "\(limitBytes >> 20) MB" : "\(limitBytes) bytes"
        throw Failure(.usage, "it has more than \(limit)")
      }
    }
  }
}

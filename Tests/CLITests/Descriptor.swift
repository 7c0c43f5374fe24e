import Foundation
import Glibc
import Synchronization

/// A system call that failed.
struct SystemError: Error, CustomStringConvertible {
  var description: String

  init(_ action: String, number: Int32 = errno) {
    description = "cannot \(action): \(String(cString: strerror(number)))"
  }
}

/// An open file that closes with its last user.
final class Descriptor: Sendable {
  private let state: Mutex<Int32?>
  let number: Int32

  init(owning number: Int32) {
    self.number = number
    state = Mutex(number)
  }

  deinit {
    close()
  }

  func close() {
    state.withLock { open in
      if let number = open { Glibc.close(number) }
      open = nil
    }
  }

  /// Writes everything; bytes without a reader are dropped.
  func write(_ bytes: [UInt8]) {
    state.withLock { open in
      guard let number = open else { return }
      var written = 0
      while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return }
        written += count
      }
    }
  }

  /// The next bytes; nil at the end, on an error, and when `wake` is readable.
  func read(unless wake: Descriptor) -> [UInt8]? {
    var descriptors = [
      pollfd(fd: number, events: Int16(POLLIN), revents: 0),
      pollfd(fd: wake.number, events: Int16(POLLIN), revents: 0),
    ]
    while poll(&descriptors, nfds_t(descriptors.count), -1) < 0 {
      guard errno == EINTR else { return nil }
    }
    guard descriptors[1].revents == 0 else { return nil }
    let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      count = max(0, Glibc.read(number, buffer.baseAddress, buffer.count))
    }
    return bytes.isEmpty ? nil : bytes
  }

  static func opening(_ path: String, _ flags: Int32) throws -> Descriptor {
    let number = Glibc.open(path, flags | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw SystemError("open \(path)") }
    return Descriptor(owning: number)
  }

  static func pipe() throws -> (read: Descriptor, write: Descriptor) {
    var ends: [Int32] = [0, 0]
    // No program must start between the two calls: it would keep the pipe open.
    try Spawn.lock.withLock { _ in
      guard Glibc.pipe(&ends) == 0 else { throw SystemError("make a pipe") }
      ends.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
    }
    return (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
  }

  /// A terminal pair, with the kernel's defaults: a program writes to the slave.
  static func terminal() throws -> (read: Descriptor, write: Descriptor) {
    let master = try ControlledTerminal.openMaster()
    return (master, try opening(try ControlledTerminal.slavePath(of: master), O_RDWR | O_NOCTTY))
  }
}

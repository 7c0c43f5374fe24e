import Foundation
import Glibc

/// A connection to a Unix socket or to a TCP port of this computer, as a client outside this
/// project has it; a read fails after 20 s.
final class UnixConnection: Sendable {
  private let descriptor: Int32

  init(loopbackPort port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try limitReads(result)
  }

  init(_ path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try limitReads(result)
  }

  private func limitReads(_ result: Int32) throws {
    guard result == 0 else { throw HostPort.Failure.cannotOpen(errno: errno) }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  func send(_ bytes: [UInt8]) {
    _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// This many bytes; nil if the connection ends before.
  func read(_ count: Int) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: count)
    return recv(descriptor, &buffer, count, Int32(MSG_WAITALL)) == count ? buffer : nil
  }

  /// The available bytes, at most 4096; empty if the connection has ended.
  func readSome() -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let got = recv(descriptor, &buffer, buffer.count, 0)
    return Array(buffer.prefix(max(0, got)))
  }

  /// Reads on its own thread: the pool that tests share is small, and the emulator needs one of its
  /// threads.
  func reading<Value: Sendable>(_ body: @escaping @Sendable (UnixConnection) -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: body(self)) }
    }
  }
}

import Glibc
package import NIOCore
import NIOPosix

/// A unix stream socket, mode 0600, that listens under a path which nobody else uses.
package struct UnixListener: Sendable {
  /// `sun_path` holds 107 bytes, and the socket is made under a longer name first.
  package static let pathLimitBytes = 90
  /// Connections that the kernel keeps until they are accepted.
  static let backlog: CInt = 8

  private let channel: any NIOCore.Channel
  private let path: String
  private let inode: UInt64

  /// Listens at `path`, replacing the socket of a dead process but nothing else.
  ///
  /// - Parameters:
  ///   - loop: where connections live; `initializer` and its handlers run there.
  ///   - initializer: adds the handlers of a connection. It reads by itself: `autoRead` is off.
  /// - Throws: `PortError`: the path is too long, or occupied, or the system says no. Nothing is left behind then.
  package static func open(
    at path: String, on loop: any EventLoop,
    initializer: @escaping @Sendable (any NIOCore.Channel) throws -> Void
  ) async throws(PortError) -> UnixListener {
    guard path.utf8.count <= pathLimitBytes else {
      throw PortError(
        .badSpecifier("a socket's path has at most \(pathLimitBytes) bytes"), port: path,
        operation: "listen at")
    }
    try await refuseIfOccupied(path, on: loop)
    // The socket gets its name when its mode is right.
    let draft = "\(path).\(UInt32.random(in: 0 ... .max))"
    let channel: any NIOCore.Channel
    do {
      channel = try await ServerBootstrap(group: loop)
        .serverChannelOption(.backlog, value: backlog)
        .childChannelOption(.autoRead, value: false)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try initializer(channel) }
        }
        .bind(unixDomainSocketPath: draft).get()
    } catch {
      unlink(draft)
      let number = (error as? IOError)?.errnoCode ?? EIO
      throw PortError(.system(errno: number), port: path, operation: "listen at")
    }
    var status = stat()
    guard chmod(draft, 0o600) == 0, rename(draft, path) == 0, lstat(path, &status) == 0 else {
      let number = errno
      unlink(draft)
      try? await channel.close()
      throw PortError(.system(errno: number), port: path, operation: "listen at")
    }
    return UnixListener(channel: channel, path: path, inode: UInt64(status.st_ino))
  }

  /// Stops listening and removes the socket, if it is still this one. Connections stay.
  package func close() async {
    var status = stat()
    if lstat(path, &status) == 0, UInt64(status.st_ino) == inode { unlink(path) }
    try? await channel.close()
  }

  private static func refuseIfOccupied(_ path: String, on loop: any EventLoop) async throws(PortError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw PortError(
        .linkOccupied("something that is no socket is there"), port: path, operation: "listen at")
    }
    if let alive = try? await ClientBootstrap(group: loop).connect(unixDomainSocketPath: path).get() {
      try? await alive.close()
      throw PortError(.linkOccupied("another emulator listens there"), port: path, operation: "listen at")
    }
  }
}

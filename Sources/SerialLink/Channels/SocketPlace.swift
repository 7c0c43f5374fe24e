import Glibc
package import NIOCore
import NIOPosix

/// The path of a listening unix socket, mode 0600, or 0660 for a group. It replaces the socket of a
/// dead process but nothing else, and is not removed if another process has replaced it.
package struct SocketPlace: Sendable {
  /// Why it is not possible to listen there.
  package enum Obstacle: Equatable, Sendable {
    /// The path has more than `pathLimitBytes`.
    case pathTooLong
    /// There is something other than a socket.
    case notASocket
    /// Another process listens there.
    case occupied
    case system(errno: Int32)
  }

  /// `sun_path` holds 107 bytes, and the socket is created under a longer name first.
  package static let pathLimitBytes = 90

  private let path: String
  private let inode: UInt64

  /// Binds a server and moves its socket to `path`.
  /// - Parameters:
  ///   - group: whose members can connect; nil: this user only.
  ///   - bind: listens at the given path: the socket gets its final name when its mode is set.
  ///   - close: ends a server whose socket cannot be moved to `path`.
  ///   - refusal: the error to throw.
  package static func acquire<Server, Refusal: Error>(
    _ path: String, on loop: any EventLoop, group: UInt32? = nil,
    bind: (_ draft: String) async throws -> Server,
    close: (Server) async -> Void,
    refusal: (Obstacle) -> Refusal
  ) async throws(Refusal) -> (place: SocketPlace, server: Server) {
    if let obstacle = await obstacle(at: path, on: loop) { throw refusal(obstacle) }
    let draft = "\(path).\(UInt32.random(in: 0 ... .max))"
    let server: Server
    do {
      server = try await bind(draft)
    } catch {
      unlink(draft)
      throw refusal(.system(errno: (error as? IOError)?.errnoCode ?? EIO))
    }
    var status = stat()
    let isGiven = group.map { chown(draft, uid_t.max, $0) == 0 } ?? true
    guard isGiven, chmod(draft, group == nil ? 0o600 : 0o660) == 0, rename(draft, path) == 0,
      lstat(path, &status) == 0
    else {
      let number = errno
      unlink(draft)
      await close(server)
      throw refusal(.system(errno: number))
    }
    return (SocketPlace(path: path, inode: UInt64(status.st_ino)), server)
  }

  /// Removes the socket, if the path still refers to this one.
  package func leave() {
    var status = stat()
    if lstat(path, &status) == 0, UInt64(status.st_ino) == inode { unlink(path) }
  }

  private static func obstacle(at path: String, on loop: any EventLoop) async -> Obstacle? {
    guard path.utf8.count <= pathLimitBytes else { return .pathTooLong }
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    guard status.st_mode & S_IFMT == S_IFSOCK else { return .notASocket }
    // Without an answer, the socket belongs to a dead process and can be replaced.
    guard let alive = try? await ClientBootstrap(group: loop).connect(unixDomainSocketPath: path).get() else {
      return nil
    }
    try? await alive.close()
    return .occupied
  }
}

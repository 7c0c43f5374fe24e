import Glibc
package import NIOCore
import NIOPosix

/// The place of a listening unix socket, mode 0600. It replaces the socket of a dead process but nothing else, and is left
/// alone when it has become somebody else's.
package struct SocketPlace: Sendable {
  /// Why nobody can listen there.
  package enum Failure: Error, Equatable, Sendable {
    /// The path has more than `pathLimitBytes`.
    case pathTooLong
    /// Something that is no socket is there.
    case notASocket
    /// Another process listens there.
    case occupied
    case system(errno: Int32)
  }

  /// `sun_path` holds 107 bytes, and the socket is made under a longer name first.
  package static let pathLimitBytes = 90

  private let path: String
  private let inode: UInt64

  /// Binds a server and puts it at `path`.
  /// - Parameters:
  ///   - bind: listens at the path that it is given: the socket gets its name when its mode is right.
  ///   - close: ends a server that cannot be put there after all.
  package static func take<Server>(
    _ path: String, on loop: any EventLoop, bind: (_ draft: String) async throws -> Server,
    close: (Server) async -> Void
  ) async throws(Failure) -> (place: SocketPlace, server: Server) {
    guard path.utf8.count <= pathLimitBytes else { throw .pathTooLong }
    try await refuseIfOccupied(path, on: loop)
    let draft = "\(path).\(UInt32.random(in: 0 ... .max))"
    let server: Server
    do {
      server = try await bind(draft)
    } catch {
      unlink(draft)
      throw .system(errno: (error as? IOError)?.errnoCode ?? EIO)
    }
    var status = stat()
    guard chmod(draft, 0o600) == 0, rename(draft, path) == 0, lstat(path, &status) == 0 else {
      let number = errno
      unlink(draft)
      await close(server)
      throw .system(errno: number)
    }
    return (SocketPlace(path: path, inode: UInt64(status.st_ino)), server)
  }

  /// Removes the socket, if it is still this one.
  package func leave() {
    var status = stat()
    if lstat(path, &status) == 0, UInt64(status.st_ino) == inode { unlink(path) }
  }

  private static func refuseIfOccupied(_ path: String, on loop: any EventLoop) async throws(Failure) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket }
    // No answer is what is hoped for: then the socket is a dead process's.
    guard let alive = try? await ClientBootstrap(group: loop).connect(unixDomainSocketPath: path).get() else {
      return
    }
    try? await alive.close()
    throw .occupied
  }
}

import Glibc

/// A directory of one process, for links, sockets and logs with the same lifetime: only its user
/// can enter it.
///
/// Its name contains the pid, so that the leftovers of a killed process are removed by the next one
/// that creates such a directory.
package struct PrivateDirectory: Hashable, Sendable {
  /// Such as `/tmp/notibot-qemu-4711-93849301`; short, because a socket's path has at most 107
  /// bytes.
  package let path: String

  /// Creates a directory for `purpose`, such as `qemu`, and removes those of dead processes.
  /// - Throws: system errors, such as `.permissionDenied`.
  package static func make(for purpose: String, in parent: String = "/tmp") throws(PortError)
    -> PrivateDirectory
  {
    removeOrphans(of: purpose, in: parent)
    let path = "\(parent)/\(prefix(purpose))\(getpid())-\(UInt32.random(in: 0 ... .max))"
    guard mkdir(path, 0o700) == 0 else { throw PortError(errno: errno, port: path, operation: "make") }
    return PrivateDirectory(path: path)
  }

  /// Removes it with its files, as far as possible; it has no subfolders.
  package func remove() {
    PrivateDirectory.remove(path)
  }

  private static func prefix(_ purpose: String) -> String { "notibot-\(purpose)-" }

  private static func remove(_ path: String) {
    for name in FileSystem.names(in: path) { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  private static func removeOrphans(of purpose: String, in parent: String) {
    let prefix = prefix(purpose)
    for name in FileSystem.names(in: parent) where name.hasPrefix(prefix) {
      let path = "\(parent)/\(name)"
      guard let owner = name.dropFirst(prefix.count).split(separator: "-").first.flatMap({ pid_t($0) }),
        owner > 0, !PortHolder.isRunning(owner),
        // Links are not followed: in a world-writable directory, a link here could be an attack.
        let status = FileSystem.linkStatus(of: path), status.isDirectory, status.st_uid == geteuid()
      else { continue }
      remove(path)
    }
  }
}

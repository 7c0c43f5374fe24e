import Glibc

/// A symbolic link with a stable name, to a port whose own name changes with each opening; removed
/// when it goes out of scope, if it is still ours.
package struct StableLink: ~Copyable, Sendable {
  /// The path of the link itself.
  package let path: String
  /// Its target.
  package let target: String

  /// Creates the link at `path`, atomically.
  ///
  /// Replaces a dangling link, as left by a killed process. Throws `.linkOccupied` if something
  /// else exists there: a file, or a link with an existing target.
  package init(at path: String, target: String) throws(PortError) {
    try StableLink.refuseIfOccupied(path, ours: target)
    try StableLink.place(path, target: target)
    self.path = path
    self.target = target
  }

  deinit {
    if FileSystem.target(ofLink: path) == target { unlink(path) }
  }

  /// A directory for links that only this user can write to: `$XDG_RUNTIME_DIR/NAME`, or
  /// `/tmp/NAME-UID` if that is not set. Created if missing, mode 0700. Throws `.linkOccupied` if
  /// another user owns it or can write to it.
  package static func defaultDirectory(
    named name: String, environment: [String: String], temporaryDirectory: String = "/tmp"
  ) throws(PortError) -> String {
    let runtime = environment["XDG_RUNTIME_DIR"].flatMap {
      $0.hasPrefix("/") && !UserFolder.isForeign($0, to: geteuid()) ? $0 : nil
    }
    let path = runtime.map { "\($0)/\(name)" } ?? "\(temporaryDirectory)/\(name)-\(geteuid())"
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw PortError(placing: path, errno: errno, operation: "create the folder")
    }
    // Links are not followed: in a world-writable directory, a link here could be an attack.
    guard let status = FileSystem.linkStatus(of: path), status.isDirectory, status.st_uid == geteuid(),
      status.st_mode & 0o022 == 0
    else {
      let text = "it is not a directory that belongs to this user alone"
      throw PortError(.linkOccupied(text), port: path, operation: "keep links in")
    }
    return path
  }

  private static func refuseIfOccupied(_ path: String, ours: String) throws(PortError) {
    guard let status = FileSystem.linkStatus(of: path) else { return }
    guard status.isSymbolicLink else {
      throw PortError(.linkOccupied("it exists and is not a link"), port: path, operation: "link")
    }
    let present = FileSystem.target(ofLink: path) ?? ""
    if present == ours || FileSystem.status(of: path) == nil { return }
    throw PortError(
      .linkOccupied("it is a link to \(present), which is in use"), port: path, operation: "link")
  }

  private static func place(_ path: String, target: String) throws(PortError) {
    let draft = "\(path).\(getpid()).\(UInt32.random(in: 0 ... .max))"
    guard symlink(target, draft) == 0 else {
      throw PortError(placing: path, errno: errno, operation: "create the link")
    }
    guard rename(draft, path) == 0 else {
      let number = errno
      unlink(draft)
      throw PortError(placing: path, errno: number, operation: "create the link")
    }
  }
}

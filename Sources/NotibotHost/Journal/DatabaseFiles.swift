import Glibc

/// The files of an open SQLite database, as this process left them. What is promised in a commit is
/// in them only as long as their names lead to them and nobody else changes them.
///
/// SQLite keeps its files open and never looks at their names again: it goes on writing to a
/// deleted file, and two processes that opened one file under two names write to two logs.
package struct DatabaseFiles: Sendable {
  /// What is different from what this process left.
  package enum Difference: Hashable, Sendable {
    /// A name leads elsewhere, or there is a second one; the text says which.
    case displaced(String)
    /// Their names are right; somebody has written to them, or only changed a mode.
    case touched(isWritten: Bool)
  }

  /// What a file is at one moment.
  private struct Version: Equatable {
    let device: dev_t
    let number: ino_t
    let names: UInt64
    let size: off_t
    let modifiedNs: Int64
    /// Also when the file's mode changes.
    let changedNs: Int64

    /// - Parameter followsLink: whether a link at the end of the path leads to the file.
    init?(_ path: String, followsLink: Bool = false) {
      var status = stat()
      guard (followsLink ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
      self.init(status)
    }

    init(_ status: stat) {
      (device, number, names) = (status.st_dev, status.st_ino, UInt64(status.st_nlink))
      size = status.st_size
      modifiedNs = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
      changedNs = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
    }

    func isSameFile(as other: Version) -> Bool { device == other.device && number == other.number }

    func hasContent(of other: Version) -> Bool {
      isSameFile(as: other) && size == other.size && modifiedNs == other.modifiedNs
    }
  }

  private static let sideSuffixes = ["-wal", "-shm"]

  /// As the user named the database: each of its links is followed at each look.
  private let named: String
  /// With all links resolved, as SQLite derives the names of the other files from it.
  let resolved: String
  private var database: Version
  /// Of the log and its index; nil: there was none.
  private var sides: [Version?]

  /// Looks at the files for the first time; SQLite has them open. Throws if a name is already
  /// wrong.
  package init(named: String, operation: String) throws(JournalError) {
    let path = try JournalPath(named, operation: operation)
    try self.init(named: named, resolved: path.resolved, operation: operation)
  }

  /// - Parameter resolved: the path that SQLite was given.
  init(named: String, resolved: String, operation: String) throws(JournalError) {
    guard let found = Version(resolved) else {
      throw JournalError(errno: errno, path: named, operation: operation)
    }
    (self.named, self.resolved, database) = (named, resolved, found)
    sides = Self.sideSuffixes.map { Version(resolved + $0) }
    if case .displaced(let text)? = difference() {
      throw JournalError(.displaced(text, isSaved: true), path: named, operation: operation)
    }
  }

  /// What is different from the last look; nil: nothing. Five calls of the system.
  package func difference() -> Difference? {
    guard let now = Version(named, followsLink: true) else {
      return .displaced(
        errno == ENOENT || errno == ENOTDIR
          ? "it was deleted, renamed or moved while in use"
          : "its name no longer leads to it: \(String(cString: strerror(errno)))")
    }
    guard now.isSameFile(as: database), Version(resolved)?.isSameFile(as: database) == true else {
      return .displaced("another file or a link has taken its name")
    }
    guard now.names == 1 else { return .displaced(Self.linked(now.names)) }
    var (isTouched, isWritten) = (now != database, !now.hasContent(of: database))
    for (suffix, left) in zip(Self.sideSuffixes, sides) {
      guard let left else { continue }
      guard let side = Version(resolved + suffix), side.isSameFile(as: left) else {
        return .displaced("its file \(resolved)\(suffix) was deleted, moved or replaced while in use")
      }
      // The index is shared memory, whose times mean nothing.
      guard suffix == "-wal", side != left else { continue }
      (isTouched, isWritten) = (true, isWritten || !side.hasContent(of: left))
    }
    if let indexProblem { return .displaced(indexProblem) }
    return isTouched ? .touched(isWritten: isWritten) : nil
  }

  /// What is wrong with a file that has several names.
  static func linked(_ names: UInt64) -> String {
    "it has \(names) names (hard links), and each would have its own log"
  }

  /// Whether the user can still read and write the database.
  package var isAccessible: Bool { access(resolved, R_OK | W_OK) == 0 }

  /// What is wrong with the index before SQLite reads it: a process that reads shared memory beyond
  /// the end of its file is killed by SIGBUS.
  package var indexProblem: String? {
    guard let left = sides[1], let now = Version(resolved + "-shm"), now.size < left.size else { return nil }
    return "its file \(resolved)-shm was cut while in use"
  }

  /// Whether database and log have the content that this process left, under whatever name.
  ///
  /// - Parameter descriptor: of the database.
  func hasContent(in descriptor: Int32) -> Bool {
    var status = stat()
    guard indexProblem == nil, fstat(descriptor, &status) == 0, Version(status).hasContent(of: database)
    else { return false }
    // A log that is no longer there is still open, and as it was.
    guard let left = sides[0], let log = Version(resolved + Self.sideSuffixes[0]), log.isSameFile(as: left)
    else { return true }
    return log.hasContent(of: left)
  }

  /// Looks again after this process has written; returns a name that was lost meanwhile.
  package mutating func recordCommit() -> Difference? {
    let found = difference()
    if let now = Version(resolved), now.isSameFile(as: database) { database = now }
    for (index, suffix) in Self.sideSuffixes.enumerated() {
      guard let now = Version(resolved + suffix) else { continue }
      if sides[index]?.isSameFile(as: now) ?? true { sides[index] = now }
    }
    if case .touched? = found { return nil }
    return found
  }
}

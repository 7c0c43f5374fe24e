import Digests
import Foundation
import Glibc
import SerialLink
import Synchronization

/// The SHA-256 of a file, calculated again only when the file has changed.
final class KnownHash: Sendable {
  /// What a build changes.
  private struct Version: Equatable {
    var device: dev_t
    var node: ino_t
    var sizeBytes: off_t
    var changedSeconds: Int
    var changedNanoseconds: Int
  }

  /// The largest file that is read.
  private static let limitBytes: off_t = 256 << 20

  private let known = Mutex<(version: Version, hash: String)?>(nil)

  /// In hexadecimal digits; `nil` if the file cannot be read, or is too large.
  func value(of path: String) -> String? {
    guard let descriptor = try? RegularFile.open(path) else { return nil }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    guard let version = Self.version(of: handle) else { return nil }
    if let known = known.withLock(\.self), known.version == version { return known.hash }
    guard version.sizeBytes <= Self.limitBytes, let data = try? handle.readToEnd() else { return nil }
    let hash = SHA256.digest(data).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    known.withLock { $0 = (version, hash) }
    return hash
  }

  private static func version(of handle: FileHandle) -> Version? {
    var status = stat()
    guard fstat(handle.fileDescriptor, &status) == 0 else { return nil }
    return Version(
      device: status.st_dev, node: status.st_ino, sizeBytes: status.st_size,
      changedSeconds: status.st_mtim.tv_sec, changedNanoseconds: status.st_mtim.tv_nsec)
  }
}

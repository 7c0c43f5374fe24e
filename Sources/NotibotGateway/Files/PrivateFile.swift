#if Gateway
import Foundation
package import SerialLink

/// Files that only their owner reads.
package enum PrivateFile {
  /// Throws if others can read or write it.
  package static func checkMode(of path: String) throws(Failure) {
    var status = stat()
    guard stat(path, &status) == 0 else {
      throw Failure(.unfitEnvironment, "cannot open \(path): \(String(cString: strerror(errno)))")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw Failure(
        .noPermission, "others can read or change \(path)", remedy: "run chmod go= \(path)")
    }
  }

  /// All bytes of a regular file. Blocks.
  package static func read(_ path: String, limitBytes: Int) throws(Failure) -> [UInt8] {
    do throws(Failure) {
      return try RegularFile.read(path, limitBytes: limitBytes)
    } catch {
      throw Failure(.usage, "cannot read \(path): \(error.message)")
    }
  }

  /// All bytes of standard input. Blocks.
  package static func readInput(limitBytes: Int) throws(Failure) -> [UInt8] {
    do throws(Failure) {
      return try RegularFile.read(from: STDIN_FILENO, limitBytes: limitBytes)
    } catch {
      throw Failure(.usage, "cannot read standard input: \(error.message)")
    }
  }

  /// Bytes of a secret, at most.
  private static let secretLimitBytes = 4096

  /// The text of a file that only its owner can read, without white space around it; it is sent in
  /// a header or used as a key.
  static func secret(_ path: String) throws(Failure) -> [UInt8] {
    try checkMode(of: path)
    let bytes = try read(path, limitBytes: secretLimitBytes)
    let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    let secret = Array(bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    guard !secret.isEmpty, secret.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw Failure(.usage, "\(path) does not hold one line of ASCII")
    }
    return secret
  }

  /// Replaces a file with mode 0600, completely or not at all; it is on the disk on return. What
  /// root writes into the folder of a service can be read by the service.
  package static func write(_ text: String, to path: String) throws(Failure) {
    try WholeFile.write(text.utf8, to: path, mode: 0o600, owner: .folder)
  }

  /// What changes when a file is replaced: its number, size and time.
  package struct Version: Hashable, Sendable {
    private var number: UInt64 = 0
    private var size: Int64 = 0
    private var seconds: Int = 0
    private var nanoseconds: Int = 0

    /// Of a missing file: all zero.
    var isMissing: Bool { self == Version() }

    private init() {}

    package init(of path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return }
      number = UInt64(status.st_ino)
      size = Int64(status.st_size)
      seconds = status.st_mtim.tv_sec
      nanoseconds = status.st_mtim.tv_nsec
    }
  }
}
#endif

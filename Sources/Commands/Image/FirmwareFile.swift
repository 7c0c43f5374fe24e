import FirmwareImages
import Foundation
import NIOPosix
import SerialLink

/// Reads firmware files.
enum FirmwareFile {
  /// The largest flash of an ESP chip that is known here, and so the largest file.
  static let limitBytes = FlashPlan.flashLimitBytes

  /// The bytes of a regular file, at most `limitBytes`. Anything else is refused, including
  /// symbolic links: their target can change between a check and the next command. Throws
  /// `Failure`.
  static func read(_ path: String) async throws -> [UInt8] {
    let result = try await NIOThreadPool.singleton.runIfActive { readNow(path) }
    return try result.get()
  }

  private static func readNow(_ path: String) -> Result<[UInt8], Failure> {
    Result { () throws(Failure) -> [UInt8] in
      let bytes = try RegularFile.read(path, limitBytes: limitBytes, flags: O_NOFOLLOW)
      guard !bytes.isEmpty else { throw Failure(.usage, "it is empty") }
      return bytes
    }.mapError { Failure(.usage, "cannot read \(path.printable): \($0.message)", remedy: $0.remedy) }
  }
}

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
  /// `CommandFailure`.
  static func read(_ path: String) async throws -> [UInt8] {
    let result = try await NIOThreadPool.singleton.runIfActive { readNow(path) }
    return try result.get()
  }

  private static func readNow(_ path: String) -> Result<[UInt8], CommandFailure> {
    do throws(RegularFile.Problem) {
      let bytes = try RegularFile.read(path, limitBytes: limitBytes, flags: O_NOFOLLOW)
      guard bytes.isEmpty else { return .success(bytes) }
      return .failure(CommandFailure(.usage, "cannot read \(path.printable): it is empty"))
    } catch {
      let (reason, remedy) =
        switch error {
        case .system(errno: ELOOP): ("it is a symbolic link", "name the file that it points to")
        case .directory: (error.description, "name a file in it")
        case .tooLong: ("it has more than \(limitBytes >> 20) MB", "")
        case .system, .notRegular: (error.description, "")
        }
      return .failure(CommandFailure(.usage, "cannot read \(path.printable): \(reason)", remedy: remedy))
    }
  }
}

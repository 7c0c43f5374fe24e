#if Gateway
import Glibc
import NIOPosix

/// Waits for room on a disk, of which no system reports that it is there again.
enum DiskRoom {
  /// What has to be free: some commits of the outbox, with SQLite's index of them.
  static let neededBytes = 1 << 20
  private static let longest = Duration.seconds(8)

  /// Returns when there is room in the folder. Looks after 1 s, 2 s … 8 s. Throws
  /// `CancellationError`.
  static func wait(in folder: String) async throws {
    var pause = Duration.seconds(1)
    repeat {
      try await Task.sleep(for: pause)  // poll
      pause = min(pause * 2, longest)
    } while try await !NIOThreadPool.singleton.runIfActive { isThere(in: folder) }
  }

  /// Whether `neededBytes` can be written in the folder: free bytes of the file system would not
  /// show a quota.
  static func isThere(in folder: String) -> Bool {
    let path = folder + "/room"
    let file = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { return false }
    defer {
      unlink(path)
      close(file)
    }
    return posix_fallocate(file, 0, neededBytes) == 0
  }
}
#endif

import Glibc
import NIOCore

/// The limits of this process (`ulimit`). Event loops and threads are made by libraries that end
/// the process if they cannot be made, so too low a limit is reported before.
package enum ProcessLimits {
  /// Three for each event loop; then ports, sockets, files, their locks, and child processes, which
  /// use numbers above 64 while they start.
  private static var descriptorsNeeded: UInt { UInt(3 * System.coreCount + 96) }
  /// Event loops, workers of the language's runtime, and a few of a command.
  private static var threadsNeeded: UInt { UInt(2 * System.coreCount + 8) }
  /// Addresses for the stack of a thread and for its heap, in bytes: mostly never used memory.
  private static let threadBytes: UInt = (8 + 64) << 20
  /// Heap and files of the program itself, in bytes.
  private static let programBytes: UInt = 256 << 20

  /// Raises the soft limit of descriptors if that is enough. Returns reason and remedy for a limit
  /// that is too low (`.unfitEnvironment`).
  /// - Parameter more: the descriptors that a command needs in addition to the usual number.
  package static func problem(opening more: Int = 0) -> (reason: String, remedy: String)? {
    let descriptors = descriptorsNeeded + UInt(openDescriptorsCount() + more)
    var files = limit(RLIMIT_NOFILE)
    if files.rlim_cur < descriptors, files.rlim_max >= descriptors {
      files.rlim_cur = descriptors
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
    }
    let addresses = threadsNeeded * threadBytes + programBytes
    for (limit, needed, unit, what, option) in [
      (files.rlim_cur, descriptors, 1, "open files", "n"),
      (limit(RLIMIT_AS).rlim_cur, addresses, 1024, "kB of virtual memory", "v"),
    ] where limit < needed {
      return (
        "this process is limited to \(limit / UInt(unit)) \(what)",
        "raise the limit with: ulimit -\(option) \((needed + UInt(unit) - 1) / UInt(unit))"
      )
    }
    return nil
  }

  private static func limit(_ resource: __rlimit_resource) -> rlimit {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    return limit
  }

  private static func openDescriptorsCount() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count
  }
}

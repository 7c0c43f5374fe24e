import Foundation
import NIOPosix
import SerialLink
import Synchronization

/// The files of a build, as they are replaced by the next one. They are polled: network file
/// systems report no events, and those of a folder end when it is deleted and made again.
struct BuildWatch: Sendable {
  /// What differs between a new file and the old one; nil: it is missing.
  private typealias Stamp = [String: [Int64]?]

  /// A build writes one file after the other: the last change is this long ago.
  private static let settledNs: UInt64 = 700_000_000
  /// An upper limit of one wait; the caller waits again.
  private static let waitLimit = Duration.seconds(3600)

  private let paths: [String]
  private let start: Stamp

  /// Begins with the present files.
  init(_ images: [String]) async {
    paths = await FlashFiles.paths(of: images)
    start = Self.stamp(of: paths)
  }

  /// Returns when files have changed since the beginning, all are there, and nothing changes any
  /// more.
  /// - Throws: `PortError` when nothing can be watched; `CancellationError`.
  func awaitChange() async throws {
    let last = Mutex((stamp: start, since: UInt64(0)))
    let (paths, start) = (paths, start)
    while true {
      let isReady = try await PortWait.until(
        upTo: Self.waitLimit, on: MultiThreadedEventLoopGroup.singleton.next()
      ) {
        let (now, stamp) = (DispatchTime.now().uptimeNanoseconds, Self.stamp(of: paths))
        return last.withLock { last in
          if stamp != last.stamp {
            let gone = stamp.filter { $0.value == nil && last.stamp[$0.key] != .some(nil) }.keys.sorted()
            if let first = gone.first { Output.note("\(first.printable) is missing") }
            last = (stamp, now)
          }
          return stamp != start && stamp.values.allSatisfy { $0 != nil } && now - last.since >= Self.settledNs
        }
      }
      try Task.checkCancellation()
      if isReady { return }
    }
  }

  private static func stamp(of paths: [String]) -> Stamp {
    var stamp: Stamp = [:]
    for path in paths {
      var status = stat()
      stamp[path] =
        stat(path, &status) == 0
        ? .some([
          Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec), Int64(status.st_size),
          Int64(bitPattern: UInt64(status.st_ino)),
        ]) : .some(nil)
    }
    return stamp
  }
}

import Glibc
package import NIOCore

/// Tells that a port may have come, the moment something appears where it would.
///
/// Watches folders by inotify. Of a folder that does not exist, as /dev/serial/by-id before the first board is plugged in, the
/// nearest one above it is watched until it does. Says nothing of what came: whoever is told tries to open its port.
package struct PortArrivals: Sendable {
  private let channel: any Channel

  /// Where udev puts devices and the names that stay.
  package static let deviceFolders = ["/dev", "/dev/serial/by-id"]

  /// Watches the folder of `path`, if there is one, and those of devices.
  /// - Parameter report: called on `loop` after something was made, moved in, or got other rights; once for many.
  package static func watch(
    path: String?, folders: [String] = deviceFolders, on loop: any EventLoop,
    report: @escaping @Sendable () -> Void
  ) async throws(PortError) -> PortArrivals {
    var folders = folders
    if let path { folders.append(folder(of: path)) }
    let raw = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    let name = path ?? "ports"
    guard raw >= 0 else { throw PortError(errno: errno, port: name, operation: "watch") }
    let watched = WatchedFolders(descriptor: raw, folders: folders)
    do {
      let channel = try await DescriptorChannel.open(raw, .input, on: loop) { channel in
        try channel.pipeline.syncOperations.addHandler(
          PortArrivalsHandler(watched: watched, report: report))
      }
      return PortArrivals(channel: channel)
    } catch {
      throw PortError(opening: name, error)
    }
  }

  /// Watches no more. Returns when the descriptor is closed.
  package func close() async {
    channel.close(promise: nil)
    try? await channel.closeFuture.get()
  }

  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}

/// The folders that are wanted, and what stands in for those that do not exist.
struct WatchedFolders: Sendable {
  private static let renewalsLimit = 16

  private let descriptor: Int32
  private let folders: [String]
  private var present: Set<String> = []

  init(descriptor: Int32, folders: [String]) {
    self.descriptor = descriptor
    self.folders = folders
  }

  /// Watches each folder, or the nearest one above it. A folder that comes while the one above it is being watched is
  /// seen by doing so until nothing changes; the limit is for folders that come and go all the time.
  mutating func renew() {
    for _ in 0..<Self.renewalsLimit {
      let previous = present
      present = Set(folders.compactMap(watchNearest))
      if present == previous { return }
    }
  }

  private func watchNearest(_ folder: String) -> String? {
    var folder = folder
    let events = UInt32(IN_CREATE | IN_MOVED_TO | IN_ATTRIB)
    while true {
      if inotify_add_watch(descriptor, folder, events | UInt32(IN_ONLYDIR)) >= 0 { return folder }
      guard folder != "/", folder != "." else { return nil }
      folder = PortArrivals.folder(of: folder)
    }
  }
}

private final class PortArrivalsHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private var watched: WatchedFolders
  private let report: @Sendable () -> Void
  private var events = InotifyEvents()
  private var hasNews = false

  init(watched: WatchedFolders, report: @escaping @Sendable () -> Void) {
    self.watched = watched
    self.report = report
  }

  func handlerAdded(context: ChannelHandlerContext) {
    watched.renew()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    events.receive(unwrapInboundIn(data))
    while events.nextMask() != nil { hasNews = true }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    guard hasNews else { return }
    hasNews = false
    watched.renew()
    report()
  }
}

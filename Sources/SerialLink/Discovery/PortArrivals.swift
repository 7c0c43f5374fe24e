import Glibc
package import NIOCore

/// Tells that a port may have come, the moment something appears where it would; if asked, that one may have gone as well.
///
/// Takes uevents, which come when udev has given the port its rights, and watches folders by inotify, for links that people make
/// and for containers, which get no uevents. Of a folder that does not exist, as /dev/serial/by-id before the first board is plugged in, the
/// nearest one above it is watched until it does. Says nothing of what came: whoever is told tries to open its port.
package struct PortArrivals: Sendable {
  /// Which news are wanted.
  package enum Interest: Hashable, Sendable {
    /// What came, or changed its rights.
    case arrivals
    /// What left, too.
    case departuresToo
  }

  private let channel: any Channel
  private let uevents: PortUevents?

  /// Where udev puts devices and the names that stay.
  package static let deviceFolders = ["/dev", "/dev/serial/by-id"]

  /// Watches for `path`, if there is one, and for anything in the folders of devices.
  /// - Parameter report: called on `loop` after something was made, moved in, or got other rights; once for many. It is told
  ///   which port has left, if a uevent said so.
  package static func watch(
    path: String?, folders: [String] = deviceFolders, interest: Interest = .arrivals, on loop: any EventLoop,
    report: @escaping @Sendable (_ gone: String?) -> Void
  ) async throws(PortError) -> PortArrivals {
    var wishes = folders.map { WatchedFolders.Wish(folder: $0, name: nil) }
    if let path { wishes.append(WatchedFolders.Wish(folder: folder(of: path), name: name(of: path))) }
    let raw = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    let port = path ?? "ports"
    guard raw >= 0 else { throw PortError(errno: errno, port: port, operation: "watch") }
    let watched = WatchedFolders(descriptor: raw, wishes: wishes, interest: interest)
    do {
      let channel = try await DescriptorChannel.open(raw, .input, on: loop) { channel in
        try channel.pipeline.syncOperations.addHandler(
          PortArrivalsHandler(watched: watched, report: report))
      }
      let uevents = PortUevents.watch(on: loop) { event in
        switch (event, interest) {
        case (.added, _), (.changed, _): report(nil)
        case (.removed(let path), .departuresToo): report(path)
        case (.removed, .arrivals): break
        }
      }
      return PortArrivals(channel: channel, uevents: uevents)
    } catch {
      throw PortError(opening: port, error)
    }
  }

  /// Watches no more. Returns when the descriptor is closed.
  package func close() async {
    uevents?.close()
    channel.close(promise: nil)
    try? await channel.closeFuture.get()
  }

  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  static func name(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }
}

/// The folders that are watched, or what stands in for those that do not exist, and for which names in them.
struct WatchedFolders: Sendable {
  /// What is waited for: something of this name in a folder; `nil`: anything.
  struct Wish: Hashable, Sendable {
    var folder: String
    var name: String?
  }

  private static let renewalsLimit = 16

  private let descriptor: Int32
  private let wishes: [Wish]
  private let interest: PortArrivals.Interest
  /// By the number of the watch.
  private var names: [Int32: Set<String?>] = [:]

  init(descriptor: Int32, wishes: [Wish], interest: PortArrivals.Interest) {
    self.descriptor = descriptor
    self.wishes = wishes
    self.interest = interest
  }

  func isWished(_ event: InotifyEvents.Event) -> Bool {
    guard let names = names[event.watch] else { return false }
    return names.contains(nil) || names.contains(event.name)
  }

  /// Watches each folder, or the nearest one above it. A folder that comes while the one above it is being watched is
  /// seen by doing so until nothing changes; the limit is for folders that come and go all the time.
  mutating func renew() {
    for _ in 0..<Self.renewalsLimit {
      let previous = names
      names = [:]
      for wish in wishes { watchNearest(wish) }
      if names == previous { return }
    }
  }

  private mutating func watchNearest(_ wish: Wish) {
    var (folder, name) = (wish.folder, wish.name)
    var events = UInt32(IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR)
    switch interest {
    case .arrivals: break
    case .departuresToo: events |= UInt32(IN_DELETE | IN_MOVED_FROM)
    }
    while true {
      let watch = inotify_add_watch(descriptor, folder, events)
      if watch >= 0 {
        names[watch, default: []].insert(name)
        return
      }
      guard folder != "/", folder != "." else { return }
      name = PortArrivals.name(of: folder)
      folder = PortArrivals.folder(of: folder)
    }
  }
}

private final class PortArrivalsHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private var watched: WatchedFolders
  private let report: @Sendable (String?) -> Void
  private var events = InotifyEvents()
  private var hasNews = false

  init(watched: WatchedFolders, report: @escaping @Sendable (String?) -> Void) {
    self.watched = watched
    self.report = report
  }

  func handlerAdded(context: ChannelHandlerContext) {
    watched.renew()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    events.receive(unwrapInboundIn(data))
    while let event = events.next() {
      // A folder that went away takes its watch with it.
      let isLost = event.mask & UInt32(IN_IGNORED) != 0
      if isLost { watched.renew() }
      hasNews = hasNews || isLost || watched.isWished(event)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    guard hasNews else { return }
    hasNews = false
    watched.renew()
    report(nil)
  }
}

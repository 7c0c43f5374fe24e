import Glibc
package import NIOCore

/// Reports that a port can have appeared, as soon as something appears where it would; on request
/// also that a port can have left.
///
/// Takes uevents, which arrive when udev has set the permissions of the port, and watches folders
/// by inotify, for links that users create and for containers, which get no uevents. If a folder
/// does not exist, such as /dev/serial/by-id before the first board is plugged in, its nearest
/// existing parent is watched until it does. It does not report what appeared: the receiver tries
/// to open its port.
package struct PortArrivals: Sendable {
  /// The kinds of changes to report.
  package enum Interest: Hashable, Sendable {
    /// Ports that appeared, or whose permissions changed.
    case arrivals
    /// Ports that left, too.
    case departuresToo
  }

  private let channel: any Channel
  private let uevents: PortUevents?

  /// The folders in which udev creates device nodes and stable links.
  package static let deviceFolders = ["/dev", "/dev/serial/by-id"]

  /// Watches for `path`, if given, and for anything in the device folders.
  /// - Parameter report: called on `loop` after something was created, moved in, or changed its
  ///   permissions; once for many events. Its argument is the port that left, if a uevent reported
  ///   it.
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

  /// Stops watching. Returns when the descriptor is closed.
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

/// The watched folders, or the parents of missing ones, and the names to watch for in them.
struct WatchedFolders: Sendable {
  /// The name to wait for in a folder; `nil`: any.
  struct Wish: Hashable, Sendable {
    var folder: String
    var name: String?
  }

  private static let renewalsLimit = 16

  private let descriptor: Int32
  private let wishes: [Wish]
  private let interest: PortArrivals.Interest
  /// By watch descriptor.
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

  /// Watches each folder, or its nearest existing parent. This repeats until nothing changes, so
  /// that a folder created meanwhile is found; the limit is for folders that change constantly.
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
  private var hasPendingChange = false

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
      // The watch of a deleted folder is removed with it.
      let isLost = event.mask & UInt32(IN_IGNORED) != 0
      if isLost { watched.renew() }
      hasPendingChange = hasPendingChange || isLost || watched.isWished(event)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    guard hasPendingChange else { return }
    hasPendingChange = false
    watched.renew()
    report(nil)
  }
}

import Glibc
import NIOCore

/// Turns the inotify events of a pseudo-terminal's slave into `HostPresence` events of the master's
/// channel.
///
/// Watching starts after the spare slave was opened, so every open and close seen is a host's. The
/// kernel merges equal events in a row, so if two programs open the port at the same instant, only
/// one is counted. Therefore, before the last one is reported as detached, /proc is checked for
/// other processes that have the port open. Such a process can also have opened it after that
/// close, and then its event follows.
final class HostPresenceHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let master: any Channel
  private let path: String
  private var events = InotifyEvents()
  private var openCount = 0
  /// Whether the one opening that is counted is known from /proc only.
  private var isAssumed = false
  private let isOpenElsewhere: (_ path: String) -> Bool

  /// - Parameter isOpenElsewhere: whether another process has `path` open.
  init(
    reportingTo master: any Channel, path: String,
    isOpenElsewhere: @escaping (_ path: String) -> Bool = { PortHolder.ofOpenDescriptor(on: $0) != nil }
  ) {
    self.master = master
    self.path = path
    self.isOpenElsewhere = isOpenElsewhere
  }

  /// A new inotify descriptor that watches `path`.
  static func watch(_ path: String) throws(PortError) -> OwnedDescriptor {
    let raw = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard raw >= 0 else { throw PortError(errno: errno, port: path, operation: "watch") }
    let watch = OwnedDescriptor(owning: raw)
    let events = UInt32(IN_OPEN | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE)
    guard inotify_add_watch(watch.raw, path, events) >= 0 else {
      throw PortError(errno: errno, port: path, operation: "watch")
    }
    return watch
  }

  /// Reports the events of `watch` on the event loop of `master`, until it closes; closes it if
  /// this fails.
  static func start(
    _ watch: consuming OwnedDescriptor, reportingTo master: any Channel, path: String
  ) async throws(PortError) {
    do {
      let channel = try await DescriptorChannel.open(watch.release(), .input, on: master.eventLoop) {
        channel in
        try channel.pipeline.syncOperations.addHandler(HostPresenceHandler(reportingTo: master, path: path))
      }
      master.closeFuture.whenComplete { _ in channel.close(promise: nil) }
    } catch {
      master.close(promise: nil)
      throw PortError(opening: path, error)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    events.receive(unwrapInboundIn(data))
    while let event = events.next() { note(event.mask) }
  }

  private func note(_ mask: UInt32) {
    if mask & UInt32(IN_OPEN) != 0 {
      if isAssumed {
        // The event of the opening that was assumed: the close before it was the last one.
        isAssumed = false
        return notify(.replaced)
      }
      openCount += 1
      if openCount == 1 { notify(.attached) }
    } else if mask & UInt32(IN_CLOSE_WRITE | IN_CLOSE_NOWRITE) != 0, openCount > 0 {
      openCount -= 1
      isAssumed = openCount == 0 && isOpenElsewhere(path)
      if isAssumed { openCount = 1 }
      if openCount == 0 { notify(.detached) }
    }
  }

  private func notify(_ presence: HostPresence) {
    master.pipeline.fireUserInboundEventTriggered(presence)
  }
}

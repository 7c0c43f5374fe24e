import Glibc
import NIOCore
import Synchronization

/// Turns the inotify events of the slaves of pseudo-terminals into `HostPresence` events of their
/// masters' channels: of all those of an event loop, because a user has 128 inotify descriptors.
///
/// Watching a slave starts after the spare slave was opened, so every open and close seen is a
/// host's. The kernel merges equal events in a row, so if two programs open the port at the same
/// instant, only one is counted. Therefore, before the last one is reported as detached, /proc is
/// checked for other processes that have the port open. Such a process can also have opened it
/// after that close, and then its event follows.
final class HostPresenceHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  /// A pseudo-terminal that is watched.
  struct Terminal {
    let master: any Channel
    let path: String
    fileprivate var openCount = 0
    /// Whether the one opening that is counted is known from /proc only.
    fileprivate var isAssumed = false

    init(master: any Channel, path: String) {
      self.master = master
      self.path = path
    }
  }

  /// The channels of the descriptors, by event loop. One is kept until its loop ends.
  private static let channels = Mutex<[ObjectIdentifier: EventLoopFuture<any Channel>]>([:])

  /// Owned by the channel.
  private let descriptor: Int32
  private var events = InotifyEvents()
  /// By their watches.
  private var terminals: [Int32: Terminal] = [:]
  private let isOpenElsewhere: (_ path: String) -> Bool

  /// - Parameter isOpenElsewhere: whether another process has `path` open.
  init(
    _ descriptor: Int32,
    isOpenElsewhere: @escaping (_ path: String) -> Bool = { PortHolder.ofOpenDescriptor(on: $0) != nil }
  ) {
    self.descriptor = descriptor
    self.isOpenElsewhere = isOpenElsewhere
  }

  /// Reports the hosts at `path` to `master`, until that closes.
  static func watch(_ path: String, reportingTo master: any Channel) async throws {
    let loop = master.eventLoop
    let channel = try await channels.withLock { channels in
      let key = ObjectIdentifier(loop)
      if let present = channels[key] { return present }
      let made = loop.makeFutureWithTask { try await open(on: loop) }
      channels[key] = made
      made.flatMap(\.closeFuture).whenComplete { _ in Self.channels.withLock { $0[key] = nil } }
      return made
    }.get()
    try await loop.submit {
      try channel.pipeline.syncOperations.handler(type: HostPresenceHandler.self)
        .add(Terminal(master: master, path: path))
    }.get()
  }

  private static func open(on loop: any EventLoop) async throws -> any Channel {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "inotify_init1") }
    return try await DescriptorChannel.open(descriptor, .input, on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(HostPresenceHandler(descriptor))
    }
  }

  private func add(_ terminal: Terminal) throws {
    let events = UInt32(IN_OPEN | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE)
    let watch = inotify_add_watch(descriptor, terminal.path, events)
    guard watch >= 0 else { throw IOError(errnoCode: errno, reason: "inotify_add_watch") }
    follow(terminal, as: watch)
    terminal.master.closeFuture.assumeIsolated().whenComplete { _ in
      self.terminals[watch] = nil
      // It has ended with the terminal, unless another process still has the slave open.
      inotify_rm_watch(self.descriptor, watch)
    }
  }

  /// From now on, events of `watch` are those of `terminal`.
  func follow(_ terminal: Terminal, as watch: Int32) {
    terminals[watch] = terminal
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    events.receive(unwrapInboundIn(data))
    while let event = events.next() {
      guard let presence = handle(event) else { continue }
      terminals[event.watch]?.master.pipeline.fireUserInboundEventTriggered(presence)
    }
  }

  private func handle(_ event: InotifyEvents.Event) -> HostPresence? {
    guard var terminal = terminals[event.watch] else { return nil }
    defer { terminals[event.watch] = terminal }
    if event.mask & UInt32(IN_OPEN) != 0 {
      if terminal.isAssumed {
        // The event of the opening that was assumed: the close before it was the last one.
        terminal.isAssumed = false
        return .replaced
      }
      terminal.openCount += 1
      if terminal.openCount == 1 { return .attached }
    } else if event.mask & UInt32(IN_CLOSE_WRITE | IN_CLOSE_NOWRITE) != 0, terminal.openCount > 0 {
      terminal.openCount -= 1
      terminal.isAssumed = terminal.openCount == 0 && isOpenElsewhere(terminal.path)
      if terminal.isAssumed { terminal.openCount = 1 }
      if terminal.openCount == 0 { return .detached }
    }
    return nil
  }
}

import NIOCore
import NIOPosix
package import SerialLink
import Synchronization

/// Keeps a port open, and hands on what comes from it, in order. Sends only what `write` is given.
///
/// `run` is its one task; `write` and `noteTaken` may be called from anywhere. Nothing that was read is dropped: while
/// `backlogLimitBytes` wait for whoever takes them, the port is not read.
package final class PortMonitor: Sendable {
  package enum Event: Equatable, Sendable {
    case opened(port: String)
    /// The caller says by `noteTaken` when it is done with them.
    case bytes([UInt8])
    /// The port is gone; the reason is printable.
    case lost(reason: String)
    /// Why it cannot be opened again yet; printable. Told when it changes.
    case waiting(reason: String)
  }

  /// Bytes that wait to be taken before the port is read no more: 56 s of a line of 3 Mbaud.
  package static let backlogLimitBytes = 16 << 20
  /// How long a port that is gone is waited for, at most, before it is tried again.
  static let retryInterval = Duration.milliseconds(500)

  private struct Shared {
    var channel: (any Channel)?
    var waitingBytes = 0
  }

  private let name: PortName
  private let ports: PortList
  private let options: SerialOptions
  private let shared = Mutex(Shared())
  private let loop = MultiThreadedEventLoopGroup.singleton.next()
  private let keep: @Sendable ([UInt8]) -> Void
  private let report: @Sendable (Event) -> Void

  /// - Parameters:
  ///   - keep: called with all that was read, on the event loop, before anybody else sees it.
  ///   - report: called with each event, on any thread, one after the other.
  package init(
    _ name: PortName, ports: PortList = PortList(), options: SerialOptions,
    keep: @escaping @Sendable ([UInt8]) -> Void, report: @escaping @Sendable (Event) -> Void
  ) {
    (self.name, self.ports, self.options) = (name, ports, options)
    (self.keep, self.report) = (keep, report)
  }

  /// Opens the port, and again whenever it is lost, until the task is cancelled.
  ///
  /// - Parameter reconnects: whether to wait for a port that was lost; without it, this returns then.
  /// - Throws: `PortError` when it cannot be opened the first time.
  package func run(reconnects: Bool) async throws(PortError) {
    try await open()
    var told = ""
    while reconnects, !Task.isCancelled {
      await PortWait.forArrival(at: name.address?.path, upTo: Self.retryInterval, on: loop)
      guard !Task.isCancelled else { return }
      do throws(PortError) {
        try await open()
        told = ""
      } catch {
        if error.cause != told { report(.waiting(reason: error.description)) }
        told = error.cause
      }
    }
  }

  /// Sends bytes to the port; what cannot be sent, since it is gone, is dropped.
  package func write(_ bytes: [UInt8]) {
    guard let channel = shared.withLock(\.channel) else { return }
    channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
  }

  /// `count` bytes were taken.
  package func noteTaken(_ count: Int) {
    let paused = shared.withLock { shared -> (any Channel)? in
      let wasFull = shared.waitingBytes >= Self.backlogLimitBytes
      shared.waitingBytes -= count
      return wasFull && shared.waitingBytes < Self.backlogLimitBytes ? shared.channel : nil
    }
    paused?.read()
  }

  /// Opens the port, and returns when it is gone or the task is cancelled.
  private func open() async throws(PortError) {
    let address = try ports.address(of: name)
    let port = address.description
    let channel = try await SerialChannel.open(address, options: options, on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(MonitorHandler(owner: self, port: port))
    }
    await withTaskCancellationHandler {
      try? await channel.closeFuture.get()
    } onCancel: {
      channel.close(promise: nil)
    }
    shared.withLock { $0.channel = nil }
  }

  // MARK: From the channel, on the event loop

  fileprivate func noteOpened(_ channel: any Channel, port: String) {
    shared.withLock { $0.channel = channel }
    report(.opened(port: port))
  }

  fileprivate func receive(_ bytes: [UInt8]) {
    keep(bytes)
    shared.withLock { $0.waitingBytes += bytes.count }
    report(.bytes(bytes))
  }

  fileprivate func lose(_ error: PortError) {
    report(.lost(reason: error.cause))
  }

  /// Whether the port may be read.
  fileprivate var hasRoom: Bool { shared.withLock { $0.waitingBytes < Self.backlogLimitBytes } }
}

private final class MonitorHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let owner: PortMonitor
  private let port: String

  init(owner: PortMonitor, port: String) {
    self.owner = owner
    self.port = port
  }

  func channelActive(context: ChannelHandlerContext) {
    owner.noteOpened(context.channel, port: port)
    context.fireChannelActive()
  }

  func read(context: ChannelHandlerContext) {
    // `noteTaken` asks again when there is room.
    if owner.hasRoom { context.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    owner.receive(Array(unwrapInboundIn(data).readableBytesView))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let error = error as? PortError { owner.lose(error) } else { context.fireErrorCaught(error) }
  }
}

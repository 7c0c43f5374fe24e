import NIOCore
import NIOPosix
package import SerialLink
import Synchronization

/// Keeps a port open, and passes on its bytes, in order. Sends only the bytes passed to `write`.
///
/// `run` is its only task; `write` and `markConsumed` can be called from any thread. Bytes read are
/// never dropped: while `backlogLimitBytes` wait to be consumed, the port is not read.
package final class PortMonitor: Sendable {
  package enum Event: Equatable, Sendable {
    case opened(port: String)
    /// The caller calls `markConsumed` when it has consumed them.
    case bytes([UInt8])
    /// The port is gone; the reason is printable.
    case lost(reason: String)
    /// Why it cannot be opened again yet; printable. Reported when it changes.
    case waiting(reason: String)
  }

  /// Unconsumed bytes at which the port is no longer read: 56 s of a 3 Mbaud line.
  package static let backlogLimitBytes = 16 << 20
  /// How long to wait, at most, before a lost port is tried again.
  static let retryInterval = Duration.milliseconds(500)

  private struct Shared {
    var channel: (any Channel)?
    var waitingBytes = 0
    var options: SerialOptions
  }

  private let name: PortName
  private let ports: PortList
  private let shared: Mutex<Shared>
  private let loop = MultiThreadedEventLoopGroup.singleton.next()
  private let keep: @Sendable ([UInt8]) -> Void
  private let report: @Sendable (Event) -> Void

  /// - Parameters:
  ///   - keep: called with all bytes read, on the event loop, before any other consumer.
  ///   - report: called with each event, on any thread, one after the other.
  package init(
    _ name: PortName, ports: PortList = PortList(), options: SerialOptions,
    keep: @escaping @Sendable ([UInt8]) -> Void, report: @escaping @Sendable (Event) -> Void
  ) {
    (self.name, self.ports) = (name, ports)
    shared = Mutex(Shared(options: options))
    (self.keep, self.report) = (keep, report)
  }

  /// Opens the port, and reopens it when it is lost, until the task is cancelled.
  ///
  /// - Parameter reconnects: whether to wait for a lost port; if false, this returns when it is
  ///   lost.
  /// - Throws: `PortError` when it cannot be opened the first time.
  package func run(reconnects: Bool) async throws(PortError) {
    try await open()
    var lastReason = ""
    while reconnects, !Task.isCancelled {
      await PortWait.forArrival(at: name.address?.path, upTo: Self.retryInterval, on: loop)
      guard !Task.isCancelled else { return }
      do throws(PortError) {
        try await open()
        lastReason = ""
      } catch {
        if error.reason != lastReason { report(.waiting(reason: error.description)) }
        lastReason = error.reason
      }
    }
  }

  /// Sends bytes to the port; they are dropped if it is lost.
  package func write(_ bytes: [UInt8]) {
    guard let channel = shared.withLock(\.channel) else { return }
    channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
  }

  /// `count` bytes were consumed.
  package func markConsumed(_ count: Int) {
    let paused = shared.withLock { shared -> (any Channel)? in
      let wasFull = shared.waitingBytes >= Self.backlogLimitBytes
      shared.waitingBytes -= count
      return wasFull && shared.waitingBytes < Self.backlogLimitBytes ? shared.channel : nil
    }
    paused?.read()
  }

  /// Sets the rate of the port, now and whenever it is opened again.
  /// Two calls take effect in their order.
  /// - Parameter failed: called if the port has none or refuses it, and then goes on as it is.
  package func setRate(
    _ bitsPerSecond: UInt32, failed: @escaping @Sendable (PortError) -> Void
  ) {
    let channel = shared.withLock { shared in
      shared.options.bitsPerSecond = bitsPerSecond
      return shared.channel
    }
    channel?.eventLoop.execute {
      guard let channel else { return }
      SerialChannel.startOnLoop(.rate(bitsPerSecond), on: channel).whenFailure { error in
        failed((error as? PortError) ?? PortError(.deviceGone, port: "port", operation: "set the rate of"))
      }
    }
  }

  /// Resets the board by the modem lines of the port.
  /// - Throws: `PortError`: `.deviceGone` if the port is lost, `.noModemLines`.
  package func reset(into target: ResetTarget) async throws(PortError) {
    let address = try ports.address(of: name)
    guard let channel = shared.withLock(\.channel),
      let strategy = ResetStrategy.attempts(
        into: target, over: ResetStrategy.Wiring(address, ports.info(at: address))
      ).first
    else { throw PortError(.deviceGone, port: address.description, operation: "reset the board at") }
    try await SerialChannel.play(strategy.sequence, on: channel)
  }

  /// Opens the port, and returns when it is lost or the task is cancelled.
  private func open() async throws(PortError) {
    let address = try ports.address(of: name)
    let port = address.description
    let options = shared.withLock(\.options)
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

  fileprivate func handleOpened(_ channel: any Channel, port: String) {
    shared.withLock { $0.channel = channel }
    report(.opened(port: port))
  }

  fileprivate func receive(_ bytes: [UInt8]) {
    keep(bytes)
    shared.withLock { $0.waitingBytes += bytes.count }
    report(.bytes(bytes))
  }

  fileprivate func lose(_ error: PortError) {
    report(.lost(reason: error.reason))
  }

  /// Whether the port can be read now.
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
    owner.handleOpened(context.channel, port: port)
    context.fireChannelActive()
  }

  func read(context: ChannelHandlerContext) {
    // `markConsumed` reads again when there is room.
    if owner.hasRoom { context.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    owner.receive(Array(unwrapInboundIn(data).readableBytesView))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let error = error as? PortError { owner.lose(error) } else { context.fireErrorCaught(error) }
  }
}

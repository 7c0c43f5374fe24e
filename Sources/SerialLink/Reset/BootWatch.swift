package import NIOCore

/// Keeps the last that a port said, and waits for something in it. Lives on its channel's event loop; for one waiter at a time.
///
/// States: *collecting* → `wait` → *waiting* → found, too late, or the end of the port → *collecting*; → *ended* with the channel.
package final class BootWatch: ChannelInboundHandler {
  package typealias InboundIn = ByteBuffer

  /// The most that is kept, in bytes; the last ones.
  package static let limitBytes = 16_384

  private enum State {
    case collecting
    case waiting(@Sendable ([UInt8]) -> Bool, EventLoopPromise<Bool>, Scheduled<Void>)
    case ended
  }

  private let loop: any EventLoop
  private var state = State.collecting
  private var said: [UInt8] = []

  package init(loop: any EventLoop) {
    self.loop = loop
  }

  /// What the port said last.
  package var text: [UInt8] { said }

  /// Whether the port is gone.
  package var hasEnded: Bool {
    switch state {
    case .ended: true
    case .collecting, .waiting: false
    }
  }

  /// Forgets what the port said.
  package func clear() { said = [] }

  /// Whether `condition` holds for what the port said, at once or within `limit`.
  package func wait(
    upTo limit: TimeAmount, for condition: @escaping @Sendable ([UInt8]) -> Bool
  ) -> EventLoopFuture<Bool> {
    if condition(said) { return loop.makeSucceededFuture(true) }
    switch state {
    case .ended, .waiting: return loop.makeSucceededFuture(false)
    case .collecting: break
    }
    let promise = loop.makePromise(of: Bool.self)
    let timer = loop.assumeIsolated().scheduleTask(in: limit) { self.finish(false) }
    state = .waiting(condition, promise, timer)
    return promise.futureResult
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    said += unwrapInboundIn(data).readableBytesView
    said.removeFirst(max(0, said.count - Self.limitBytes))
    guard case .waiting(let condition, _, _) = state, condition(said) else { return }
    finish(true)
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    finish(false)
    state = .ended
    context.fireChannelInactive()
  }

  private func finish(_ found: Bool) {
    guard case .waiting(_, let promise, let timer) = state else { return }
    state = .collecting
    timer.cancel()
    promise.succeed(found)
  }
}

/// An open port whose lines can be played on, and what it says meanwhile.
package struct WatchedPort: Sendable {
  private let channel: any Channel
  private let watch: NIOLoopBound<BootWatch>

  package static func open(
    _ specifier: PortSpecifier, options: SerialOptions, on loop: any EventLoop
  ) async throws(PortError) -> WatchedPort {
    let made = loop.makePromise(of: NIOLoopBound<BootWatch>.self)
    do throws(PortError) {
      let channel = try await SerialChannel.open(specifier, options: options, on: loop) { channel in
        let watch = BootWatch(loop: channel.eventLoop)
        try channel.pipeline.syncOperations.addHandler(watch)
        made.succeed(NIOLoopBound(watch, eventLoop: channel.eventLoop))
      }
      guard let watch = try? await made.futureResult.get() else {
        throw PortError(.deviceGone, port: specifier.description, operation: "open")
      }
      return WatchedPort(channel: channel, watch: watch)
    } catch {
      made.fail(error)
      throw error
    }
  }

  /// Plays a sequence; see `SerialChannel.play`. What the port said before is forgotten.
  package func play(_ sequence: ResetSequence) async throws(PortError) -> [PlayedChange] {
    let watch = watch
    _ = try? await channel.eventLoop.submit { watch.value.clear() }.get()
    return try await SerialChannel.play(sequence, on: channel)
  }

  /// Whether `condition` holds for what the port has said since, at once or within `limit`.
  package func says(within limit: Duration, _ condition: @escaping @Sendable ([UInt8]) -> Bool) async -> Bool
  {
    let watch = watch
    let found = channel.eventLoop.flatSubmit { watch.value.wait(upTo: TimeAmount(limit), for: condition) }
    return (try? await found.get()) ?? false
  }

  /// What the port has said since, the last of it.
  package func text() async -> [UInt8] {
    let watch = watch
    return (try? await channel.eventLoop.submit { watch.value.text }.get()) ?? []
  }

  /// Whether the port went away meanwhile.
  package func isGone() async -> Bool {
    let watch = watch
    return (try? await channel.eventLoop.submit { watch.value.hasEnded }.get()) ?? true
  }

  /// Writes, as far as the port takes it.
  package func write(_ bytes: [UInt8]) {
    channel.writeAndFlush(channel.allocator.buffer(bytes: bytes), promise: nil)
  }

  /// Closes the port, and returns when its locks are gone.
  package func close() async {
    channel.close(promise: nil)
    try? await channel.closeFuture.get()
  }
}
